"""Count what a kernel costs, before anybody runs it."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING
from typing import Any

import sympy

from katas.lecture10.loops import Count
from katas.lecture10.loops import Handler
from katas.lecture10.loops import Reduction
from katas.lecture10.loops import handling
from katas.lecture10.loops import symbols


if TYPE_CHECKING:
    from katas.lecture10.loops import Pointwise


class Distinct(Handler):
    """A value is a variable's name; a repeated call gets the same name again."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[Any, ...]]] = []
        self.known: dict[str, str] = {}

    def default(self, name: str, args: tuple[Any, ...]) -> str:
        """Return the name of a call."""
        # Keyed by its text: 0.0 == -0.0 in Python, but they are two constants.
        call = f"{name} {[str(arg) for arg in args]}"
        if call not in self.known:
            self.known[call] = f"tmp{len(self.calls)}"
            self.calls.append((name, args))
        return self.known[call]


def count(kernel: Pointwise | Reduction) -> Count:
    """Return the kernel's flops, its reads, and the bytes that it moves."""
    variables, handler = symbols(kernel), Distinct()
    with handling(handler):
        kernel.body(variables)
    times = dict(zip(variables, kernel.loops, strict=True))
    work = sum(name not in {"load", "constant"} for name, _ in handler.calls)
    reads = frozenset(args for name, args in handler.calls if name == "load")
    # A loop whose variable is not in the index reads the same element again: from a cache.
    places = [prod(times[i] for i in sympy.sympify(index).free_symbols) for _, index in reads]
    return Count(
        (work + isinstance(kernel, Reduction)) * prod(kernel.loops),
        reads,
        8 * (sum(places) + prod(kernel.size)),
    )
