"""Tests of k04_batches: six programs, exported and run on batches of 1, 2 and 5."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest
import torch

from katas.lecture16 import k04_batches as kata
from katas.lecture16.conftest import File
from katas.lecture16.conftest import Part
from plugins.kit import forbids


if TYPE_CHECKING:
    from collections.abc import Callable

    Forward = Callable[[torch.Tensor], torch.Tensor]


pytestmark = pytest.mark.backend("onnxruntime")
BATCHES = (1, 2, 5)
# Rows of the example, whether the batch has a name, and what is computed.
ROWS: dict[str, tuple[int, bool, Forward]] = {
    "static": (2, False, lambda x: x + 1),
    "named": (2, True, lambda x: x + 1),
    "one": (1, True, lambda x: x + 1),
    "size": (2, True, lambda x: x / x.shape[0]),
    "integer": (2, True, lambda x: x / int(x.shape[0])),
    "branch": (2, True, lambda x: x + 1 if x.shape[0] > 1 else x * 0),
}
RULES = {
    "static": "without dynamic_shapes the file states the sizes of the example",
    "named": "ONNX Runtime takes any number for a size that has a name, and x + 1 is right for all",
    "one": "0 and 1 are special while the exporter guesses which sizes vary; here you have said so",
    "size": "x.shape[0] is a symbol, and the file computes it from its input",
    "integer": "int() makes the symbol a number, without a word, and x has that size in the file",
    "branch": "the export followed the branch for 2 rows or more; the file has no other, no check",
}


@cache
def file() -> File:
    """Export once: each row is a part of one file, with an input of its own."""
    return File(
        {
            name: Part(function, (torch.ones(rows, 4),), open=dynamic)
            for name, (rows, dynamic, function) in ROWS.items()
        }
    )


@cache
def measured(name: str) -> tuple[str, ...]:
    """Run each batch."""
    from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument  # noqa: PLC0415 - may be missing

    found = []
    for batch in BATCHES:
        x = torch.arange(4.0 * batch).view(batch, 4)
        try:
            (y,) = file().ask(name, x)
        except InvalidArgument:
            found.append(kata.REFUSED)
        else:
            right = ROWS[name][2](x)
            same = y.shape == right.shape and torch.allclose(torch.from_numpy(y), right)
            found.append(kata.RIGHT if same else kata.WRONG)
    return tuple(found)


def predicted() -> dict[str, tuple[str, ...]]:
    """Return your rows, which cannot call torch."""
    __tracebackhide__ = True
    with forbids(kata) as fresh:
        rows, again = fresh.answers(), fresh.answers()
        assert rows == again, "called again, `answers` returns different rows"
        return {name: tuple(row) for name, row in rows.items()}


def test_every_row_is_there() -> None:
    """Each row has three words."""
    rows = predicted()
    words = {kata.RIGHT, kata.WRONG, kata.REFUSED}

    assert rows.keys() == ROWS.keys(), f"yours has rows {sorted(rows)}, expected {sorted(ROWS)}"
    odd = {name: row for name, row in rows.items() if len(row) != 3 or not {*row} <= words}
    assert not odd, f"expected three of RIGHT, WRONG and REFUSED in each row; yours has {odd}"


@pytest.mark.parametrize("name", ROWS)
def test_row(name: str) -> None:
    """What ONNX Runtime does with the three batches."""
    yours, found = predicted()[name], measured(name)
    missed = [b for b, mine, theirs in zip(BATCHES, yours, found, strict=True) if mine != theirs]

    assert not missed, (
        f"{name}: yours is {yours} for batches of {BATCHES}, but ONNX Runtime does something else"
        f" with {' and '.join(map(str, missed))}. {RULES[name]}"
    )
