"""Tests of k01_placeholders: sentences with none, some and too many rows of images."""

from __future__ import annotations

import torch

from katas.lecture19.conftest import close
from katas.lecture19.conftest import numbers
from katas.lecture19.k01_placeholders import merge
from plugins.kit import unchanged


IMAGE = 9
TWO = torch.tensor([[IMAGE, 5, 7, 3], [5, IMAGE, IMAGE, IMAGE]])
ONE_EACH = torch.tensor([[IMAGE, 5], [7, IMAGE]])


def refused(ids: torch.Tensor, rows: list[int], expected: str) -> None:
    """Check the error for images with these numbers of rows."""
    __tracebackhide__ = True
    yours = "no error"
    try:
        merge(numbers(*ids.shape, 3), ids, [numbers(n, 3) for n in rows], IMAGE)
    except ValueError as error:
        yours = str(error)
    assert yours == expected, f"images of {rows} rows: yours {yours!r}, expected {expected!r}"


def test_two_rows_in_a_sentence() -> None:
    """Each row takes the next placeholder; width and tokens are both 4."""
    text, rows = numbers(1, 4, 4), numbers(2, 4, seed=1)
    yours = merge(text, torch.tensor([[5, IMAGE, 7, IMAGE]]), [rows], IMAGE)

    close(
        yours, torch.stack([text[0, 0], rows[0], text[0, 2], rows[1]])[None], "text, r0, text, r1"
    )


def test_each_sentence_gets_its_own_rows() -> None:
    """One image in the first sentence, three rows in the second; the inputs stay as they are."""
    text, rows = numbers(2, 4, 3), [numbers(1, 3, seed=1), numbers(3, 3, seed=2)]
    with unchanged(text=text, ids=TWO, rows=rows):
        yours = merge(text, TWO, rows, IMAGE)
    expected = text.clone()
    expected[0, 0], expected[1, 1:] = rows[0][0], rows[1]

    close(yours, expected, "rows of two sentences")


def test_one_row_too_many() -> None:
    """PyTorch drops it silently: an image that nobody sees."""
    refused(TWO, [1, 4], "placeholders by sentence: [1, 3], image rows: [1, 4]")
    refused(ONE_EACH, [1, 1, 1], "placeholders by sentence: [1, 1], image rows: [1, 1, 1]")


def test_one_row_too_few() -> None:
    """The same error as for one too many."""
    refused(TWO, [0, 3], "placeholders by sentence: [1, 3], image rows: [0, 3]")
    refused(ONE_EACH, [1], "placeholders by sentence: [1, 1], image rows: [1]")


def test_the_right_total_in_the_wrong_sentences() -> None:
    """Four placeholders and four rows, but the first sentence would show the second one's image."""
    refused(TWO, [3, 1], "placeholders by sentence: [1, 3], image rows: [3, 1]")


def test_a_sentence_without_images() -> None:
    """A sentence whose images have no rows keeps its text."""
    text = numbers(1, 4, 3)
    yours = merge(text, torch.tensor([[5, 7, 5, 3]]), [numbers(0, 3)], IMAGE)

    close(yours, text, "no placeholder, no row")


def test_the_dtype_is_that_of_the_text() -> None:
    """An encoder in float32 before a decoder in bfloat16."""
    text, rows = numbers(1, 2, 3).bfloat16(), numbers(1, 3, seed=1).float()
    yours = merge(text, torch.tensor([[IMAGE, 5]]), [rows], IMAGE)

    assert yours.dtype == torch.bfloat16, (
        f"yours is {yours.dtype}, expected the text's dtype, bfloat16"
    )
    close(yours[0, 0], rows[0].bfloat16(), "the image's row, rounded", tolerance=0.0)


def test_gradients_reach_both() -> None:
    """The image's rows get a gradient, and the text's rows under placeholders get 0."""
    text, rows = numbers(1, 3, 2).requires_grad_(), numbers(1, 2, seed=1).requires_grad_()
    weight = numbers(1, 3, 2, seed=2)
    yours = merge(text, torch.tensor([[5, IMAGE, 7]]), [rows], IMAGE)
    assert yours.requires_grad, "your result has no graph: text and images were detached"
    (yours * weight).sum().backward()
    assert rows.grad is not None, "rows.grad is None: no gradient reaches the image's row"
    assert text.grad is not None, "text.grad is None: no gradient reaches the text"
    expected = weight.clone()
    expected[0, 1] = 0

    close(rows.grad, weight[0, 1:2], "the gradient of the image's row")
    close(text.grad, expected, "the gradient of the text: 0 where the image is")
