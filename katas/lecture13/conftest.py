"""What the tests of this lecture share: comparisons with a message, and how long ranks may take."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch


if TYPE_CHECKING:
    from collections.abc import Callable


# Ranks that wait for each other are stopped after this many seconds; those that train have twice
# as long.
SOON = 5


def same(yours: Any, expected: Any, what: str) -> None:
    """Compare two values, and show both."""
    __tracebackhide__ = True
    assert expected == yours, f"{what}\nyours:    {yours}\nexpected: {expected}"


def close(yours: Any, expected: Any, what: str, *, rtol: float = 1e-9, atol: float = 1e-11) -> None:
    """Compare two tensors, and show both.

    Not by torch.testing.assert_close: at its first call each rank would import sympy for a second.
    """
    __tracebackhide__ = True
    assert isinstance(yours, torch.Tensor), f"{what}\nyours:    {yours}, which is not a tensor"
    facts = [(tuple(each.shape), str(each.dtype)) for each in (yours, expected)]
    assert facts[1] == facts[0], (
        f"{what}: shape and dtype\nyours:    {facts[0]}\nexpected: {facts[1]}"
    )
    equal = torch.allclose(yours, expected, rtol=rtol, atol=atol, equal_nan=True)
    mine, right = yours.flatten()[:12].tolist(), expected.flatten()[:12].tolist()
    assert equal, (
        f"{what}\nyours:    {mine}\nexpected: {right}"
        # A sum that should be a mean, a gradient that is added twice.
        + (
            f"\nyours is {times:.4g} times what is expected"
            if torch.allclose(
                yours.double(),
                expected.double()
                * (times := ((yours * expected).sum() / (expected * expected).sum()).item()),
                rtol=1e-4,
            )
            and abs(times - 1) > 1e-3
            else ""
        )
    )


def finished(world: Any, function: Callable[..., Any], size: int, *args: Any) -> Any:
    """Return what ranks return, and blame the answer if they hang or die."""
    __tracebackhide__ = True
    try:
        return world(function, size, *args, timeout=SOON)
    except pytest.fail.Exception as error:
        raise AssertionError(str(error)) from None
