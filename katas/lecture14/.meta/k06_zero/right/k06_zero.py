"""ZeRO 1, 2 and 3, as numbers."""

from __future__ import annotations

from typing import NamedTuple


# The model: so many linear layers of WIDTH x WIDTH, float32, without biases.
RANKS, LAYERS, WIDTH = 4, 8, 256


class Held(NamedTuple):
    """Bytes on one rank."""

    parameters: int
    gradients: int
    moments: int


def held() -> dict[str, Held]:
    """Return rows for zero1, zero2, zero3, zero2_bf16 and zero3_bf16, in whole numbers."""
    rows = {
        "zero1": Held(2 << 20, 2 << 20, 1 << 20),
        "zero2": Held(2 << 20, 1 << 19, 1 << 20),
        "zero3": Held(1 << 19, 1 << 19, 1 << 20),
    }
    rows["zero3_bf16"] = rows["zero3"]
    rows["zero2_bf16"] = rows["zero2"]._replace(parameters=1 << 20)
    return rows
