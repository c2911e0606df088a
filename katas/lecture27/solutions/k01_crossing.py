"""Read an exception that has been through C++."""

from __future__ import annotations

import re
import traceback
from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Callable


def through_hook(f: Callable[[], object]) -> None:
    """Call f during the backward of a product. Given."""
    y = torch.ones(1, requires_grad=True) * 2
    y.register_hook(lambda _: f())  # type: ignore[no-untyped-call, unused-ignore]
    y.sum().backward()


def through_future(f: Callable[[], object]) -> None:
    """Call f when a future has its result. Given."""
    future: torch.futures.Future[int] = torch.futures.Future()
    after = future.then(lambda _: f())
    future.set_result(1)
    after.wait()


def raised(error: Exception) -> tuple[str, str]:
    """Return the name of the class that was raised first, and of the function that raised it."""
    begins = r"(?:when running the callback|^RuntimeError): "
    pattern = rf"(?sm).*{begins}(\w+): .*?\n\nAt:\n.*?\): ([^\n]+)"
    if found := re.match(pattern, str(error)):
        return found[1], found[2]
    return type(error).__name__, traceback.extract_tb(error.__traceback__)[-1].name
