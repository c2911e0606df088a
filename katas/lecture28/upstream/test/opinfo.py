"""What the tests know of each operator."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class OpInfo:
    """An operator, what it computes of one element, and inputs to try it with."""

    name: str
    reference: Callable[..., float]
    samples: tuple[tuple[list[float], ...], ...]
    supports_autograd: bool = True


op_db: list[OpInfo] = []

op_db.append(OpInfo("add", lambda a, b: a + b, (([1.5, -2.0], [0.25, 4.0]), ([], []))))

op_db.append(OpInfo("neg", lambda a: -a, (([1.5, -2.0],), ([],))))

op_db.append(OpInfo("mul", lambda a, b: a * b, (([1.5, -2.0], [0.25, 4.0]), ([], []))))

op_db.append(OpInfo("relu", lambda a: max(a, 0.0), (([1.5, -2.0, 0.25],), ([],))))

op_db.append(OpInfo("exp", math.exp, (([1.5, -2.0, 0.0],), ([],))))
