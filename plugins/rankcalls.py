"""Takes a function, its arguments and its result from one process to another."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING
from typing import Any


if TYPE_CHECKING:
    from collections.abc import Callable


def packed(value: object, what: str) -> bytes:
    """Return `value` as bytes, for another process.

    Raises
    ------
    TypeError
        If it cannot be pickled: a generator, an open file, a function within a function.
    """
    __tracebackhide__ = True
    try:
        return pickle.dumps(value)
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise TypeError(f"{what} goes to another process, and cannot be pickled: {error}") from None


def packed_call(function: Callable[..., Any], args: tuple[Any, ...]) -> bytes:
    """Return a call as bytes; a rank finds the function by its name.

    Raises
    ------
    TypeError
        If the function has no name that another process could find it by.
    """
    __tracebackhide__ = True
    named = getattr(function, "__qualname__", "")
    if "<" in named:
        raise TypeError(
            f"world({named}) cannot run: ranks are other processes, which look a function up by "
            f"its name. Write a function at the top level of the test module, and hand what it "
            f"needs to world() as arguments."
        )
    return packed((function, args), "What world() hands to its ranks")


def unpacked(data: bytes) -> Any:
    """Return what was packed; its modules are imported if they are not yet."""
    return pickle.loads(data)  # noqa: S301 - from another process of the same session
