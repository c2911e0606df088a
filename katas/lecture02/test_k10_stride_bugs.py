"""Tests of k10_stride_bugs: each bug has its test; tests of working code are marked as given."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from katas.lecture02.k10_stride_bugs import clear_columns_
from katas.lecture02.k10_stride_bugs import marked
from katas.lecture02.k10_stride_bugs import peak
from katas.lecture02.k10_stride_bugs import same_storage
from katas.lecture02.k10_stride_bugs import windows
from plugins.kit import unchanged


def same(yours: object, expected: object, case: str) -> None:
    """Compare a tensor's elements, or a plain value, with what the docstring asks for."""
    found = yours.tolist() if isinstance(yours, torch.Tensor) else yours
    assert expected == found, f"{case}: yours {found}, expected {expected}"


@pytest.mark.given
def test_one_place_is_marked(device: str) -> None:
    """A table of one row."""
    same(marked(torch.zeros(3, device=device), [1]), [[0, 1, 0]], "marked: one row, place 1")


def test_each_row_has_its_own_mark(device: str) -> None:
    """A write to one row must not show in the others."""
    table = marked(torch.tensor([5.0, 5.0, 5.0], device=device), [1, 0])
    same(table, [[5, 1, 5], [1, 5, 5]], "marked at 1 and 0; how far apart are the table's rows?")


def test_the_template_stays_as_it_is() -> None:
    """The table has a storage of its own, with the template's dtype and exact values."""
    template = torch.arange(3.0, dtype=torch.float64).sqrt()
    for places in [1, 0], [1]:
        expected = torch.stack([template] * len(places))
        expected[range(len(places)), places] = 1
        with unchanged(template=template):
            table = marked(template, places)
        torch.testing.assert_close(
            table,
            expected,
            rtol=0,
            atol=0,
            msg=lambda text: (
                f"marked: a row of yours (actual) is not a copy of the template: {text}"
            ),
        )


@pytest.mark.given
def test_columns_of_a_transpose_are_cleared(device: str) -> None:
    """Here each column is contiguous in memory."""
    matrix = torch.ones(3, 2, device=device).t()
    clear_columns_(matrix, 2)
    same(matrix, [[0, 0, 1], [0, 0, 1]], "clear_columns_ of a transpose, 2")


def test_columns_of_a_row_major_matrix_are_cleared(device: str) -> None:
    """The write has to reach the matrix itself, not a copy."""
    matrix = torch.ones(2, 3, device=device)
    result = clear_columns_(matrix, 2)
    same(matrix, [[0, 0, 1], [0, 0, 1]], "clear_columns_ of a row-major matrix; what was cleared?")
    assert result is matrix, "clear_columns_ returned another object, expected the matrix itself"


def test_columns_of_a_part_are_cleared(device: str) -> None:
    """Elements around the part are left alone; infinity and NaN are cleared too."""
    whole = torch.full((4, 5), torch.inf, device=device)
    whole[1, 2] = torch.nan
    clear_columns_(whole[1:3, 2:], 1)
    zeros = (whole == 0).nonzero()
    same(zeros, [[1, 2], [2, 2]], "clear_columns_ of whole[1:3, 2:], 1: where whole is 0")
    assert not whole.isnan().any(), f"a NaN is left in {whole.tolist()}: 0 times NaN is NaN"


@pytest.mark.given
def test_windows_of_a_new_signal(device: str) -> None:
    """Stride 1, offset 0."""
    same(windows(torch.arange(4, device=device), 2), [[0, 1], [1, 2], [2, 3]], "windows of 2")


def test_windows_start_where_the_signal_starts(device: str) -> None:
    """A signal cut from a longer one has a storage offset."""
    signal = torch.arange(6, device=device)[2:]
    same(windows(signal, 2), [[2, 3], [3, 4], [4, 5]], "arange(6)[2:]: which element comes first?")


def test_windows_step_as_the_signal_steps(device: str) -> None:
    """Every second sample is a signal, too: its neighbours are two elements apart."""
    signal = torch.arange(6, device=device)[::2]
    same(windows(signal, 2), [[0, 2], [2, 4]], "arange(6)[::2]: which samples are in the signal?")


@given(start=st.integers(0, 3), step=st.integers(1, 3), size=st.integers(1, 5))
def test_windows_are_views_of_any_signal(start: int, step: int, size: int) -> None:
    """Your windows equal those of ``Tensor.unfold``, even for a column."""
    signals = torch.arange(60).reshape(20, 3)[start::step, 1], torch.arange(20)[start::step]
    for signal in signals:
        case = f"stride {signal.stride()}, offset {signal.storage_offset()}, {size=}"
        with unchanged(signal=signal):
            result = windows(signal, size)
        same(result, signal.unfold(0, size, 1).tolist(), case)
        assert signal.data_ptr() == result.data_ptr(), (
            f"{case}: your windows are a copy, expected a view"
        )


@pytest.mark.given
def test_the_peak_of_a_row_major_matrix(device: str) -> None:
    """The result is row and column."""
    same(peak(torch.tensor([[1, 2, 3], [4, 5, 9]], device=device)), (1, 2), "peak")


def test_the_peak_of_a_transpose(device: str) -> None:
    """Its row stride is not its row length."""
    matrix = torch.tensor([[1, 2, 3], [4, 5, 9]], device=device).t()
    same(peak(matrix), (2, 1), "of a transpose; how many elements come before the next row's?")
    twice = torch.tensor([[0, 7], [7, 0]], device=device)
    same(int(twice[peak(twice)]), 7, "the element at the peak of [[0, 7], [7, 0]]")


@given(data=st.data())
def test_the_peak_is_where_it_was_put(data: st.DataObject) -> None:
    """In any part of a matrix, transposed or not, with or without steps."""
    rows, columns = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 4))
    matrix = torch.zeros(12, 12)[data.draw(st.integers(0, 3)) :, 1:][:rows, : 2 * columns : 2]
    if data.draw(st.booleans()):
        matrix = torch.zeros(columns, rows).t()
    place = data.draw(st.integers(0, rows - 1)), data.draw(st.integers(0, columns - 1))
    matrix[place] = 1
    with unchanged(matrix=matrix):
        yours = peak(matrix)
    same(yours, place, f"peak of {tuple(matrix.shape)}, strides {matrix.stride()}")


@pytest.mark.given
def test_a_tensor_and_its_transpose_share(device: str) -> None:
    """Two separately created tensors do not."""
    x = torch.zeros(2, 3, device=device)
    same(same_storage(x, x.t()), True, "x and x.t()")  # noqa: FBT003
    same(same_storage(x, torch.zeros(2, 3, device=device)), False, "two tensors")  # noqa: FBT003


def test_parts_of_a_tensor_share(device: str) -> None:
    """Even parts without a common element, and parts at other offsets."""
    x = torch.arange(6, dtype=torch.int16, device=device)
    for case, pair, expected in [
        ("x, x[2:]: a view may start further on", (x, x[2:]), True),
        ("x[:2], x[4:]: neither meets the other", (x[:2], x[4:]), True),
        ("x[1:], x.clone()[1:]", (x[1:], x.clone()[1:]), False),
        ("x, x.detach()[2:]: the storage, but no base", (x, x.detach()[2:]), True),
    ]:
        with unchanged(*pair):
            yours = same_storage(*pair)
        same(yours, expected, case)
