"""Compute advantages without a loop over time.

A loop over 1,000 steps runs thousands of operators, each for one column. But a step of GAE,

    A = delta + carry * A_next

is a map of A_next, and two such maps in a row are again one map. So neighbours can be joined, then
pairs, then fours: the number of steps joined doubles each round.

    round 0    0       1       2      3     4
    round 1    0|1     1|2     2|3    3|4   4
    round 2    01|23   12|34   23|4   34    4
    round 3    0123|4  1234    234    34    4

1. `affine` joins two maps.
2. `scan` runs the rounds, for any `combine`: it joins each step with all later ones. A round is
   one call of `combine`; a step with no neighbour at that distance is left as it is. 1,000 steps
   take 10 calls.
3. `gae` is one scan.

Begin on paper: substitute A_next = d + c x in the map above. What multiplies x, and what is added?
Afterwards read ``generic_associative_scan`` in ``torch/_higher_order_ops/associative_scan.py``, in
site-packages: it joins each pair once, goes on with half of them, and fills the gaps on its way
back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Callable

    Maps = tuple[torch.Tensor, ...]


def affine(inner: Maps, outer: Maps) -> Maps:
    """Return the pair (c, d) of the map that applies `outer` to the result of `inner`.

    A pair (c, d) of tensors stands for the map from x to d + c * x, element by element.
    """
    return outer[0] * inner[0], outer[1] + outer[0] * inner[1]


def scan(combine: Callable[[Maps, Maps], Maps], maps: Maps) -> Maps:
    """Join the map of each step with those of all later steps.

    `maps` are tensors [..., time] with at least one step. `combine(inner, outer)` takes and returns
    as many tensors as `maps` has, for any number of steps; `inner` are the later steps.
    """
    reach = 1
    while reach < maps[0].shape[-1]:
        later = tuple(x[..., reach:] for x in maps)
        joined = combine(later, tuple(x[..., :-reach] for x in maps))
        alone = [x[..., -reach:] for x in maps]
        maps = tuple(torch.cat(pair, -1) for pair in zip(joined, alone, strict=True))
        reach *= 2
    return maps


def gae(delta: torch.Tensor, done: torch.Tensor, decay: float) -> torch.Tensor:
    """Return delta plus decay times the next step's advantage, unless done, [..., time].

    The last step has no next step. `done` is bool, `decay` is gamma times lam; deltas are finite.
    """
    return scan(affine, (decay * (~done).to(delta.dtype), delta))[1]
