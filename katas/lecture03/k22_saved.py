"""Find the bytes that a graph keeps alive.

Often most of training's memory is neither weights nor gradients, but what forward saved for
backward. You can read it from the nodes:

    node = (x * y).grad_fn
    [name for name in dir(node) if "saved" in name]
    # _raw_saved_other, _raw_saved_self, _saved_other, _saved_self

Write a program that finds it in any graph, about 24 lines:

1. `saved`: the tensors of one node, by name.
2. `saved_bytes`: those of the whole graph. Two nodes may save the same tensor, and a view of two
   elements may keep a thousand alive.
3. `roles`: does the graph save the inputs, the result, or something hidden?

- Read the graph. Do not use hooks on saved tensors: k23 and the tests do.

Begin with the ``dir`` of the nodes of ``x.exp()``, ``x.sum()`` and ``x[i]``: which attributes are
tensors?
Afterwards find ``mul.Tensor`` in ``torchgen/packaged/autograd/derivatives.yaml`` in site-packages
(``tools/autograd/derivatives.yaml``): a formula that names self saves self, or only its sizes if
these are enough.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterable

    from torch.autograd.graph import Node


# ---- given -----------------------------------------------------------------------------------


def nodes(root: torch.Tensor) -> list[Node]:
    """Return each node behind a tensor, as in k01."""
    found: set[Node] = set()
    waiting = [root.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in found:
            found.add(node)
            waiting += [child for child, _ in node.next_functions]
    return list(found)


def place(tensor: torch.Tensor) -> int:
    """Return the address of a tensor's storage, which identifies the storage."""
    return tensor.untyped_storage().data_ptr()


# ---- the exercise ----------------------------------------------------------------------------


def saved(node: Node) -> dict[str, torch.Tensor]:
    """Return the tensors that a node saves, by the name after ``_raw_saved_``.

    A PyTorch node has ``_saved_self``, the tensor, and ``_raw_saved_self``, its packed form.
    ``_saved_`` without ``_raw_saved_`` is a number or a size. The node of your own Function has
    ``_raw_saved_tensors``, and the tensors are in ``saved_tensors``. A list comes as a tuple:
    name its entries ``indices[0]``, ``indices[1]``, those of a Function ``tensors[0]``. Leave out
    None. Let the RuntimeError of a node that has freed its tensors pass through.
    """
    # TODO: dir(node) lists the attributes.
    raise NotImplementedError("saved")


def saved_bytes(root: torch.Tensor, own: Iterable[torch.Tensor] = ()) -> int:
    """Return how many bytes the graph of `root` keeps alive, apart from those of `own`.

    Count whole storages, each once, but not those of tensors in `own` (parameters, the batch),
    which are alive anyway. Return 0 if `root` has no graph.
    """
    # TODO: each storage counts once.
    raise NotImplementedError("saved_bytes")


def roles(function: Callable[..., torch.Tensor], *inputs: torch.Tensor) -> set[str]:
    """Return what the graph of ``function(*inputs)`` saves; call the function once.

    A saved tensor is "input 0", "input 1" and so on if it shares that input's storage (the first
    that fits), "result" if it shares the result's and no input's, and otherwise "hidden".
    """
    # TODO: whose storage does each saved tensor share?
    raise NotImplementedError("roles")
