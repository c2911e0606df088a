"""Decide how the graph keeps what backward needs.

Forward saves tensors for backward, and memory is full of them. PyTorch lets you choose how they are
kept. Print what passes through:

    with torch.autograd.graph.saved_tensors_hooks(lambda x: print(x.shape), lambda packed: None):
        y = (torch.ones(3, requires_grad=True).exp() * 2).sum()

Each saved tensor goes through ``pack`` (the number 2 does not), and the graph keeps what ``pack``
returns; when backward needs the tensor, ``unpack`` restores it. Write four such contexts, about 28
lines; each turns a group of tests green:

1. `counting`: the bytes of saved tensors.
2. `on_disk`: files that are deleted with the graph.
3. `compressed`: another dtype; what must unpack know?
4. `stacked`: PyTorch calls only the innermost context, so combine two into one.

- Keep ``tensor.detach()`` where you would keep the tensor. ``pack`` gets a result with its graph: a
  node that keeps it owns itself, through C++, where Python's garbage collector cannot see.
- Gradients stay the same, second ones too.

Begin with the lines above: which node saves what?
Afterwards open ``torch/autograd/graph.py`` in site-packages (``save_on_cpu``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterable
    from contextlib import AbstractContextManager
    from pathlib import Path


def counting(sizes: list[int]) -> AbstractContextManager[None]:
    """Append the bytes of each saved tensor to `sizes`, and change nothing.

    Count its elements, not its storage.
    """
    # TODO: pack is called with every tensor.
    raise NotImplementedError("counting")


def on_disk(folder: Path) -> AbstractContextManager[None]:
    """Keep each saved tensor in a file of its own in `folder`, and none in memory.

    ``torch.save`` writes the whole storage of a view: write only its elements. The tensor comes
    back with its dtype, on its device, any number of times (``retain_graph``). Delete its file when
    the graph drops it, which is when the object that ``pack`` returned dies. A ``weakref.finalize``
    on that object, or its ``__del__``, can do this.
    """
    # TODO: return an object that knows the file, and deletes it when it dies.
    raise NotImplementedError("on_disk")


def compressed(
    dtype: torch.dtype, least: int, own: Iterable[torch.Tensor] = ()
) -> AbstractContextManager[None]:
    """Keep floating-point tensors of at least `least` elements as `dtype` until unpacked.

    Leave other tensors alone (few elements, indices, bool, complex), and those that share the
    storage of a tensor in `own`: it is alive anyway, so a copy would cost memory.
    """
    # TODO: what must unpack know?
    raise NotImplementedError("compressed")


def stacked(
    outer: tuple[Callable[[Any], Any], Callable[[Any], Any]],
    inner: tuple[Callable[[Any], Any], Callable[[Any], Any]],
) -> AbstractContextManager[None]:
    """Pack with `inner`, then pack the result with `outer`; unpack in reverse.

    Both are pairs (pack, unpack).
    """
    # TODO: make two functions out of four.
    raise NotImplementedError("stacked")
