"""Pass a subclass of Tensor around.

A ``Tagged`` is a Tensor, so you can use it wherever you can use a Tensor: a subclass promises that.
But which type do you get back?

    class Tagged(torch.Tensor): ...
    x = torch.tensor([1.0, 2.0, 3.0]).as_subclass(Tagged)
    type(x + 1), type(torch.ones(3) + x)           # Tagged, both

Predict the type for twelve programs, in about 4 lines. The tests run PyTorch, but hide it while
they read your rows.

Begin with `compare`: is its bool tensor a Tagged?
Afterwards read ``Tensor.__torch_function__`` in ``torch/_tensor.py``, in site-packages.
"""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Callable


# Given: do not change. Each program gets a Tagged of three floats.
def compare(x: torch.Tensor) -> object:
    """Compare with a number."""
    return x > 2


def shape(x: torch.Tensor) -> object:
    """Return the shape."""
    return x.shape


def tensor(x: torch.Tensor) -> object:
    """Make a tensor from the values of the Tagged."""
    return torch.tensor(x)


def as_tensor(x: torch.Tensor) -> object:
    """Convert the Tagged to a tensor if it is not one already."""
    return torch.as_tensor(x)


def parameter(x: torch.Tensor) -> object:
    """Make the Tagged a Parameter."""
    return torch.nn.Parameter(x)


def linear(x: torch.Tensor) -> object:
    """Call a layer that knows nothing about subclasses."""
    return torch.nn.Linear(3, 2)(x)


def gradient(x: torch.Tensor) -> object:
    """Make the Tagged a leaf, run backward, and return .grad."""
    x = x.detach().requires_grad_()
    (x * 2).sum().backward()
    return x.grad


def out(x: torch.Tensor) -> object:
    """Return the result of add, which writes to a plain tensor."""
    return torch.add(x, x, out=torch.empty(3))


def written(x: torch.Tensor) -> object:
    """Write to a plain tensor, and return that tensor."""
    plain = torch.empty(3)
    plain.copy_(x)
    return plain


def numpy(x: torch.Tensor) -> object:
    """Go to NumPy and back."""
    return torch.from_numpy(x.numpy())


def rows(x: torch.Tensor) -> object:
    """Take the first element of the Tagged by iteration."""
    return next(iter(x))


def pickled(x: torch.Tensor) -> object:
    """Send the Tagged through pickle."""
    return pickle.loads(pickle.dumps(x))  # noqa: S301 - our own bytes


PROGRAMS: dict[str, Callable[[torch.Tensor], object]] = {
    function.__name__: function
    for function in (
        *(compare, shape, tensor, as_tensor, parameter, linear),
        *(gradient, out, written, numpy, rows, pickled),
    )
}


def predictions() -> dict[str, bool]:
    """For each name in `PROGRAMS`, return whether the result is a Tagged.

    A tensor returned through ``Tensor.__torch_function__`` becomes the subclass;
    ``torch.overrides`` lists a few attributes that are exceptions.
    """
    # TODO: return {"compare": ..., ...}
    raise NotImplementedError("predictions")
