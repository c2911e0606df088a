"""FSDP from nothing: parameters that come and go.

An 80 GB model trains on 24 GB cards if each layer is whole only while it computes:

              layer 0            layer 1            layer 2
    forward   gather  use  free
                      gather     use  free
                                      gather        use  free
    backward                                        gather  use  reduce  free
                                 gather  ...

The trick is one line: ``x.untyped_storage().resize_(0)`` frees the memory behind a tensor and all
its views. The tensor object stays, and autograd may keep it. Refill it before backward reads it.

Build it in five steps; each turns a group of tests green.

1. `Unit.__init__`: replace each parameter with this rank's rows.
2. `gather`, `use` and `free`.
3. `fully_shard`: hooks on the layers call these, in forward and in backward.
4. `reduce`: average a gradient over the ranks as soon as it is complete.
5. Prefetch, as in the picture: gather the next layer while this one computes.

Begin by hand: make a Linear, call ``resize_(0)``, and print the weight's shape and storage size.
Real life differs: ``fully_shard`` gathers all parameters of a layer in one message, pads rows that
do not divide evenly, and uses its own streams.
Afterwards read ``unshard`` and ``post_backward`` in
``torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py``, in site-packages.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from typing import Any

import torch
from torch import distributed as dist
from torch import nn


if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass
class Slot:
    """One parameter: its place in the model, this rank's rows, and all rows. Given."""

    module: nn.Module
    name: str
    part: nn.Parameter
    whole: nn.Parameter


class Unit:
    """The parameters of a layer, in shards.

    The rows of each parameter divide evenly over the ranks, and no two modules share a parameter.
    Each parameter gets a gradient in every backward.
    """

    def __init__(self, layer: nn.Module) -> None:
        """Make a `Slot` for each parameter of `layer` and of the modules in it, then `free`.

        `whole` is the parameter itself, `part` a new one with its own memory.
        """
        self.slots: list[Slot] = []
        self.works: list[Any] = []
        # TODO: for each of layer.modules(), module.named_parameters(recurse=False).
        raise NotImplementedError("Unit.__init__")

    def gather(self) -> None:
        """Start filling each `whole` from the ranks' parts, unless that has already started.

        Put the handles of the asynchronous calls in `works`. Receive into ``whole.data``: backward
        would raise after a ``copy_`` into `whole` itself, and separate buffers cost extra memory.
        """
        # TODO: allocate memory first; then receive into chunks of whole.data.
        raise NotImplementedError("Unit.gather")

    def use(self) -> None:
        """Gather, wait, and put each `whole` into its module with ``setattr``."""
        # TODO: the gather may already have been started.
        raise NotImplementedError("Unit.use")

    def free(self) -> None:
        """Put each `part` into its module, and free the memory of `whole`.

        First wait for a gather in progress: it would write to freed memory.
        """
        # TODO: how do you know that a gather has started?
        raise NotImplementedError("Unit.free")

    def reduce(self, slot: Slot) -> None:
        """Add the mean of ``whole.grad`` over the ranks to ``part.grad``; drop ``whole.grad``.

        Treat a ``part.grad`` of None as 0. Call `free` once every parameter has been reduced; they
        may come in any order.
        """
        # TODO: one reduce_scatter; how many parameters have been reduced?
        raise NotImplementedError("Unit.reduce")


def fully_shard(layers: Sequence[nn.Module]) -> list[Unit]:
    """Return a `Unit` for each of `layers`, which run in this order; hooks do the rest.

    ``whole.register_post_accumulate_grad_hook`` calls you when a gradient is complete.
    """
    # TODO: register_forward_pre_hook, register_forward_hook, register_full_backward_pre_hook.
    raise NotImplementedError("fully_shard")
