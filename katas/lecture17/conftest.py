"""Comparisons to twelve digits, irrational numbers, and a quiet Captum. Shared by the tests.

This module can be imported without Captum.
"""

from __future__ import annotations

import importlib
import warnings
from typing import TYPE_CHECKING
from typing import Any

import torch


if TYPE_CHECKING:
    from collections.abc import Callable


def numbers(*size: int, seed: int = 0) -> torch.Tensor:
    """Return irrational float64 values, positive and negative."""
    dice = torch.Generator().manual_seed(1000 * seed + len(size) + sum(size))
    return torch.randn(*size, dtype=torch.float64, generator=dice)


def close(yours: Any, expected: Any, why: str, tolerance: float = 1e-12) -> None:
    """Compare tensors, in float64 to twelve digits."""
    __tracebackhide__ = True
    found, right = _tensor(yours), _tensor(expected)
    torch.testing.assert_close(
        found,
        right,
        rtol=tolerance,
        atol=tolerance,
        check_dtype=False,
        equal_nan=True,
        msg=lambda text: (
            f"{why}\nyours {_short(found)}\nexpected {_short(right)}\n{text.splitlines()[0]}"
        ),
    )


def _tensor(values: Any) -> torch.Tensor:
    """Return a tensor unchanged, and numbers as a float64 tensor."""
    return values if isinstance(values, torch.Tensor) else torch.tensor(values, dtype=torch.double)


def _short(tensor: torch.Tensor) -> str:
    if tensor.numel() > 24:
        return f"of shape {list(tensor.shape)}, {tensor.dtype}"
    return f"{tensor.tolist()} (shape {list(tensor.shape)}, {tensor.dtype})"


def captum(name: str, *args: Any) -> Any:
    """Return an instance of a Captum class, such as "attr.IntegratedGradients", silently."""
    module, _, kind = f"captum.{name}".rpartition(".")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(importlib.import_module(module), kind)(*args)


def quietly(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return what a call returns, without its warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args, **kwargs)


# Synthetic data, and small networks that learn it. Where the watermark of k16 is:
MARK = (slice(0, 2), slice(6, 8))


def bars(count: int, seed: int, share: float = 0.97) -> tuple[torch.Tensor, torch.Tensor]:
    """Return noisy images of 8 x 8 with a vertical bar (class 1) or a horizontal one (class 0).

    A `share` of class 1 has a watermark, and the same share of class 0 has none.
    """
    dice = torch.Generator().manual_seed(seed)
    x = 0.4 * torch.randn(count, 1, 8, 8, generator=dice)
    y, place = torch.arange(count) % 2, torch.randint(0, 8, (count,), generator=dice)
    as_usual = torch.rand(count, generator=dice) < share
    for image, standing, k, usual in zip(x, y, place, as_usual, strict=True):
        image[0, :, k] += standing
        image[0, k, :] += 1 - standing
        image[0, MARK[0], MARK[1]] = 2.0 * float(bool(standing) is bool(usual))
    return x, y


def records(count: int, seed: int, *, leaking: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Return rows of six columns and a label; column 4 is filled in when the label is known."""
    dice = torch.Generator().manual_seed(seed)
    x = torch.randn(count, 6, generator=dice)
    y = (x[:, 0] - 0.7 * x[:, 2] + 0.5 * torch.randn(count, generator=dice) > 0).long()
    if leaking:
        x[:, 4] = 2.0 * y - 1 + 0.1 * torch.randn(count, generator=dice)
    return x, y


def descend(loss: torch.Tensor, model: torch.nn.Module, rate: float) -> None:
    """Take a step of gradient descent; importing a PyTorch optimizer would take seconds."""
    parameters = [*model.parameters()]
    with torch.no_grad():
        for p, grad in zip(parameters, torch.autograd.grad(loss, parameters), strict=True):
            p.sub_(rate * grad)


def train(
    model: torch.nn.Module,
    x: torch.Tensor,
    y: torch.Tensor,
    *,
    steps: int,
    rate: float = 0.05,
    change: Callable[[torch.Tensor], torch.Tensor] = lambda x: x,
) -> torch.nn.Module:
    """Train with momentum on all rows, passed through `change`; return the model, frozen."""
    parameters = [*model.parameters()]
    speeds = [torch.zeros_like(p) for p in parameters]
    for _ in range(steps):
        loss = torch.nn.functional.cross_entropy(model(change(x)), y)
        grads = torch.autograd.grad(loss, parameters)
        with torch.no_grad():
            for p, speed, grad in zip(parameters, speeds, grads, strict=True):
                p.sub_(speed.mul_(0.9).add_(grad), alpha=rate)
    return model.requires_grad_(requires_grad=False)
