"""Which gradient does a hook see? Six programs, on paper.

You register a hook, then write to the tensor. Which gradient arrives?

    x = leaf * 2
    x.register_hook(print)
    x.mul_(3)
    x.sum().backward()           # tensor([3., 3.]), although the gradient of x is 1

A hook belongs to the value that the tensor had when it was registered. Predict what the six
programs return, in about 8 lines. The tests run PyTorch, but hide it while they read your rows.

Begin with `after_write`.
Afterwards read ``register_hook`` in ``torch/_tensor.py``, in site-packages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Callable

    import torch


# Given: do not change. Each program gets ``torch.ones(2, requires_grad=True)``.
def after_write(leaf: torch.Tensor) -> list[float]:
    """Register the hook after the write."""
    seen: list[torch.Tensor] = []
    x = leaf * 2
    x.mul_(3)
    x.register_hook(seen.append)
    x.sum().backward()
    return seen[0].tolist()


def first_of_two(leaf: torch.Tensor) -> list[float]:
    """Record the gradient, then let another hook multiply it by ten."""
    seen: list[list[float]] = []
    x = leaf * 2
    x.register_hook(lambda grad: seen.append(grad.tolist()))
    x.register_hook(lambda grad: grad * 10)
    x.sum().backward()
    return seen[0]


def second_of_two(leaf: torch.Tensor) -> list[float]:
    """Record the gradient after another hook has multiplied it by ten."""
    seen: list[list[float]] = []
    x = leaf * 2
    x.register_hook(lambda grad: grad * 10)
    x.register_hook(lambda grad: seen.append(grad.tolist()))
    x.sum().backward()
    return seen[0]


def used_twice(leaf: torch.Tensor) -> list[float]:
    """Use the tensor twice."""
    seen: list[list[float]] = []
    x = leaf * 2
    x.register_hook(lambda grad: seen.append(grad.tolist()))
    (x + x * 3).sum().backward()
    return seen[0]


def written_view(leaf: torch.Tensor) -> list[float]:
    """Register the hook on the base, then write to one of its elements through a view."""
    seen: list[list[float]] = []
    x = leaf * 2
    x.register_hook(lambda grad: seen.append(grad.tolist()))
    x[0].mul_(5)
    x.sum().backward()
    return seen[0]


def retained(leaf: torch.Tensor) -> list[float]:
    """Call retain_grad first, then register a hook, then write to the tensor in place."""
    x = leaf * 2
    x.retain_grad()
    x.register_hook(lambda grad: grad * 10)
    x.mul_(3)
    x.sum().backward()
    return x.grad.tolist()


PROGRAMS: dict[str, Callable[[torch.Tensor], list[float]]] = {
    function.__name__: function
    for function in (
        after_write,
        first_of_two,
        second_of_two,
        used_twice,
        written_view,
        retained,
    )
}


def predictions() -> dict[str, list[float]]:
    """Return a dict from each name in `PROGRAMS` to the two floats that it returns.

    Hooks of a value run in the order in which they were registered, each on the result of the one
    before, once all gradients of the value have been added. ``retain_grad`` is different: it
    follows the tensor through writes, and runs after the hooks of its value.
    """
    # TODO: return {"after_write": [..., ...], ...}
    raise NotImplementedError("predictions")
