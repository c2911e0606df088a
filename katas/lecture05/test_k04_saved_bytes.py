"""Tests of k04_saved_bytes: the bytes that torch.save writes are counted and read back."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest
import torch
from torch import nn

from katas.lecture05.k04_saved_bytes import compact
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Mapping


# What torch.save writes besides the tensors: names, headers, padding.
HEAD, EACH = 2000, 400


def saved(state: Mapping[str, torch.Tensor]) -> io.BytesIO:
    """Return the file that torch.save writes."""
    file = io.BytesIO()
    torch.save(state, file)
    return file


def loaded(state: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return what is loaded from the file."""
    file = saved(state)
    file.seek(0)
    return torch.load(file)


def check(state: dict[str, torch.Tensor], needed: int) -> dict[str, torch.Tensor]:
    """Compare the tensors, and the bytes of the file with those that the tensors need."""
    with unchanged(state):
        yours = compact(state)
    assert [*state] == [*yours], f"yours has the keys {[*yours]}, expected {[*state]}"
    back = loaded(yours)
    for key, x in state.items():
        for what, found in (("yours", yours[key]), ("after loading", back[key])):
            says = f"{key}, {what}: not equal to what was given\n".__add__
            torch.testing.assert_close(found, x, rtol=0, atol=0, msg=says)
    naive, compacted = (saved(each).getbuffer().nbytes for each in (state, yours))
    bar = needed + HEAD + EACH * len(state)

    assert compacted <= bar, f"bytes written: yours {compacted}, bar {bar}, without compact {naive}"
    return back


def ties(state: Mapping[str, torch.Tensor]) -> list[tuple[str, str]]:
    """Return the pairs of keys whose tensors begin at the same address."""
    return [
        (a, b) for a in state for b in state if a < b and state[a].data_ptr() == state[b].data_ptr()
    ]


def test_a_row_of_a_table() -> None:
    """Save four kilobytes out of four million bytes, or all rows of a table but one."""
    table = torch.randn(1000, 1000)

    check({"row": table[:1]}, table[:1].nbytes)
    most = compact({"most": table[1:]})["most"]
    kept = most.untyped_storage().nbytes()
    assert kept == most.nbytes, (
        f"999 rows of 1000: your copy keeps {kept} bytes, expected {most.nbytes}"
    )


def test_what_is_whole_is_not_copied() -> None:
    """A tensor that covers its whole storage stays the same object, transposed or not."""
    x = torch.randn(30, 40)
    state = {"x": x, "t": x.t(), "flat": x.view(-1)}
    yours = compact(state)

    for key, each in state.items():
        assert each is yours[key], f"{key} covers its whole storage, but was copied"
    check(state, x.nbytes)


def test_a_tied_weight_stays_tied() -> None:
    """A model's state dict has the weight twice, as two tensors that share memory."""
    model = nn.Sequential(nn.Linear(50, 50), nn.Linear(50, 50))
    model[1].weight = model[0].weight
    state = dict(model.state_dict())
    back = check(state, 50 * 50 * 4 + 2 * 50 * 4)

    assert ties(state) == ties(back), (
        f"tied after loading: yours {ties(back)}, expected {ties(state)}"
    )


def test_a_tied_view_stays_tied() -> None:
    """Two names of one view share a copy; a view that begins elsewhere gets its own copy."""
    table = torch.randn(1000, 50)
    state = {"a": table[10:20], "b": table[10:20], "c": table[20:30], "again": table[10:20]}
    back = check(state, 2 * 10 * 50 * 4)

    assert ties(state) == ties(back), (
        f"tied after loading: yours {ties(back)}, expected {ties(state)}"
    )


def test_equal_places_in_two_tables() -> None:
    """Offsets count from the start of a storage, and each table has its own storage."""
    state = {key: torch.randn(100, 50)[10:20] for key in "ab"}

    check(state, 2 * 10 * 50 * 4)


def test_views_that_begin_at_one_place_may_differ() -> None:
    """Such views may differ in shape, strides or dtype: each gets its own copy and values."""
    table = torch.randn(40, 40)
    state = {
        "row": table[0, :20],
        "column": table[:20, 0],
        "long": table[0, :30],
    }

    check(state, 70 * 4)
    bits = compact({"row": table[0, :20], "bits": table[0, :20].view(torch.int32)})["bits"]
    assert bits.dtype == torch.int32, (
        f"the bits of a row: yours is {bits.dtype}, expected torch.int32"
    )


def test_a_storage_of_another_dtype() -> None:
    """Compare bytes with bytes: a double has eight."""
    wide = torch.arange(400, dtype=torch.float64).sqrt()

    check({"half": wide[:100], "whole": wide}, 500 * 8)


@pytest.mark.parametrize("dtype", [torch.float64, torch.int8])
def test_a_second_call_copies_nothing(dtype: torch.dtype) -> None:
    """An earlier result does not change."""
    state = {"x": torch.ones(100, dtype=dtype)[:3]}
    first = compact(state)
    with unchanged(first):
        second = compact(first)

    assert first["x"] is second["x"], "your function copied tensors that are already compact"
    assert first["x"] is not compact(state)["x"], "your function keeps copies from an earlier call"
