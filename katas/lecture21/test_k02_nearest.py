"""Tests of k02_nearest: `interpolate` shows what it takes, and your table is read without torch."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from katas.lecture21 import k02_nearest as kata
from plugins.kit import forbids


CALLS: dict[str, tuple[int, dict[str, Any]]] = {
    "down": (5, {"size": 3}),
    "halved": (4, {"size": 2}),
    "up": (3, {"size": 5}),
    "factor": (10, {"scale_factor": 0.35}),
    "recomputed": (10, {"scale_factor": 0.35, "recompute_scale_factor": True}),
}
MODES = {
    "nearest": "it takes the pixel at the left edge of output i, i * scale, rounded down",
    "nearest-exact": "it takes the pixel under the middle of output i, (i + 1/2) * scale",
}
SCALES = {
    "factor": "scale is 1 / 0.35, though three pixels are made of 3.5",
    "recomputed": "scale is computed again from the sizes: 10 pixels over 3",
}


def picked(mode: str, pixels: int, options: dict[str, Any]) -> list[int]:
    """Return the pixels that PyTorch takes."""
    x = torch.arange(float(pixels))[None, None]
    found: list[int] = (
        torch.nn.functional.interpolate(x, mode=mode, **options).long().flatten().tolist()
    )
    return found


def predicted() -> dict[str, tuple[list[int], list[int]]]:
    """Return your table, which cannot call torch."""
    __tracebackhide__ = True
    with forbids(kata) as fresh:
        rows, again = fresh.taken(), fresh.taken()
        assert rows == again, "`taken` returned a different table when called again"
        found: dict[str, tuple[list[int], list[int]]] = rows
        return found


def test_every_row_has_two_lists() -> None:
    """Each list has as many pixels as the call returns: 0.35 of ten is three."""
    rows = predicted()

    assert {*rows} == {*CALLS}, f"yours has rows {sorted(rows)}, expected {sorted(CALLS)}"
    sizes = {name: [len(each) for each in row] for name, row in rows.items()}
    right = {name: [len(picked("nearest", *CALLS[name]))] * 2 for name in CALLS}
    odd = {name: sizes[name] for name in CALLS if sizes[name] != right[name]}
    assert not odd, (
        f"expected two lists, each with a number for each output pixel; wrong lengths: {odd}."
        " With a scale_factor, the output's size is rounded down"
    )


@pytest.mark.parametrize("name", CALLS)
def test_pixels(name: str) -> None:
    """The pixels that PyTorch takes, found with a ramp."""
    pixels, options = CALLS[name]
    found = []
    for mode, yours in zip(MODES, predicted()[name], strict=True):
        right = picked(mode, pixels, options)
        missed = [i for i in range(len(right)) if yours[i] != right[i]]
        if missed:
            found.append(f"{mode}: yours is {yours}, wrong at {missed}; {MODES[mode]}")

    scale = SCALES.get(name, "scale is input size / output size")
    assert not found, f"{name}, {pixels} pixels: " + ". ".join([*found, scale])
