"""Comparisons to twelve digits, irrational numbers, and Captum in silence. Shared by the tests.

Captum need not be installed for this module to be imported.
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
    """Return it as it is, and numbers as float64."""
    return values if isinstance(values, torch.Tensor) else torch.tensor(values, dtype=torch.double)


def _short(tensor: torch.Tensor) -> str:
    if tensor.numel() > 24:
        return f"of shape {list(tensor.shape)}, {tensor.dtype}"
    return f"{tensor.tolist()} (shape {list(tensor.shape)}, {tensor.dtype})"


def captum(name: str, *args: Any) -> Any:
    """Return an instance of a class of Captum, such as "attr.IntegratedGradients", in silence."""
    module, _, kind = f"captum.{name}".rpartition(".")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(importlib.import_module(module), kind)(*args)


def quietly(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return what a call returns, without its warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args, **kwargs)
