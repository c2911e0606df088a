"""Five methods, four functions: work out who gets what."""

from __future__ import annotations


METHODS = ("gradient", "times", "integrated", "occlusion", "Shapley")


def shares() -> dict[str, tuple[tuple[float, float], ...]]:
    """For each function, return five pairs, in the order of METHODS: a's share and b's."""
    return {
        "product": ((3, 2), (6, 6), (3, 3), (6, 6), (3, 3)),
        "least": ((1, 0), (1, 0), (1, 0), (1, 1), (0.5, 0.5)),
        "most": ((0, 1), (0, 3), (0, 3), (0, 2), (0.5, 2.5)),
        "capped": ((0, 0), (0, 0), (0.5, 0.5), (0, 0), (0.5, 0.5)),
    }
