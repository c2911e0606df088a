"""Tests of k15_spectrogram: torch.stft and, if installed, torchaudio are the oracles."""

from __future__ import annotations

import math

import pytest
import torch

from katas.lecture06 import k15_spectrogram as kata
from katas.lecture06.k15_spectrogram import frames
from katas.lecture06.k15_spectrogram import spectrogram
from plugins.kit import forbids
from plugins.kit import unchanged


MODES = ("reflect", "constant", "replicate", "circular", None)


def sound(samples: int = 50, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    """Return two channels of a signal that does not repeat."""
    return torch.arange(2.0 * samples, dtype=torch.float64).sqrt().sin().view(2, -1).to(dtype)


def side_by_side() -> torch.Tensor:
    """Return as many samples as `sound`, with strides (1, 2), the first one inside its storage."""
    return sound(51).t().contiguous().t()[:, 1:]


def fade(length: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    """Return a window that is not symmetric, so that its position and direction show."""
    return (torch.arange(1.0, length + 1, dtype=torch.float64) / length).sqrt().to(dtype)


def theirs(
    signal: torch.Tensor,
    window: torch.Tensor,
    size: int,
    hop: int,
    *,
    pad_mode: str | None = "reflect",
    normalized: bool = False,
) -> torch.Tensor:
    """Return PyTorch's result."""
    return torch.stft(
        signal,
        size,
        hop,
        len(window),
        window,
        center=pad_mode is not None,
        pad_mode=pad_mode or "reflect",
        normalized=normalized,
        return_complex=True,
    )


def compare(yours: torch.Tensor, expected: torch.Tensor, what: str) -> None:
    """Fail with the case in the message's first line."""
    says = f"{what}: yours differs from PyTorch's\n".__add__
    torch.testing.assert_close(yours, expected, rtol=1e-10, atol=1e-12, msg=says)


def test_frames_without_padding() -> None:
    """Six samples make two frames of 4; a seventh is in neither."""
    for samples in (6, 7):
        signal = torch.arange(1.0, samples + 1)[None]
        yours = frames(signal, 4, 2, None).tolist()
        expected = [[[1, 2, 3, 4], [3, 4, 5, 6]]]
        assert expected == yours, f"{samples} samples: your frames are {yours}, expected {expected}"


def test_frames_of_the_picture() -> None:
    """Half a frame of padding on each side puts sample t * hop in the middle of frame t."""
    yours = frames(torch.arange(1.0, 6)[None], 4, 2, "reflect").tolist()
    expected = [[[3, 2, 1, 2], [1, 2, 3, 4], [3, 4, 5, 4]]]
    assert expected == yours, f"your frames are {yours}, expected those of the picture, {expected}"


@pytest.mark.parametrize("pad_mode", MODES)
def test_no_sample_is_copied_twice(pad_mode: str | None) -> None:
    """Frames share the memory of the padded signal, or of the signal itself."""
    signal = sound()
    yours = frames(signal, 8, 1, pad_mode)
    padded = signal.numel() + (2 * 2 * 4 if pad_mode else 0)
    has = yours.untyped_storage().nbytes() // 8
    assert padded == has, (
        f"{pad_mode}: your frames take memory for {has} samples, expected {padded}, for a signal"
        f" of {signal.numel()}; one stride leads from frame to frame, another within a frame: see"
        " Tensor.unfold"
    )
    if pad_mode is None:
        assert yours.data_ptr() == signal.data_ptr(), (
            "yours is a view of a copy, expected a view of the signal"
        )


def test_channels_may_lie_side_by_side() -> None:
    """A sound file interleaves its channels: left, right, left, right."""
    signal = side_by_side()
    begins = frames(signal, 5, 3, None).data_ptr()
    assert begins == signal.data_ptr(), (
        "yours is a view of something else, expected a view of the signal"
    )
    for pad_mode in MODES:
        yours = frames(signal, 5, 3, pad_mode)
        copy = frames(signal.contiguous(), 5, 3, pad_mode)
        says = f"{pad_mode}, strides {signal.stride()}: expected is yours of a contiguous copy\n"
        torch.testing.assert_close(yours, copy, msg=says.__add__)


def test_one_tone() -> None:
    """A tone with three periods in a frame is loudest in row 3 of every frame."""
    tone = torch.cos(torch.arange(64, dtype=torch.float64) * 2 * math.pi * 3 / 16)[None]
    yours = spectrogram(tone, fade(16), 16, 4, pad_mode=None)
    assert yours.shape == (1, 9, 13), f"your shape is {tuple(yours.shape)}, expected (1, 9, 13)"
    rows = yours[0].argmax(dim=0).unique().tolist()
    assert rows == [3], f"three periods in a frame: yours is loudest in rows {rows}, expected row 3"


@pytest.mark.parametrize("pad_mode", MODES)
@pytest.mark.parametrize(("size", "hop"), [(8, 2), (7, 3), (4, 5), (1, 1)])
def test_a_spectrum(size: int, hop: int, pad_mode: str | None) -> None:
    """Sizes may be even or odd, and hops may be longer than a frame."""
    signal = side_by_side()
    yours = spectrogram(signal, fade(size), size, hop, pad_mode=pad_mode, power=None)
    expected = theirs(signal, fade(size), size, hop, pad_mode=pad_mode)
    compare(yours, expected, f"size {size}, hop {hop}, {pad_mode}")


@pytest.mark.parametrize(("length", "size"), [(4, 8), (5, 8), (4, 9), (1, 2)])
def test_a_window_shorter_than_a_frame(length: int, size: int) -> None:
    """A short window is centred; an odd zero goes after it."""
    for pad_mode in ("reflect", None):
        yours = spectrogram(sound(), fade(length), size, 3, pad_mode=pad_mode, power=None)
        expected = theirs(sound(), fade(length), size, 3, pad_mode=pad_mode)
        compare(yours, expected, f"a window of {length} in a frame of {size}, {pad_mode}")


@pytest.mark.parametrize("power", [1.0, 2.0, 0.5, 0.0])
def test_powers(power: float) -> None:
    """Absolute values are raised to the power; 0 gives ones, and is not the same as None."""
    yours = spectrogram(sound(), fade(8), 8, 4, power=power)
    compare(yours, theirs(sound(), fade(8), 8, 4).abs() ** power, f"power {power}")


def test_defaults() -> None:
    """By default the signal is reflected, and the result squared and not normalized."""
    yours = spectrogram(sound(), fade(8), 8, 4)
    compare(yours, theirs(sound(), fade(8), 8, 4).abs() ** 2, "no options")


def test_two_ways_to_normalize() -> None:
    """PyTorch uses the square root of the frame length, torchaudio of the window's energy."""
    signal, window = sound(), fade(5)
    for power in (None, 2.0):
        yours = spectrogram(signal, window, 8, 4, power=power, normalized="frame_length")
        expected = theirs(signal, window, 8, 4, normalized=True)
        compare(yours, expected if power is None else expected.abs() ** power, "frame_length")
        yours = spectrogram(signal, window, 8, 4, power=power, normalized="window")
        expected = theirs(signal, window, 8, 4) / math.sqrt(sum(x * x for x in window.tolist()))
        compare(yours, expected if power is None else expected.abs() ** power, "window")


def test_float32() -> None:
    """A float32 signal and window give complex64, or float32."""
    signal, window = sound(dtype=torch.float32), fade(6, torch.float32)
    for power, dtype in ((None, torch.complex64), (2.0, torch.float32)):
        for normalized in (None, "frame_length", "window"):
            yours = spectrogram(signal, window, 8, 4, power=power, normalized=normalized)
            assert dtype == yours.dtype, f"your dtype is {yours.dtype}, expected {dtype}"


def test_a_broken_sample_stays_where_it_is() -> None:
    """NaN in a sample only reaches the frames with that sample, in the same channel."""
    signal = sound(20)
    signal[0, 9] = math.nan
    yours = spectrogram(signal, fade(6), 6, 2, pad_mode=None).isnan()
    # The frames of 6 that begin at 4, 6 and 8 contain sample 9.
    expected = torch.zeros(2, 4, 8, dtype=torch.bool)
    expected[0, :, 2:5] = True
    says = "where NaN is, by channel, row and frame: yours differs from what was expected\n".__add__
    torch.testing.assert_close(yours, expected, msg=says)


def test_the_signal_and_the_window_are_left_alone() -> None:
    """Scaling in place would change the signal through the view."""
    signal, window = sound(), fade(8)
    for pad_mode in MODES:
        with unchanged(signal=signal, window=window):
            first = spectrogram(signal, window, 8, 4, pad_mode=pad_mode, normalized="window")
        second = spectrogram(signal, window, 8, 4, pad_mode=pad_mode, normalized="window")
        says = f"{pad_mode}: yours differs when it is called a second time\n".__add__
        torch.testing.assert_close(first, second, rtol=0, atol=0, msg=says)
    for other in (fade(8).flip(0), fade(8) * 3):
        yours = spectrogram(signal, other, 8, 4, power=None, normalized="window")
        expected = theirs(signal, other, 8, 4) / math.sqrt(sum(x * x for x in other.tolist()))
        compare(yours, expected, "another window, as long as the one before it")


@pytest.mark.backend("torchaudio")
def test_torchaudio_hears_the_same() -> None:
    """With ``normalized=True`` torchaudio's Spectrogram divides by the window's energy."""
    signal, window = sound(), torch.hann_window(6, dtype=torch.float64)
    yours = [
        spectrogram(signal, window, 8, 3, power=power, normalized=normalized)
        for power in (1.0, 2.0)
        for normalized in (None, "frame_length", "window")
    ]
    from torchaudio.transforms import Spectrogram  # noqa: PLC0415 - may be missing

    options = [(power, by) for power in (1.0, 2.0) for by in (False, "frame_length", True)]
    for mine, (power, by) in zip(yours, options, strict=True):
        machine = Spectrogram(8, 6, 3, power=power, normalized=by).double()
        # The transform makes its window in float32.
        machine.window.copy_(window)
        says = f"power {power}, normalized={by!r}: yours differs from torchaudio's\n".__add__
        torch.testing.assert_close(mine, machine(signal), rtol=1e-10, atol=1e-12, msg=says)


def test_nobody_else_transforms() -> None:
    """Your answer uses frames and torch.fft, and does not call `torch.stft`."""
    with forbids(kata, "torch.stft", "torch.Tensor.stft", operators=["aten::stft"]) as fresh:
        yours = fresh.spectrogram(sound(), fade(8), 8, 4)
    assert yours.shape == (2, 5, 13), f"your shape is {tuple(yours.shape)}, expected (2, 5, 13)"


@pytest.mark.parametrize("power", [2.0, None])
def test_differences_agree(power: float | None) -> None:
    """Both the power and the complex spectrum have gradients with respect to the signal."""
    signal = sound(12).requires_grad_()

    def call(signal: torch.Tensor) -> torch.Tensor:
        return spectrogram(signal, fade(4), 6, 3, power=power)

    assert torch.autograd.gradcheck(call, (signal,)), (
        f"power {power}: finite differences disagree with your gradients: stay inside autograd"
    )
