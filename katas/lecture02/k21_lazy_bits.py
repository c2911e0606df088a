"""Conjugated by a bit: predict which results are lazy.

    z = torch.tensor([1 + 2j, 3 - 1j])
    c = z.conj()
    print(c.data_ptr() == z.data_ptr(), c.is_conj())     # True True
    c[0] = 1j
    print(z[0])                                          # -1j

``conj`` computes nothing: it returns a view with a bit set. For each expression in
`EXPRESSIONS`, predict: does the result share the storage of `z`, and is its bit "conj", "neg" or
neither?

Begin on paper: where are the numbers of ``z.conj().imag`` stored, and with which sign?
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
    # TODO: 6 rows: return {"twice": Bits(shares=..., bit=...), ...}
    raise NotImplementedError("predictions")
