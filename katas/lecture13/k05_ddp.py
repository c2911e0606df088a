"""DistributedDataParallel: gradients are averaged while backward still runs.

Each rank has a copy of the model and its own part of the batch. If all copies begin equal, and
the gradients are averaged over the ranks before each step, then the copies stay equal. One by one
they would be many small messages, and all at the end would leave the network idle during backward.
So gradients travel in buckets, each as soon as it is full.

``assign_buckets(sizes, cap)``: parameter i has a gradient of ``sizes[i]`` bytes. Return the
buckets, which are lists of positions: go from the last parameter to the first, about the order of
backward, and close a bucket as soon as it holds `cap` bytes or more. No bucket is empty.

``DDP(module, bucket_cap, find_unused_parameters=...)`` is a module that calls `module`, which it
keeps as the attribute ``module``.

- At construction each rank takes over the values of rank 0: of all parameters, also of those that
  do not require gradients, and of all buffers. The parameters stay the objects they are. (All
  these tensors are contiguous.)
- The parameters that require gradients get buckets from ``assign_buckets``. Each bucket is one
  flat tensor, made once. (All of them have one dtype and device.)
- Once ``loss.backward()`` has returned, the ``grad`` of each parameter is the mean over the ranks,
  and is a view of its bucket, as in PyTorch with ``gradient_as_bucket_view=True`` (by default it
  has memory of its own). ``zero_grad()`` sets it to None, as it does by default, or writes zeros to
  it; a gradient that is still there is accumulated to.
- A parameter's gradient is ready when its hook runs: ``register_post_accumulate_grad_hook``. When
  the last of a bucket is ready, begin its one all-reduce, ``async_op=True``, and return: the rest
  of backward must not wait. Divide by the world size before or after.
- All ranks must begin their all-reduces in one order, but gradients may become ready in another on
  each. So begin the buckets in the order of the list: one that is full waits for those before it.
- When backward has computed all gradients, wait for the all-reduces, within ``backward()``:
  ``at_end_of_backward`` is given. It can be called only while backward runs.
- ``with ddp.no_sync():`` accumulates. For a forward that was called within, backward sends nothing
  and leaves in ``grad`` what the rank alone has computed. The first backward of a forward outside
  averages all that has been accumulated until then. The forward decides, as in PyTorch, not the
  place of backward. Contexts may be nested, or left by an exception.
- A forward under ``torch.no_grad()`` may come between a forward and its backward. It changes
  nothing. Else each forward is followed by one backward, or by none. A backward through `module`,
  called without DDP, sends nothing; but if a forward of DDP still waits for its backward, it is
  taken for that, as in PyTorch.

Without `find_unused_parameters`, every forward uses every parameter. With it:

- The graph of the output (one tensor) says what is used: walk from its ``grad_fn`` along
  ``next_functions``; the nodes that have a ``variable`` lead to the parameters. The graph may be
  deep, and may lead to a node in many ways. What is used has to be known before backward begins,
  since a hook that never runs cannot say so. A rank may use other parameters than the next one,
  at least one.
- A parameter that the rank has not used is ready from the first hook of backward on, so that its
  bucket need not wait until the end, and contributes its ``grad``, or zeros if that is None.
  (Not earlier: between forward and backward, people call ``zero_grad()``.)
- It gets the mean like all others if any rank contributes a ``grad``. If all contribute zeros for
  None, its ``grad`` stays None: an optimizer with weight decay is not to touch it. So one more
  all-reduce for each backward sums an int32 tensor that holds, for each parameter that requires
  gradients, a 1 if the rank has used it or has a ``grad`` of it, else a 0. It is asynchronous as
  well, and begins before all buckets or, as in PyTorch, after all of them.

Out of scope: the broadcast of buffers before each forward, a small first bucket, buckets made anew
in the order of the first backward. About 70 lines. Use neither PyTorch's DistributedDataParallel
nor its ``dist.Reducer``.

In PyTorch: ``torch/csrc/distributed/c10d/reducer.cpp`` (``compute_bucket_assignment_by_size``,
``Reducer::prepare_for_backward``, ``Reducer::mark_variable_ready``,
``Reducer::finalize_backward``), ``torch/nn/parallel/distributed.py`` (``no_sync``).
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING
from typing import Any

import torch
from torch import nn


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterator
    from collections.abc import Sequence


def assign_buckets(sizes: Sequence[int], cap: int) -> list[list[int]]:
    """Return buckets of positions, from the last to the first, each closed at `cap` bytes."""
    # TODO: a bucket is closed once it holds the cap or more.
    raise NotImplementedError("assign_buckets")


def at_end_of_backward(callback: Callable[[], None]) -> None:
    """Call it within backward, as soon as that has computed everything. Given."""
    torch.autograd.Variable._execution_engine.queue_callback(callback)  # noqa: SLF001 - its only name


class DDP(nn.Module):
    """Calls a module, and averages the gradients of its parameters over all ranks."""

    def __init__(
        self, module: nn.Module, bucket_cap: int = 25 << 20, *, find_unused_parameters: bool = False
    ) -> None:
        super().__init__()
        # TODO: the values of rank 0, the buckets, and a hook on each parameter.
        raise NotImplementedError("DDP")

    def forward(self, *args: Any, **kwargs: Any) -> torch.Tensor:
        """Call the module, and prepare for the backward that follows."""
        # TODO: which buckets wait for which gradients?
        raise NotImplementedError("DDP.forward")

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Let the gradients of what is called within accumulate, and send nothing."""
        # TODO: the forward has to know.
        raise NotImplementedError("DDP.no_sync")
        yield
