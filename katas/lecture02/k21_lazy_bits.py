"""Conjugated by a bit: predict which results are lazy.

    z = torch.tensor([1 + 2j, 3 - 1j])
    c = z.conj()
    print(c.data_ptr() == z.data_ptr(), c.is_conj())     # True True
    c[0] = 1j
    print(z[0])                                          # -1j

``conj`` writes nothing: it sets a bit on a view. Say of each expression in `EXPRESSIONS`: in the
storage of `z`, with the bit "conj", with "neg", or neither?

Begin on paper: where do the numbers of ``z.conj().imag`` lie, and with which sign?
Afterwards: ``aten/src/ATen/ConjugateFallback.cpp``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Callable

    import torch


@dataclass(frozen=True)
class Bits:
    """Whether a result lies in the storage of `z`, and its bit: "conj", "neg" or ""."""

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
    """Return a `Bits` for every name in `EXPRESSIONS`; torch is not there while it is read."""
    # TODO: 6 rows: return {"twice": Bits(shares=..., bit=...), ...}
    raise NotImplementedError("predictions")
