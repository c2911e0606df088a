"""Conjugated by a bit: predict which results are lazy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Callable

    import torch


@dataclass(frozen=True)
class Bits:
    """Whether a result shares the storage of `z`, and its bit: "conj", "neg" or ""."""

    shares: bool
    bit: str


# Given: do not change.
EXPRESSIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "twice": lambda z: z.conj().conj(),
    "imag": lambda z: z.conj().imag,
    "real": lambda z: z.conj().real,
    "adjoint": lambda z: z.view(1, 2).mH,
    "product": lambda z: z.conj() * 2,
    "clone": lambda z: z.conj().clone(),
}


def predictions() -> dict[str, Bits]:
    """Return a `Bits` for every name in `EXPRESSIONS`; your function cannot call torch."""
    return {
        "twice": Bits(shares=True, bit=""),
        "imag": Bits(shares=True, bit="neg"),
        "real": Bits(shares=True, bit=""),
        "adjoint": Bits(shares=True, bit="conj"),
        "product": Bits(shares=False, bit=""),
        "clone": Bits(shares=False, bit=""),
    }
