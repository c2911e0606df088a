"""ZeRO 1, 2 and 3, and the bytes that each leaves on a rank."""

from __future__ import annotations

from typing import NamedTuple


# The model: LAYERS linear layers of WIDTH x WIDTH, float32, without biases.
RANKS, LAYERS, WIDTH = 4, 8, 256


class Held(NamedTuple):
    """Bytes on one rank."""

    parameters: int
    gradients: int
    moments: int


def held() -> dict[str, Held]:
    """Return rows for zero1, zero2, zero3, zero2_bf16 and zero3_bf16, as integers."""
    all_, part = 4 * LAYERS * WIDTH**2, 4 * LAYERS * WIDTH**2 // RANKS
    return {
        "zero1": Held(all_, all_, 2 * part),
        "zero2": Held(all_, part, 2 * part),
        "zero3": Held(part, part, 2 * part),
        "zero2_bf16": Held(all_ // 2, part, 2 * part),
        "zero3_bf16": Held(part, part, 2 * part),
    }
