"""Tests of k17_layout_bugs: each bug has its test; tests of working code are marked as given."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from katas.lecture02.k17_layout_bugs import add_channels
from katas.lecture02.k17_layout_bugs import blank_
from katas.lecture02.k17_layout_bugs import crop
from katas.lecture02.k17_layout_bugs import scale_channels
from katas.lecture02.k17_layout_bugs import scores_of
from katas.lecture02.k17_layout_bugs import squared_error
from plugins.kit import unchanged


FORMATS = {"row-major": torch.contiguous_format, "channels-last": torch.channels_last}


def images(
    device: str, kind: str = "row-major", sizes: tuple[int, ...] = (2, 4, 3, 4)
) -> torch.Tensor:
    """Return numbered images; by default with as many channels as columns."""
    count = torch.Size(sizes).numel()
    x = torch.arange(1.0, 1.0 + count, device=device).reshape(sizes)
    return x.contiguous(memory_format=FORMATS[kind])


def same(yours: torch.Tensor, expected: torch.Tensor, case: str) -> None:
    """Compare every element, bit for bit."""
    torch.testing.assert_close(
        yours,
        expected,
        rtol=0,
        atol=0,
        msg=lambda text: f"{case}: yours (actual) differs from what is expected.\n{text}",
    )


def shaped(yours: torch.Tensor, expected: tuple[int, ...], case: str) -> None:
    """Compare the shape."""
    assert expected == tuple(yours.shape), (
        f"{case}: yours {tuple(yours.shape)}, expected {expected}"
    )


@pytest.mark.given
def test_equal_gains_scale_everything(device: str) -> None:
    """With equal gains it does not matter which dim they scale."""
    x = images(device)

    same(scale_channels(x, torch.full((4,), 2.0, device=device)), 2 * x, "scale_channels by 2")


def test_each_channel_has_its_gain(device: str) -> None:
    """With as many columns as channels, scaling the wrong dim raises no error."""
    x = images(device)
    gains = torch.tensor([1.0, 2.0, 3.0, 4.0], device=device)
    scaled = scale_channels(x, gains)

    shaped(scaled, tuple(x.shape), "scale_channels")
    for channel, gain in enumerate(gains):
        same(scaled[:, channel], x[:, channel] * gain, f"scale_channels, channel {channel}")


@pytest.mark.given
def test_one_prediction_has_one_error(device: str) -> None:
    """The shapes are (1, 1) and (1,)."""
    prediction, target = torch.tensor([[3.0]], device=device), torch.tensor([1.0], device=device)

    yours = squared_error(prediction, target).item()
    assert yours == 4.0, f"(3 - 1) squared: yours {yours}, expected 4.0"


def test_good_predictions_have_no_error(device: str) -> None:
    """Each prediction is compared only with its own target."""
    targets = torch.tensor([1.0, 2.0, 4.0], device=device)
    error = squared_error(targets[:, None], targets)

    assert 0.0 == error.item(), (
        f"predictions equal to the targets: yours {error.item()}, expected 0.0. What shape do"
        f" the differences have?"
    )


@given(values=st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=1, max_size=6))
def test_the_error_is_the_mean_of_squares(values: list[tuple[int, int]]) -> None:
    """A scalar, computed by the definition."""
    predictions, targets = torch.tensor(values, dtype=torch.float64).unbind(1)
    by_hand = sum((a - b) ** 2 for a, b in values) / len(values)

    error = squared_error(predictions[:, None], targets)
    shaped(error, (), "squared_error")
    yours = error.item()
    assert yours == pytest.approx(by_hand), (
        f"your error is {yours}, expected {by_hand}, summed by hand"
    )


@pytest.mark.given
def test_one_pixel_of_each_image(device: str) -> None:
    """One row and one column."""
    x, one = images(device), torch.tensor([1], device=device)

    same(crop(x, one, one).reshape(2, 4, 1), x[:, :, 1:2, 1], "crop of one pixel")


def test_a_crop_has_every_pair(device: str) -> None:
    """Two rows and two columns make four pixels, in the requested order."""
    x, rows = images(device), torch.tensor([2, 0], device=device)
    columns = torch.tensor([3, 1], device=device)
    cropped = crop(x, rows, columns)

    shaped(cropped, (2, 4, 2, 2), "crop of 2 rows and 2 columns; row i with column i are only two")
    same(cropped, x.index_select(2, rows).index_select(3, columns), "crop of 2 rows and 2 columns")


def test_a_crop_need_not_be_square(device: str) -> None:
    """One row of three columns."""
    x, columns = images(device), torch.tensor([3, 1, 0], device=device)
    cropped = crop(x, columns[:1] - 1, columns)

    shaped(cropped, (2, 4, 1, 3), "crop of 1 row and 3 columns")
    same(cropped, x[:, :, 2:3, [3, 1, 0]], "crop of 1 row and 3 columns")
    shaped(crop(x, columns[1:2].expand(3), columns[:1]), (2, 4, 3, 1), "crop of 3 rows, 1 column")


@pytest.mark.given
def test_the_score_of_one_row(device: str) -> None:
    """Here the flat index and the index within the row are the same."""
    scores = torch.tensor([[5.0, 6.0, 7.0]], device=device)

    yours = scores_of(scores, torch.tensor([2], device=device)).tolist()
    assert [7.0] == yours, f"scores_of: yours {yours}, expected [7.0]"


def test_each_row_has_its_score(device: str) -> None:
    """The label is an index within its row."""
    scores = torch.arange(6.0, device=device).reshape(2, 3)

    yours = scores_of(scores, torch.tensor([2, 0], device=device)).tolist()
    assert [2.0, 3.0] == yours, (
        f"labels 2, 0 of [[0, 1, 2], [3, 4, 5]]: yours {yours}, expected [2, 3]"
    )
    # A class that is ruled out has the score -inf, which must not affect the others.
    scores = torch.tensor([[-torch.inf, 1.0, 2.0], [3.0, torch.nan, -torch.inf]])
    yours = scores_of(scores, torch.tensor([2, 0])).tolist()

    assert yours == [2.0, 3.0], f"your scores next to -inf and NaN are {yours}, expected [2.0, 3.0]"


@pytest.mark.given
def test_an_empty_mask_blanks_nothing(device: str) -> None:
    """The images themselves come back, not a copy."""
    x = images(device)
    before = x.clone()

    result = blank_(x, torch.zeros(2, 3, 4, dtype=torch.bool, device=device))
    assert result is x, "blank_ returned another tensor, expected the images themselves"
    same(x, before, "blank_ with an empty mask")


@pytest.mark.parametrize("kind", FORMATS)
def test_masked_pixels_are_blank(device: str, kind: str) -> None:
    """The write reaches the images, in all channels of the pixel and nowhere else."""
    x = images(device, kind)
    expected = x.clone()
    expected[0, :, 1, 2] = expected[1, :, 0, 3] = 0
    mask = torch.zeros(2, 3, 4, dtype=torch.bool, device=device)
    mask[0, 1, 2] = mask[1, 0, 3] = True
    view = x.permute(0, 2, 3, 1)
    with unchanged(mask=mask):
        result = blank_(x, mask)

    same(x, expected, "blank_ of two pixels; what was it that was set to 0?")
    same(view, expected.permute(0, 2, 3, 1), "blank_, in a view that was there before")
    assert result is x, "blank_ returned another tensor, expected the images themselves"
    # Masked pixels are set to 0, whatever they were.
    x = torch.tensor([torch.inf, torch.nan, 5.0, -torch.inf]).reshape(1, 2, 1, 2)
    blank_(x, torch.tensor([[[True, False]]]))
    pixel = x[0, :, 0, 0].tolist()

    assert pixel == [0, 0], f"your masked pixel is {pixel}, expected 0 in both channels"


@pytest.mark.given
def test_more_channels_are_zeros(device: str) -> None:
    """The new channels come after the others."""
    x = images(device)
    more = add_channels(x, 2)

    shaped(more, (2, 6, 3, 4), "add_channels of 2 to 4")
    same(more[:, :4], x, "add_channels, the old ones")
    same(more[:, 4:], torch.zeros_like(more[:, 4:]), "add_channels, the new ones")
    assert more.is_contiguous(), (
        f"your images have strides {more.stride()}, but row-major ones must stay row-major"
    )


@pytest.mark.parametrize("count", [1, 3, 9])
def test_channels_last_stays(device: str, count: int) -> None:
    """Otherwise the next convolution converts them back."""
    whole = images(device, "channels-last", (2, 6, 3, 4)).to(torch.float16)
    for x, why in [
        (whole, "Zeros of one channel are in both formats, and cat goes by their strides (k15)"),
        (whole[:, 1:4], "A slice has gaps and is contiguous in no format: what is meant? (k15)"),
    ]:
        old = x.size(1)
        more = add_channels(x, count)
        shaped(more, (2, old + count, 3, 4), f"add_channels of {count} to {old}")
        same(more[:, :old], x, "add_channels, the old ones")
        same(more[:, old:], torch.zeros_like(more[:, old:]), "add_channels, the new ones")
        assert more.is_contiguous(memory_format=torch.channels_last), (
            f"images of strides {x.stride()}, {count} new channels: your result has strides "
            f"{more.stride()}, not channels-last. {why}"
        )


@pytest.mark.given
@pytest.mark.parametrize("kind", FORMATS)
def test_new_channels_are_zeros_beside_infinity(kind: str) -> None:
    """The new channels copy the format of the images, not their values."""
    x = images("cpu", kind)
    x[0, 0] = torch.inf
    x[0, 1] = torch.nan
    new = add_channels(x, 1)[:, 4:]

    assert new.count_nonzero() == 0, (
        f"your new channels are {new.tolist()}, expected zeros: 0 times inf is NaN"
    )


@pytest.mark.parametrize("kind", FORMATS)
def test_doubles_stay_doubles_and_inputs_stay(kind: str) -> None:
    """Irrational float64 values keep their precision; only `blank_` writes to its input."""
    x = images("cpu", kind).double().sqrt()
    gains, rows, labels = x[0, :, 0, 0].clone(), torch.tensor([2, 0]), torch.tensor([1, 3])
    scores, targets = x[0, 0, :2], x[0, 0, 0]
    inputs = {"x": x, "gains": gains, "rows": rows, "labels": labels}
    with unchanged(**inputs):
        scaled, more = scale_channels(x, gains), add_channels(x, 1)
        error = squared_error(gains[:, None], targets)
        cropped, picked = crop(x, rows, labels), scores_of(scores, labels)
    for case, yours, expected in [
        ("scale_channels", scaled, torch.einsum("nchw,c->nchw", x, gains)),
        ("add_channels", more[:, :-1], x),
        ("squared_error", error, (gains - targets).square().mean()),
        ("crop", cropped, x[:, :, rows][..., labels]),
        ("scores_of", picked, torch.stack([scores[0, 1], scores[1, 3]])),
    ]:
        torch.testing.assert_close(
            yours,
            expected,
            rtol=1e-14,
            atol=0,
            check_stride=False,
            msg=lambda text, case=case: f"{case} in float64: yours is actual\n{text}",
        )
