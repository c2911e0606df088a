"""Hooks on saved tensors: decide how the graph keeps what backward needs.

Between forward and backward the graph holds tensors. ``torch.autograd.graph.
saved_tensors_hooks(pack, unpack)`` is a context manager: a tensor saved inside it goes through
``pack``, which may return any object, and the graph keeps that object instead. When backward
needs the tensor, ``unpack`` makes it from the object. Contexts nest: the innermost is asked.
Write four of them; each function returns a context manager.

1. ``counting(sizes)``: change nothing, and append the number of bytes of each tensor that is
   saved (its elements, not its storage) to the list `sizes`.
2. ``on_disk(folder)``: save each tensor in a file of its own in `folder` (``torch.save``), of a
   view its own elements alone and not its storage, and keep no tensor alive in memory. The
   tensor comes back with its dtype, on its device. Unpacking may happen twice
   (``retain_graph``), so do not delete the file then. The file goes as soon as the graph lets
   go of it: when the object that ``pack`` returned dies (``weakref.finalize`` is a way; an
   object's ``__del__`` another).
3. ``compressed(dtype, least, own)``: keep floating-point tensors with at least `least` elements
   as `dtype`, and bring them back as the dtype they had. Leave others (few elements, indices,
   bool) alone, and what lies in the storage of a tensor in `own` (the parameters): that storage
   is alive anyway, so a copy of any view of it would cost memory instead of sparing it.
4. ``stacked(outer, inner)``: since only the innermost context is asked, nesting does not
   compose. `outer` and `inner` are pairs (pack, unpack). Pack with inner first, then outer on
   what inner returned; unpack the other way round.

``pack`` gets tensors with their graph, and is called with grad mode off. What it returns must
know nothing of a graph: a node that owns an object that owns a tensor that owns the node is a
cycle through C++, which Python's garbage collector does not find. Keep ``tensor.detach()`` where
you would keep the tensor; ``unpack`` need not attach it again, autograd does. A graph saved under
any of these must allow the same gradients as without (up to the precision of `dtype`), second ones
too.

About 35 lines. In PyTorch: ``torch/autograd/graph.py`` (``saved_tensors_hooks``,
``save_on_cpu``) and ``torch/csrc/autograd/saved_variable.cpp`` (``SavedVariable::unpack``).
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
    """Note the bytes of each saved tensor."""
    # TODO: pack is told of every tensor.
    raise NotImplementedError("counting")


def on_disk(folder: Path) -> AbstractContextManager[None]:
    """Keep saved tensors in files that live as long as the graph needs them."""
    # TODO: return an object that knows the file, and with which the file goes.
    raise NotImplementedError("on_disk")


def compressed(
    dtype: torch.dtype, least: int, own: Iterable[torch.Tensor] = ()
) -> AbstractContextManager[None]:
    """Keep large floating-point saved tensors as `dtype`."""
    # TODO: what must unpack know?
    raise NotImplementedError("compressed")


def stacked(
    outer: tuple[Callable[[Any], Any], Callable[[Any], Any]],
    inner: tuple[Callable[[Any], Any], Callable[[Any], Any]],
) -> AbstractContextManager[None]:
    """Pack by `inner`, then by `outer`; unpack in reverse."""
    # TODO: two functions made of four.
    raise NotImplementedError("stacked")
