"""Predict for which batch sizes an exported program runs."""

from __future__ import annotations


# What forward returns, the batch of the example, and the spec of its size.
PROGRAMS: dict[str, tuple[str, int, str]] = {
    "named": ("x * 2", 4, 'Dim("batch", max=8)'),
    "named_fixed": ("x + torch.ones(4, 4)", 4, 'Dim("batch", max=8)'),
    "auto": ("x * 2", 4, "Dim.AUTO"),
    "auto_of_one": ("x * 2", 1, "Dim.AUTO"),
    "auto_fixed": ("x + torch.ones(4, 4)", 4, "Dim.AUTO"),
    "auto_if": ("x * 2 if x.shape[0] > 3 else x", 4, "Dim.AUTO"),
}
BATCHES = (1, 2, 3, 4, 6, 9)


def runs() -> dict[str, tuple[int, ...]]:
    """Return which of `BATCHES` each program runs; () if `torch.export` itself raises."""
    return {
        "named": (1, 2, 3, 4, 6),
        "named_fixed": (),
        "auto": (1, 2, 3, 4, 6, 9),
        "auto_of_one": (1,),
        "auto_fixed": (4,),
        "auto_if": (4, 6, 9),
    }
