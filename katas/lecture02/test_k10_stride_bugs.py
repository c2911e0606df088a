"""Tests of k10_stride_bugs: each bug has its test; what works already is marked as given."""

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


@pytest.mark.given
def test_one_place_is_marked(device: str) -> None:
    """A table of one row."""
    assert [[0, 1, 0]] == marked(torch.zeros(3, device=device), [1]).tolist()


def test_each_row_has_its_own_mark(device: str) -> None:
    """A write to one row does not show in the others."""
    table = marked(torch.tensor([5.0, 5.0, 5.0], device=device), [1, 0])

    assert [[5, 1, 5], [1, 5, 5]] == table.tolist(), "how far apart are the rows of the table?"


def test_a_copy_has_the_dtype_of_the_template() -> None:
    """And its values, to the last bit."""
    template = torch.arange(3.0, dtype=torch.float64).sqrt()
    expected = torch.stack([template, template])
    expected[0, 1] = expected[1, 0] = 1

    torch.testing.assert_close(
        marked(template, [1, 0]),
        expected,
        rtol=0,
        atol=0,
        msg=lambda text: f"each row (yours first) is a copy of the template: {text}",
    )


def test_the_template_stays_as_it_is(device: str) -> None:
    """The table has a storage of its own."""
    template = torch.zeros(3, device=device)
    marked(template, [2])

    assert [0, 0, 0] == template.tolist(), "the mark was written into the template"


@pytest.mark.given
def test_columns_of_a_transpose_are_cleared(device: str) -> None:
    """Here the columns lie one after another in memory."""
    matrix = torch.ones(3, 2, device=device).t()
    clear_columns_(matrix, 2)

    assert [[0, 0, 1], [0, 0, 1]] == matrix.tolist()


def test_columns_of_a_row_major_matrix_are_cleared(device: str) -> None:
    """The write has to reach the matrix, and no copy of it."""
    matrix = torch.ones(2, 3, device=device)
    result = clear_columns_(matrix, 2)

    assert [[0, 0, 1], [0, 0, 1]] == matrix.tolist(), "what was it that was set to 0?"
    assert result is matrix


def test_columns_of_a_part_are_cleared(device: str) -> None:
    """And what lies around the part is left alone."""
    whole = torch.ones(4, 5, device=device)
    clear_columns_(whole[1:3, 2:], 1)

    assert [0, 0, 2, 0, 0] == (4 - whole.sum(0)).tolist(), "two elements of column 2 are 0 now"


def test_infinity_and_nan_are_cleared() -> None:
    """Set to 0, whatever was there."""
    matrix = torch.tensor([[torch.inf, 1.0], [torch.nan, 2.0]])
    clear_columns_(matrix, 1)

    assert matrix.tolist() == [[0, 1], [0, 2]], f"0 times inf is NaN; yours is {matrix.tolist()}"


@pytest.mark.given
def test_windows_of_a_new_signal(device: str) -> None:
    """Stride 1, offset 0."""
    signal = torch.arange(4, device=device)

    assert [[0, 1], [1, 2], [2, 3]] == windows(signal, 2).tolist()


def test_windows_start_where_the_signal_starts(device: str) -> None:
    """A signal cut from a longer one has a storage offset."""
    signal = torch.arange(6, device=device)[2:]

    assert [[2, 3], [3, 4], [4, 5]] == windows(signal, 2).tolist(), "which element comes first?"


def test_windows_step_as_the_signal_steps(device: str) -> None:
    """Every second sample is a signal, too: its neighbours are two elements apart."""
    signal = torch.arange(6, device=device)[::2]

    assert [[0, 2], [2, 4]] == windows(signal, 2).tolist(), "which samples are in the signal?"


@given(start=st.integers(0, 3), step=st.integers(1, 3), size=st.integers(1, 5))
def test_windows_are_views_of_any_signal(start: int, step: int, size: int) -> None:
    """As ``Tensor.unfold`` makes them: of a column, too."""
    signals = torch.arange(60).reshape(20, 3)[start::step, 1], torch.arange(20)[start::step]
    for signal in signals:
        result = windows(signal, size)
        assert signal.unfold(0, size, 1).tolist() == result.tolist()
        assert signal.data_ptr() == result.data_ptr(), "a view, without a copy"


@pytest.mark.given
def test_the_peak_of_a_row_major_matrix(device: str) -> None:
    """Row and column."""
    assert (1, 2) == peak(torch.tensor([[1, 2, 3], [4, 5, 9]], device=device))


def test_the_peak_of_a_transpose(device: str) -> None:
    """Its rows are not apart as far as they are long."""
    matrix = torch.tensor([[1, 2, 3], [4, 5, 9]], device=device).t()

    assert (2, 1) == peak(matrix), "how many elements come before those of the next row?"


@given(data=st.data())
def test_the_peak_is_where_it_was_put(data: st.DataObject) -> None:
    """In any part of a matrix, turned or not, steps and all."""
    rows, columns = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 4))
    matrix = torch.zeros(12, 12)[data.draw(st.integers(0, 3)) :, 1:][:rows, : 2 * columns : 2]
    if data.draw(st.booleans()):
        matrix = torch.zeros(columns, rows).t()
    place = data.draw(st.integers(0, rows - 1)), data.draw(st.integers(0, columns - 1))
    matrix[place] = 1

    assert place == peak(matrix)


@pytest.mark.given
def test_a_tensor_and_its_transpose_share(device: str) -> None:
    """And two tensors made one after the other do not."""
    x = torch.zeros(2, 3, device=device)

    assert same_storage(x, x.t()) is True
    assert same_storage(x, torch.zeros(2, 3, device=device)) is False


def test_parts_of_a_tensor_share(device: str) -> None:
    """Also parts that have no element in common, and parts that start elsewhere."""
    x = torch.arange(6.0, device=device)

    assert same_storage(x, x[2:]) is True, "a view may start further on in the same storage"
    assert same_storage(x[:3], x[3:]) is True
    assert same_storage(x[1:], x.clone()[1:]) is False
    assert same_storage(x, x.detach()[2:]) is True, "a detached tensor has the storage, and no base"


def test_what_is_only_read_stays() -> None:
    """Four of the five write to nothing of the caller's."""
    template, signal = torch.zeros(3), torch.arange(6.0).sqrt()[1:]
    matrix = torch.arange(6.0).sqrt().reshape(2, 3).t()
    with unchanged(template=template, signal=signal, matrix=matrix):
        marked(template, [0, 2])
        windows(signal, 2)
        peak(matrix)
        same_storage(matrix, matrix.t())
