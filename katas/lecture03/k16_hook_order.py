"""Which gradient does a hook see? Six programs, on paper.

A hook is registered, then the tensor is written to. Whose gradient arrives?

    x = leaf * 2
    x.register_hook(print)
    x.mul_(3)
    x.sum().backward()           # tensor([3., 3.]), though the gradient of x is 1

A hook belongs to the value that the tensor had then. Predict what the six programs return; about 8
lines. The tests run PyTorch, and take it away while they read your rows.

Begin with `after_write`.
Afterwards read ``register_hook`` in ``torch/_tensor.py``, in site-packages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Callable

    import torch


# Given: do not change. Each gets ``torch.ones(2, requires_grad=True)``.
def after_write(leaf: torch.Tensor) -> list[float]:
    """Register the hook after the write."""
    seen: list[torch.Tensor] = []
    x = leaf * 2
    x.mul_(3)
    x.register_hook(seen.append)
    x.sum().backward()
    return seen[0].tolist()


def first_of_two(leaf: torch.Tensor) -> list[float]:
    """Look, then let another hook make it ten times as large."""
    seen: list[list[float]] = []
    x = leaf * 2
    x.register_hook(lambda grad: seen.append(grad.tolist()))
    x.register_hook(lambda grad: grad * 10)
    x.sum().backward()
    return seen[0]


def second_of_two(leaf: torch.Tensor) -> list[float]:
    """Look after another hook has made it ten times as large."""
    seen: list[list[float]] = []
    x = leaf * 2
    x.register_hook(lambda grad: grad * 10)
    x.register_hook(lambda grad: seen.append(grad.tolist()))
    x.sum().backward()
    return seen[0]


def used_twice(leaf: torch.Tensor) -> list[float]:
    """Use the tensor two times."""
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
    """Ask for .grad first, then register a hook, then write."""
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
    """Return what each of `PROGRAMS` returns, two floats by name.

    Hooks of a value run in the order in which they were registered, each on what the one before
    has returned, and after all gradients of the value have been added. ``retain_grad`` is another
    kind: it goes along with the tensor through writes, and comes after the hooks of its value.
    """
    # TODO: return {"after_write": [..., ...], ...}
    raise NotImplementedError("predictions")
