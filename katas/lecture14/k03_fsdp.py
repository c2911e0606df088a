"""FSDP from nothing: parameters that come and go.

A model of 80 GB trains on cards of 24 GB, if each layer is whole only while it computes:

              layer 0            layer 1            layer 2
    forward   gather  use  free
                      gather     use  free
                                      gather        use  free
    backward                                        gather  use  reduce  free
                                 gather  ...

The trick is one line: ``x.untyped_storage().resize_(0)`` frees the memory behind a tensor, and
behind all its views. The tensor stays; autograd may keep it. Fill it again before backward reads
it.

Build it in five steps; each turns a group of tests green.

1. `Unit.__init__`: this rank's rows take the place of each parameter.
2. `gather`, `use` and `free`.
3. `fully_shard`: hooks of the layers call these, in forward and in backward.
4. `reduce`: the mean of a gradient over the ranks, as soon as there is one.
5. The arrows in the picture: the next layer's gather runs while this layer computes.

Begin by hand: make a Linear, call ``resize_(0)``, and print the weight's shape and storage size.
Real life differs: ``fully_shard`` gathers all parameters of a layer in one message, pads rows that
do not divide, and runs all this on streams of its own.
Afterwards read ``unshard`` and ``post_backward`` in
``torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py``, in site-packages.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from typing import Any

import torch  # noqa: F401 - your answer calls it
from torch import distributed as dist  # noqa: F401
from torch import nn  # noqa: TC002


if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass
class Slot:
    """One parameter: where it is in the model, this rank's rows of it, and all rows. Given."""

    module: nn.Module
    name: str
    part: nn.Parameter
    whole: nn.Parameter


class Unit:
    """The parameters of a layer, in shards.

    The rows of a parameter divide by the number of ranks, and none is shared by two modules. In a
    backward, each gets a gradient.
    """

    def __init__(self, layer: nn.Module) -> None:
        """Make a `Slot` for each parameter of `layer` and of the modules in it, then `free`.

        `whole` is the parameter itself, `part` a new one with memory of its own.
        """
        self.slots: list[Slot] = []
        self.works: list[Any] = []
        # TODO: module.named_parameters(recurse=False), of each of layer.modules().
        raise NotImplementedError("Unit.__init__")

    def gather(self) -> None:
        """Begin to fill all `whole` from the ranks' parts, unless that has begun.

        The handles of the asynchronous calls go to `works`. Receive into ``whole.data``: after a
        ``copy_`` to `whole` itself, backward would raise, and pieces beside it are memory, too.
        """
        # TODO: memory first; then chunks of whole.data can be what is received into.
        raise NotImplementedError("Unit.gather")

    def use(self) -> None:
        """Gather, wait, and put `whole` into the modules, by ``setattr``."""
        # TODO: it may have been gathered before.
        raise NotImplementedError("Unit.use")

    def free(self) -> None:
        """Put `part` into the modules, and free the memory of `whole`.

        A gather that has begun is waited for first: it would write to memory that is gone.
        """
        # TODO: what says that a gather has begun?
        raise NotImplementedError("Unit.free")

    def reduce(self, slot: Slot) -> None:
        """Add the mean of ``whole.grad`` over the ranks to ``part.grad``; drop ``whole.grad``.

        A ``part.grad`` of None is 0. `free` when all parameters have come, in whatever order.
        """
        # TODO: one reduce_scatter; how many have come?
        raise NotImplementedError("Unit.reduce")


def fully_shard(layers: Sequence[nn.Module]) -> list[Unit]:
    """Return a `Unit` for each of `layers`, which run in this order, and let hooks do the rest.

    A gradient is there when ``whole.register_post_accumulate_grad_hook`` says so.
    """
    # TODO: register_forward_pre_hook, register_forward_hook, register_full_backward_pre_hook.
    raise NotImplementedError("fully_shard")
