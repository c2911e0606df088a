"""Find the bytes that a graph keeps alive.

Often most memory of training is neither weights nor gradients, but what forward saved for backward.
It is there to be read, on the nodes:

    node = (x * y).grad_fn
    [name for name in dir(node) if "saved" in name]
    # _raw_saved_other, _raw_saved_self, _saved_other, _saved_self

Write a program that finds it in any graph of the installed PyTorch, about 24 lines:

1. `saved`: the tensors of one node, by name.
2. `saved_bytes`: of the whole graph. Two nodes may save one tensor, and a view of two elements
   keeps a thousand alive.
3. `roles`: is it the inputs that are saved, the result, or something hidden?

- Read the graph. Hooks on saved tensors are for k23; the tests use them.

Begin with the ``dir`` of the nodes of ``x.exp()``, ``x.sum()`` and ``x[i]``: what is a tensor?
Afterwards find ``mul.Tensor`` in ``torchgen/packaged/autograd/derivatives.yaml`` in site-packages
(``tools/autograd/derivatives.yaml``): a formula that names self saves self, or, if it asks for no
more, its sizes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch  # noqa: TC002 - your answer asks what is one of its tensors


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
    """Return the address of a tensor's storage, by which storages are told apart."""
    return tensor.untyped_storage().data_ptr()


# ---- the exercise ----------------------------------------------------------------------------


def saved(node: Node) -> dict[str, torch.Tensor]:
    """Return the tensors that a node saves, by the name behind ``_raw_saved_``.

    A node of PyTorch has ``_saved_self``, the tensor, beside ``_raw_saved_self``, what it is packed
    in. ``_saved_`` without ``_raw_saved_`` is a number or a size. The node of your own Function has
    ``_raw_saved_tensors``, and the tensors in ``saved_tensors``. Lists are tuples, whose entries
    are called ``indices[0]``, ``indices[1]``, those of a Function ``tensors[0]``. None is left out.
    The RuntimeError of a node that has let go passes through.
    """
    # TODO: dir(node) lists the attributes.
    raise NotImplementedError("saved")


def saved_bytes(root: torch.Tensor, own: Iterable[torch.Tensor] = ()) -> int:
    """Return how many bytes the graph of `root` keeps alive, apart from those of `own`.

    Whole storages count, each one time; not those of the tensors in `own` (parameters, the batch),
    which are alive anyway. Without a graph it is 0.
    """
    # TODO: each storage counts once.
    raise NotImplementedError("saved_bytes")


def roles(function: Callable[..., torch.Tensor], *inputs: torch.Tensor) -> set[str]:
    """Return what the graph of ``function(*inputs)`` saves; call it a single time.

    "input 0", "input 1" and so on is what lies in the storage of that input, the first one that
    fits; "result" what lies in the result's and in no input's; "hidden" all else.
    """
    # TODO: whose storage does each saved tensor lie in?
    raise NotImplementedError("roles")
