"""Tests of k17_layout_bugs: each bug has its test; what works already is marked as given."""

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


@pytest.mark.given
def test_equal_gains_scale_everything(device: str) -> None:
    """Then it does not matter which dim they belong to."""
    x = images(device)

    assert torch.equal(2 * x, scale_channels(x, torch.full((4,), 2.0, device=device)))


def test_each_channel_has_its_gain(device: str) -> None:
    """With as many columns as channels, nobody complains if the wrong dim is scaled."""
    x = images(device)
    gains = torch.tensor([1.0, 2.0, 3.0, 4.0], device=device)
    scaled = scale_channels(x, gains)

    assert x.shape == scaled.shape
    for channel, gain in enumerate(gains):
        assert torch.equal(x[:, channel] * gain, scaled[:, channel]), f"channel {channel}"


@pytest.mark.given
def test_one_prediction_has_one_error(device: str) -> None:
    """(1, 1) against (1,)."""
    prediction, target = torch.tensor([[3.0]], device=device), torch.tensor([1.0], device=device)

    assert 4.0 == squared_error(prediction, target).item()


def test_good_predictions_have_no_error(device: str) -> None:
    """Each prediction is compared with its own target, and with no other."""
    targets = torch.tensor([1.0, 2.0, 4.0], device=device)
    error = squared_error(targets[:, None], targets)

    assert 0.0 == error.item(), "what is the shape of the differences?"


@given(values=st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=1, max_size=6))
def test_the_error_is_the_mean_of_squares(values: list[tuple[int, int]]) -> None:
    """A scalar, by the definition."""
    predictions, targets = torch.tensor(values, dtype=torch.float64).unbind(1)
    by_hand = sum((a - b) ** 2 for a, b in values) / len(values)

    assert () == squared_error(predictions[:, None], targets).shape
    yours = squared_error(predictions[:, None], targets).item()
    assert yours == pytest.approx(by_hand), f"summed by hand it is {by_hand}, yours is {yours}"


@pytest.mark.given
def test_one_pixel_of_each_image(device: str) -> None:
    """One row and one column."""
    x, one = images(device), torch.tensor([1], device=device)

    assert torch.equal(x[:, :, 1:2, 1], crop(x, one, one).reshape(2, 4, 1))


def test_a_crop_has_every_pair(device: str) -> None:
    """Two rows and two columns make four pixels, in the order that was asked for."""
    x, rows = images(device), torch.tensor([2, 0], device=device)
    columns = torch.tensor([3, 1], device=device)
    cropped = crop(x, rows, columns)

    assert (2, 4, 2, 2) == tuple(cropped.shape), "pairs at the same place are only two"
    assert x[0, 1, 2, 1] == cropped[0, 1, 0, 1]
    assert torch.equal(x.index_select(2, rows).index_select(3, columns), cropped)


def test_a_crop_need_not_be_square(device: str) -> None:
    """One row of three columns."""
    x, columns = images(device), torch.tensor([3, 1, 0], device=device)
    cropped = crop(x, columns[:1] - 1, columns)

    assert (2, 4, 1, 3) == tuple(cropped.shape)
    assert torch.equal(x[:, :, 2:3, [3, 1, 0]], cropped)
    assert (2, 4, 3, 1) == tuple(crop(x, columns[1:2].expand(3), columns[:1]).shape)


@pytest.mark.given
def test_the_score_of_one_row(device: str) -> None:
    """Here flat counting and counting within the row are the same."""
    scores = torch.tensor([[5.0, 6.0, 7.0]], device=device)

    assert [7.0] == scores_of(scores, torch.tensor([2], device=device)).tolist()


def test_each_row_has_its_score(device: str) -> None:
    """The label counts within its row."""
    scores = torch.arange(6.0, device=device).reshape(2, 3)

    assert [2.0, 3.0] == scores_of(scores, torch.tensor([2, 0], device=device)).tolist()


def test_scores_may_be_infinite() -> None:
    """A class that is ruled out has the score -inf; that is no matter of the others."""
    scores = torch.tensor([[-torch.inf, 1.0, 2.0], [3.0, torch.nan, -torch.inf]])
    yours = scores_of(scores, torch.tensor([2, 0])).tolist()

    assert yours == [2.0, 3.0], f"expected the scores [2.0, 3.0], yours are {yours}"


@pytest.mark.given
def test_an_empty_mask_blanks_nothing(device: str) -> None:
    """And the images come back, not a copy."""
    x = images(device)
    before = x.clone()

    assert blank_(x, torch.zeros(2, 3, 4, dtype=torch.bool, device=device)) is x
    assert torch.equal(before, x)


@pytest.mark.parametrize("kind", FORMATS)
def test_masked_pixels_are_blank(device: str, kind: str) -> None:
    """The write reaches the images, in all channels of the pixel and nowhere else."""
    x = images(device, kind)
    expected = x.clone()
    expected[0, :, 1, 2] = expected[1, :, 0, 3] = 0
    mask = torch.zeros(2, 3, 4, dtype=torch.bool, device=device)
    mask[0, 1, 2] = mask[1, 0, 3] = True
    result = blank_(x, mask)

    assert torch.equal(expected, x), "what was it that was set to 0?"
    assert result is x


def test_infinity_and_nan_are_blanked() -> None:
    """Masked pixels are set to 0, whatever they were."""
    x = torch.tensor([torch.inf, torch.nan, 5.0, -torch.inf]).reshape(1, 2, 1, 2)
    blank_(x, torch.tensor([[[True, False]]]))
    pixel = x[0, :, 0, 0].tolist()

    assert pixel == [0, 0], f"the masked pixel is 0 in both channels, yours is {pixel}"


@pytest.mark.given
def test_more_channels_are_zeros(device: str) -> None:
    """Behind the others."""
    x = images(device)
    more = add_channels(x, 2)

    assert (2, 6, 3, 4) == tuple(more.shape)
    assert torch.equal(x, more[:, :4])
    assert 0 == more[:, 4:].count_nonzero()
    assert x.dtype == more.dtype
    assert more.is_contiguous(), "row-major images stay row-major"


@pytest.mark.parametrize("count", [1, 3])
def test_channels_last_stays(device: str, count: int) -> None:
    """Otherwise the next convolution copies them back."""
    x = images(device, "channels-last").to(torch.float64)
    more = add_channels(x, count)

    assert (2, 4 + count, 3, 4) == tuple(more.shape)
    assert torch.equal(x, more[:, :4])
    assert 0 == more[:, 4:].count_nonzero()
    assert torch.float64 == more.dtype
    assert more.is_contiguous(memory_format=torch.channels_last), (
        f"of shape {tuple(more.shape)}, with {count} new, the strides are {more.stride()}"
    )


@pytest.mark.given
@pytest.mark.parametrize("kind", FORMATS)
def test_new_channels_are_zeros_beside_infinity(kind: str) -> None:
    """They take their format from the images, not their values."""
    x = images("cpu", kind)
    x[0, 0] = torch.inf
    x[0, 1] = torch.nan
    new = add_channels(x, 1)[:, 4:]

    assert new.count_nonzero() == 0, f"0 times inf is NaN; your new channels: {new.tolist()}"


@pytest.mark.parametrize("kind", FORMATS)
def test_doubles_stay_doubles_and_inputs_stay(kind: str) -> None:
    """Irrational float64 values, to the last bits; `blank_` alone writes to what it is given."""
    x = images("cpu", kind).double().sqrt()
    gains, rows, labels = x[0, :, 0, 0].clone(), torch.tensor([2, 0]), torch.tensor([1, 3])
    scores, targets = x[0, 0, :2], x[0, 0, 0]
    inputs = {"x": x, "gains": gains, "rows": rows, "labels": labels}
    with unchanged(**inputs):
        scaled, more = scale_channels(x, gains), add_channels(x, 1)
        error = squared_error(gains[:, None], targets)
        cropped, picked = crop(x, rows, labels), scores_of(scores, labels)
    exact = {"rtol": 1e-14, "atol": 0}

    torch.testing.assert_close(scaled, torch.einsum("nchw,c->nchw", x, gains), **exact)
    torch.testing.assert_close(more[:, :-1].contiguous(), x.contiguous(), **exact)
    torch.testing.assert_close(error, (gains - targets).square().mean(), **exact)
    torch.testing.assert_close(cropped.contiguous(), x[:, :, rows][..., labels].contiguous())
    torch.testing.assert_close(picked, torch.stack([scores[0, 1], scores[1, 3]]), **exact)
