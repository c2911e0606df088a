"""Explore: find the tensors that a graph saves, and the bytes that it keeps alive.

Backward formulas need values of the forward pass: a product needs both factors, exp needs its
result. Whatever a formula needs, the node saves, and the graph keeps it alive until backward
has run. The memory of training is mostly that. Write a program that finds it out from the
installed PyTorch, by reading the graph that is there.

A generated node class has two attributes for each tensor that it saves: ``_saved_self`` is
the tensor itself, unpacked (or None, if it was not needed), and ``_raw_saved_self`` is the
``SavedTensor`` it is packed in. For a list of tensors, both are tuples. Numbers, sizes and
strides have a ``_saved_`` attribute too, but no ``_raw_saved_`` one. A node of your own
``torch.autograd.Function`` has ``_raw_saved_tensors``, and the tensors are in
``saved_tensors``. A node whose backward has run has let go: reading raises RuntimeError.

1. ``saved(node)``: a dict of all tensors a node saves, by the name behind ``_raw_saved_``: for
   ``x * y`` the keys are ``self`` and ``other``. Entries of a tuple are called ``indices[0]``,
   ``indices[1]``, for a Function ``tensors[0]``. What is None is left out. A RuntimeError of
   a freed node passes through.
2. ``saved_bytes(root, own)``: how many bytes the whole graph of the tensor ``root`` keeps
   alive: the sizes of the storages of all saved tensors, each storage once however many saved
   tensors and views look at it, and as a whole even if a saved view is small. Storages of the
   tensors in ``own`` (a module's parameters, the batch) do not count: they are alive anyway.
   A `root` without a graph keeps nothing: 0.
3. ``roles(function, *inputs)``: call ``function(*inputs)`` once, which returns one tensor with
   a graph, and say what that graph saves: ``"input 0"``, ``"input 1"``... for what lies in the
   storage of that input (the first one that fits), ``"result"`` for what lies in the result's
   storage and in no input's, ``"hidden"`` for anything else. Return the set of words.

Visit every node once and do not recurse; ``next_functions`` may hold None. The other way to
this knowledge, ``torch.autograd.graph.saved_tensors_hooks``, is kata k23, and what the
tests use: do not use it here. Python numbers, sparse tensors: out of scope. About 30 lines.

In PyTorch: ``tools/autograd/derivatives.yaml`` (a formula that names ``self`` saves self),
``tools/autograd/gen_autograd_functions.py`` (writes the node classes and these attributes) and
``torch/csrc/autograd/saved_variable.cpp`` (``SavedVariable``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch  # noqa: TC002 - your answer asks what is one of its tensors


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterable

    from torch.autograd.graph import Node


def saved(node: Node) -> dict[str, torch.Tensor]:
    """Return the tensors that a node saves, by name."""
    # TODO: dir(node) lists the attributes.
    raise NotImplementedError("saved")


def saved_bytes(root: torch.Tensor, own: Iterable[torch.Tensor] = ()) -> int:
    """Return how many bytes the graph of `root` keeps alive, apart from those of `own`."""
    # TODO: each storage counts once.
    raise NotImplementedError("saved_bytes")


def roles(function: Callable[..., torch.Tensor], *inputs: torch.Tensor) -> set[str]:
    """Return what the graph of ``function(*inputs)`` saves: inputs, the result, or hidden."""
    # TODO: whose storage does each saved tensor lie in?
    raise NotImplementedError("roles")
