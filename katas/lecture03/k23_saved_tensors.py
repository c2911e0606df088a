"""Decide how the graph keeps what backward needs.

Forward saves tensors for backward, and memory is full of them. PyTorch lets you say how they are
kept. Look at what passes by:

    with torch.autograd.graph.saved_tensors_hooks(lambda x: print(x.shape), lambda packed: None):
        y = (torch.ones(3, requires_grad=True).exp() * 2).sum()

A tensor that is saved goes through ``pack`` (the number 2 does not), and the graph keeps what that
returns; when backward needs it, ``unpack`` makes a tensor of that again. Write four such contexts,
about 28 lines; each turns a group of tests green:

1. `counting`: the bytes of what is saved.
2. `on_disk`: files that go when the graph goes.
3. `compressed`: another dtype; what does unpack have to know?
4. `stacked`: only the innermost context is asked, so two are made into one.

- Keep ``tensor.detach()`` where you would keep the tensor. ``pack`` gets a result with its graph:
  a node that owns it owns itself, across C++, where Python's garbage collector sees nothing.
- Gradients stay what they were, second ones too.

Begin with the lines above: who saves what?
Afterwards open ``torch/autograd/graph.py`` in site-packages (``save_on_cpu``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch  # noqa: TC002 - your answer calls it


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterable
    from contextlib import AbstractContextManager
    from pathlib import Path


def counting(sizes: list[int]) -> AbstractContextManager[None]:
    """Append the bytes of each tensor that is saved to `sizes`, and change nothing.

    Its elements count, not its storage.
    """
    # TODO: pack is told of every tensor.
    raise NotImplementedError("counting")


def on_disk(folder: Path) -> AbstractContextManager[None]:
    """Keep each saved tensor in a file of its own in `folder`, and none in memory.

    ``torch.save`` writes the whole storage of a view: write its elements alone. The tensor comes
    back with its dtype, on its device, as often as asked for (``retain_graph``). Its file goes
    when the graph lets go of it: when the object that ``pack`` has returned dies. A
    ``weakref.finalize`` on it, or its ``__del__``, can do that.
    """
    # TODO: return an object that knows the file, and with which the file goes.
    raise NotImplementedError("on_disk")


def compressed(
    dtype: torch.dtype, least: int, own: Iterable[torch.Tensor] = ()
) -> AbstractContextManager[None]:
    """Keep floating-point tensors of at least `least` elements as `dtype`, until they come back.

    Leave others alone (few elements, indices, bool, complex), and what lies in the storage of a
    tensor in `own`: that is alive anyway, so a copy of any view of it would cost memory.
    """
    # TODO: what must unpack know?
    raise NotImplementedError("compressed")


def stacked(
    outer: tuple[Callable[[Any], Any], Callable[[Any], Any]],
    inner: tuple[Callable[[Any], Any], Callable[[Any], Any]],
) -> AbstractContextManager[None]:
    """Pack by `inner`, then `outer` on what inner returned; unpack the other way round.

    Both are pairs (pack, unpack).
    """
    # TODO: two functions made of four.
    raise NotImplementedError("stacked")
