"""Freeze and thaw: say which parts of the graph exist."""

from __future__ import annotations


def graphs() -> dict[str, tuple[set[str], set[str]]]:
    """For each name, return a set of "h", "m", "y", and one of "x", "encoder", "bridge", "head"."""
    return {
        "probe": ({"y"}, {"head"}),
        "bridge": ({"m", "y"}, {"bridge"}),
        "prompt": ({"h", "m", "y"}, {"x"}),
        "no_grad": ({"y"}, {"head"}),
        "thawed": ({"y"}, {"head"}),
        "refrozen": ({"h", "m", "y"}, {"encoder", "head"}),
    }
