"""Rotate queries and keys by their position.

Attention does not know where a token is. A rotary embedding rotates each query and key: two
numbers at a time, as a point in the plane, by an angle that grows with the position. The score of a
query and a key then depends only on the difference of their positions.

    pair i of E numbers rotates by    position * base ** (-2 i / E)       i = 0, 1, ... E/2 - 1

    "pairs"     (0 1) (2 3) (4 5)     as in the paper
    "halves"    (0 3) (1 4) (2 5)     as in Hugging Face's Llama

    (a, b)  turns to  (a cos - b sin, a sin + b cos)

1. `rotate`: in either layout.
2. `to_halves`: weights that were trained with pairs, for a program that rotates halves. About 12
   lines in all.

Begin on paper: for E = 6, where do the numbers 0 to 5 of a head have to go?
Afterwards see ``polar`` in ``torch/_torch_docs.py``, in site-packages: multiplication rotates a
complex number.
"""

from __future__ import annotations

import torch


def rotate(
    x: torch.Tensor, positions: torch.Tensor, *, layout: str = "halves", base: float = 10000.0
) -> torch.Tensor:
    """Return x [..., E], rotated by int64 positions, which broadcast to the shape [...].

    The angles are computed in float64. The result has the dtype of x, and the products may be
    computed in that dtype.
    """
    # TODO
    raise NotImplementedError("rotate")


def to_halves(weight: torch.Tensor, heads: int) -> torch.Tensor:
    """Return the weight of a projection, with its rows reordered within each head.

    `weight` is [heads * E, features]. Rotating the old outputs in pairs, or the new outputs in
    halves, gives the same numbers in a different order.
    """
    # TODO
    raise NotImplementedError("to_halves")
