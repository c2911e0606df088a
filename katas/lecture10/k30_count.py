"""Count what a kernel costs, before anybody runs it.

Fusing two loops saves a round trip to memory and may compute a value twice. To decide, Inductor
runs the body once more, under a handler that only counts.

    exp(x * x) - row         load x, load row    distinct calls: mul, exp, sub
    loops (3, 4)             flops 3 * 12        bytes 8 * (12 of x + 4 of row + 12 written)

``row`` is read at an index without i0, so the loop over i0 finds it in a cache: 4 reads, not 12.

Write `Distinct`, whose values are names and which gives a repeated call its old name again, and
`count`: about 20 lines. Open ``loops.py`` next to this file for `Handler`, `Reduction` and
`symbols`; `Distinct` at its end is an answer: read it afterwards.

Begin on paper: are ``x - y`` and ``y - x`` the same call? Are 0.0 and -0.0 the same constant?
Afterwards read ``MemoryDep.get_numel`` in ``torch/_inductor/dependencies.py`` and ``OpCounterCSE``
in ``ops_handler.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

from katas.lecture10.loops import Count
from katas.lecture10.loops import Handler
from katas.lecture10.loops import Reduction
from katas.lecture10.loops import handling
from katas.lecture10.loops import symbols


if TYPE_CHECKING:
    from katas.lecture10.loops import Pointwise


class Distinct(Handler):
    """A value is a variable's name, ``tmp0``, ``tmp1``, ...; a known call gets its old name."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[Any, ...]]] = []
        self.known: dict[str, str] = {}

    def default(self, name: str, args: tuple[Any, ...]) -> str:
        """Return the name of a call, and append (name, args) to `calls` if it is new."""
        # TODO: how do you recognize a call?
        raise NotImplementedError("default")


def count(kernel: Pointwise | Reduction) -> Count:
    """Return the flops, reads and bytes of a kernel, by one run of its body.

    `flops`: one for each distinct call, except load and constant, and one for the step of a
    reduction, times the iterations of all loops. `reads`: the distinct (name, index) of
    ``ops.load``, for ``symbols(kernel)``. `bytes`: 8 for each element of the result; for each read,
    8 times the lengths of the loops whose variables are in the index
    (``sympy.sympify(index).free_symbols``).
    """
    # TODO: run the body under Distinct, then count.
    raise NotImplementedError("count")
