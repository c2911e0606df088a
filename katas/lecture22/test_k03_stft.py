"""Tests of k03_stft: frames on paper, and torch.stft as the oracle."""

from __future__ import annotations

import pytest
import torch

from katas.lecture22 import k03_stft as kata
from katas.lecture22.k03_stft import frames
from katas.lecture22.k03_stft import stft
from plugins.kit import forbids
from plugins.kit import unchanged
from plugins.kit import watched_operators


def sound(*size: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    """Return irrational numbers."""
    return torch.randn(*size, dtype=dtype, generator=torch.Generator().manual_seed(sum(size)))


def fade(size: int) -> torch.Tensor:
    """Return a window that is not symmetric, so that its ends cannot be confused."""
    return torch.linspace(0.3, 1.7, size, dtype=torch.float64).sqrt()


def theirs(
    signal: torch.Tensor, n_fft: int, hop: int, window: torch.Tensor, *, center: bool = True
) -> torch.Tensor:
    """Return what torch.stft computes."""
    return torch.stft(
        signal,
        n_fft,
        hop,
        len(window),
        window,
        center=center,
        onesided=not signal.is_complex(),
        return_complex=True,
    )


def compare(yours: torch.Tensor, expected: torch.Tensor, why: str) -> None:
    """Compare to twelve digits, shape and dtype too."""
    __tracebackhide__ = True
    torch.testing.assert_close(
        yours,
        expected,
        rtol=1e-12,
        atol=1e-12,
        msg=lambda text: (
            f"{why}\nyours has shape {list(yours.shape)}, {yours.dtype}; torch.stft's"
            f" {list(expected.shape)}, {expected.dtype}\n{text}"
        ),
    )


def test_three_frames_of_nine_samples() -> None:
    """The picture of the brief: the last sample fills no frame."""
    yours = frames(torch.arange(9), 4, 2).tolist()

    expected = [[0, 1, 2, 3], [2, 3, 4, 5], [4, 5, 6, 7]]
    assert yours == expected, f"frames of size 4 with hop 2, from samples 0 to 8: yours {yours}"
    yours = frames(torch.arange(9), 4, 5).tolist()
    assert yours == [[0, 1, 2, 3], [5, 6, 7, 8]], f"frames of size 4 with hop 5: yours {yours}"


def test_frames_are_a_view() -> None:
    """Frames are a view even of one column of two that does not begin at offset 0."""
    stereo = sound(20, 2)
    signal = stereo[3:, 1]
    yours = frames(signal, 4, 3)
    expected = torch.stack([signal[k : k + 4] for k in range(0, 14, 3)])

    compare(yours, expected, "the right channel of interleaved stereo, from sample 3")
    same = yours.untyped_storage().data_ptr() == stereo.untyped_storage().data_ptr()
    assert same, "your frames are a copy; a view shares the memory of the signal"


def test_frames_of_a_batch() -> None:
    """Dims before the last are kept."""
    signal = sound(2, 3, 11)
    yours = frames(signal, 5, 2)
    expected = torch.stack([signal[..., k : k + 5] for k in (0, 2, 4, 6)], -2)

    compare(yours, expected, "a batch [2, 3, 11] has frames [2, 3, 4, 5]")


def test_a_column_is_the_transform_of_a_frame() -> None:
    """Four ones under four ones, on paper: the sum in bin 0, and 0 elsewhere."""
    one = torch.ones(6, dtype=torch.float64)
    with unchanged(signal=one):
        yours = stft(one, 4, 2, torch.ones_like(one[:4]), center=False)

    expected = torch.tensor([[4, 4], [0, 0], [0, 0]], dtype=torch.complex128)
    compare(yours, expected, "six ones, size 4, hop 2: two columns of bins 0, 1, 2")


def test_without_center() -> None:
    """Frame 0 begins at sample 0."""
    signal, window = sound(2, 23), fade(8)
    with unchanged(signal=signal, window=window):
        yours = stft(signal, 8, 3, window, center=False)

    compare(yours, theirs(signal, 8, 3, window, center=False), "center=False, size 8, hop 3")


def test_with_center() -> None:
    """The default: sample 0 is the middle of frame 0, and the sound is mirrored before it."""
    signal = sound(2, 23)
    for size in (8, 7):
        yours = stft(signal, size, 3, fade(size))
        why = f"with center, size {size}: {size // 2} mirrored samples on each side"
        compare(yours, theirs(signal, size, 3, fade(size)), why)


@pytest.mark.parametrize("size", [8, 6, 5, 1])
def test_a_shorter_window(size: int) -> None:
    """The window is in the middle of the frame, which has n_fft samples as before."""
    signal, window = sound(2, 23), fade(size)
    yours = stft(signal, 8, 3, window)

    zeros = 8 - size
    why = f"a window of {size} in frames of 8: {zeros // 2} zeros before it, the others after it"
    compare(yours, theirs(signal, 8, 3, window), why)


def test_one_sound() -> None:
    """Without a batch the result has two dims; a batch of one stays a batch."""
    window = fade(8)
    for signal in (sound(23), sound(1, 23)):
        for center in (True, False):
            yours = stft(signal, 8, 3, window, center=center)
            why = f"a signal {list(signal.shape)}, center={center}: a batch of one is a batch"
            compare(yours, theirs(signal, 8, 3, window, center=center), why)


def test_a_complex_signal_has_all_bins() -> None:
    """The bins of negative frequencies are not mirror images."""
    signal, window = sound(2, 23, dtype=torch.complex128), fade(8)
    for center in (True, False):
        yours = stft(signal, 8, 3, window, center=center)
        why = f"a complex signal, center={center}: 8 bins of 8 samples"
        compare(yours, theirs(signal, 8, 3, window, center=center), why)


def test_single_precision() -> None:
    """A float32 sound and window give a complex64 spectrum."""
    signal, window = sound(23, dtype=torch.float32), fade(6).float()
    yours = stft(signal, 8, 3, window).dtype

    assert yours == torch.complex64, (
        f"for float32 input, your spectrum is {yours}, torch.stft's is complex64"
    )


def test_bins_come_first_without_a_copy() -> None:
    """The transform writes frame after frame; the result is only a transposed view."""
    yours = stft(sound(2, 23), 8, 3, fade(8))

    found = (tuple(yours.shape), yours.stride())
    expected = ((2, 5, 8), (40, 1, 5))
    why = {
        (40, 8, 1): "; they are those of a copy",
        (64, 1, 8): "; 3 of 8 bins were cut off, twice the work: use rfft for a real signal",
    }.get(yours.stride(), "")
    assert found == expected, f"shape and strides: yours {found}, expected {expected}{why}"


def test_gradients_flow_back_to_the_sound() -> None:
    """A sample in three frames gets the gradients of all three."""
    signal = sound(13).requires_grad_()
    passed = torch.autograd.gradcheck(lambda x: stft(x, 6, 2, fade(6)), signal)

    assert passed, "gradcheck: your gradient differs from finite differences"


def test_inputs_stay() -> None:
    """Neither the sound nor the window is modified."""
    signal, window = sound(2, 23), fade(6)
    with unchanged(signal=signal, window=window):
        first = stft(signal, 8, 3, window)
        second = stft(signal, 8, 3, window)

    compare(first, second, "called a second time, yours has another result")


def test_one_transform() -> None:
    """All frames of a batch are transformed at once."""
    signal, window = sound(3, 40), fade(8)
    with watched_operators() as names:
        stft(signal, 8, 2, window)

    count = names.count("aten::_fft_r2c")
    assert count == 1, f"your code runs {count} transforms for 3 sounds of 21 frames, expected 1"


def test_nobody_else_transforms() -> None:
    """`stft` works without torch.stft."""
    with forbids(kata, "torch.stft", "torch.Tensor.stft") as fresh:
        yours = fresh.stft(sound(23), 8, 3, fade(8))

    assert yours.shape == (5, 8), f"your shape is {tuple(yours.shape)}, torch.stft's is (5, 8)"
