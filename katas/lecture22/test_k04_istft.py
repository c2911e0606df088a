"""Tests of k04_istft: sums on paper, the transposed unfold, and torch.istft as the oracle."""

from __future__ import annotations

import pytest
import torch

from katas.lecture22 import k04_istft as kata
from katas.lecture22.k04_istft import istft
from katas.lecture22.k04_istft import overlap_add
from plugins.kit import forbids
from plugins.kit import unchanged
from plugins.kit import watched_operators


def numbers(*size: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    """Return irrational numbers."""
    return torch.randn(*size, dtype=dtype, generator=torch.Generator().manual_seed(sum(size)))


def hann(size: int) -> torch.Tensor:
    """Return a Hann window."""
    return torch.hann_window(size, dtype=torch.float64)


def fade(size: int) -> torch.Tensor:
    """Return a window that is not symmetric and nowhere 0."""
    return torch.linspace(0.3, 1.7, size, dtype=torch.float64).sqrt()


def spectrum(
    signal: torch.Tensor, n_fft: int, hop: int, window: torch.Tensor, *, center: bool = True
) -> torch.Tensor:
    """Return what torch.stft computes from a sound."""
    return torch.stft(signal, n_fft, hop, window=window, center=center, return_complex=True)


def compare(yours: torch.Tensor, expected: torch.Tensor, why: str) -> None:
    """Compare to twelve digits, shape and dtype too."""
    __tracebackhide__ = True
    torch.testing.assert_close(
        yours,
        expected,
        rtol=1e-12,
        atol=1e-12,
        msg=lambda text: (
            f"{why}\nyours has shape {list(yours.shape)}, {yours.dtype}; expected"
            f" {list(expected.shape)}, {expected.dtype}\n{text}"
        ),
    )


def test_two_frames() -> None:
    """The picture of the brief."""
    frames = torch.tensor([[1.0, 2.0, 3.0, 4.0], [10.0, 20.0, 30.0, 40.0]])
    yours = overlap_add(frames, 2).tolist()

    assert yours == [1, 2, 13, 24, 30, 40], f"frames of 4, hop 2: yours {yours}"
    yours = overlap_add(frames, 4).tolist()
    assert yours == [1, 2, 3, 4, 10, 20, 30, 40], f"frames that only touch: yours {yours}"
    yours = overlap_add(frames, 5).tolist()
    assert yours == [1, 2, 3, 4, 0, 10, 20, 30, 40], f"expected 0 between frames: yours {yours}"
    yours = overlap_add(frames[:1], 3).tolist()
    assert yours == [1, 2, 3, 4], (
        f"with a single frame, the result should be that frame: yours {yours}"
    )


def test_unfold_transposed() -> None:
    """The inner products <unfold(x), f> and <x, overlap_add(f)> are equal, for a batch too."""
    for size, hop in ((4, 1), (4, 3), (5, 2)):
        f = numbers(2, 3, 6, size)
        x = numbers(2, 3, size + 5 * hop)
        yours = overlap_add(f, hop)
        left, right = (x.unfold(-1, size, hop) * f).sum((-1, -2)), (x * yours).sum(-1)
        compare(right, left, f"size {size}, hop {hop}: unfold's transpose has equal products")


def test_no_loop() -> None:
    """50 frames take no more operators than 5."""
    counts = []
    for count in (5, 50):
        with watched_operators() as names:
            overlap_add(numbers(2, count, 8), 4)
        counts.append(len(names))

    few, many = counts
    assert few == many, f"your code runs {few} operators for 5 frames, {many} for 50: do not loop"


def test_there_and_back() -> None:
    """A sound's own spectrum gives back the sound, wherever frames reach."""
    signal = numbers(40)
    for hop in (1, 2, 4):
        yours = istft(spectrum(signal, 8, hop, hann(8)), 8, hop, hann(8))
        compare(yours, signal, f"Hann of 8, hop {hop}: the sound that went in")
    quiet = 0.01 * hann(8)
    yours = istft(spectrum(signal, 8, 2, quiet), 8, 2, quiet)
    compare(yours, signal, "a hundredth of Hann: divide by the envelope, however small it is")


def test_a_spectrum_that_no_sound_has() -> None:
    """Here it matters that frames are windowed once more: the nearest frames win."""
    edited = numbers(5, 7, dtype=torch.complex128)
    for window in (hann(8), fade(8)):
        yours = istft(edited, 8, 3, window)
        expected = torch.istft(edited, 8, 3, window=window)
        compare(yours, expected, "random numbers in place of a spectrum: torch.istft's sound")


def test_frames_come_as_near_as_they_can() -> None:
    """No other sound has frames nearer to those of the spectrum: the gradient there is 0."""
    edited = numbers(5, 7, dtype=torch.complex128)
    target = torch.fft.irfft(edited.mT, 8)
    sound = istft(edited, 8, 3, fade(8), center=False).detach().requires_grad_()
    rest = (sound.unfold(-1, 8, 3) * fade(8) - target).square().sum()
    (grad,) = torch.autograd.grad(rest, sound)

    zero = torch.zeros_like(grad)
    compare(grad, zero, "the gradient of the squared distance of frames, at your sound")


def test_a_batch() -> None:
    """All sounds share one envelope; a batch of one stays a batch."""
    for count in (3, 1):
        edited = numbers(count, 5, 7, dtype=torch.complex128)
        yours = istft(edited, 8, 3, hann(8))
        expected = torch.istft(edited, 8, 3, window=hann(8))
        compare(yours, expected, f"a batch of {count}: spectra [{count}, 5, 7]")


def test_an_odd_size() -> None:
    """The number of bins is the same for sizes 6 and 7."""
    edited = numbers(4, 9, dtype=torch.complex128)
    for center in (True, False):
        yours = istft(edited, 7, 2, fade(7), center=center)
        expected = torch.istft(edited, 7, 2, window=fade(7), center=center)
        compare(yours, expected, f"n_fft 7, center={center}: irfft has to be told")


def test_without_center() -> None:
    """All samples that frames reach are returned."""
    signal = numbers(41)
    seen = spectrum(signal, 8, 3, fade(8), center=False)
    yours = istft(seen, 8, 3, fade(8), center=False)

    compare(yours, signal, "center=False, with a window that is nowhere 0")


def test_gaps_are_refused() -> None:
    """Where every window is 0, there is nothing to divide by."""
    signal = numbers(40)
    with pytest.raises(ValueError, match="window overlap add min"):
        istft(spectrum(signal, 8, 8, hann(8)), 8, 8, hann(8))
    with pytest.raises(ValueError, match="window overlap add min"):
        istft(spectrum(signal, 8, 4, hann(8), center=False), 8, 4, hann(8), center=False)


def test_only_what_is_returned_may_have_no_gap() -> None:
    """Hann begins at 0, but with center the first sample is not returned."""
    signal = numbers(40)
    yours = istft(spectrum(signal, 8, 4, hann(8)), 8, 4, hann(8))

    assert yours.isfinite().all(), (
        f"yours is {yours.tolist()}: remove the padded samples, then divide"
    )
    compare(yours, signal, "with center; the envelope is 0 only where padding was")


def test_single_precision() -> None:
    """A complex64 spectrum gives a float32 sound."""
    edited = numbers(5, 7, dtype=torch.complex64)
    yours = istft(edited, 8, 3, hann(8).float()).dtype

    assert yours == torch.float32, (
        f"for a complex64 spectrum, your sound is {yours}, torch.istft's is float32"
    )


def test_gradients() -> None:
    """The gradient of a loss on the sound reaches the spectrum."""
    edited = numbers(4, 4, dtype=torch.complex128).requires_grad_()
    passed = torch.autograd.gradcheck(lambda s: istft(s, 6, 2, hann(6)), edited)

    assert passed, "gradcheck: your gradient differs from finite differences"


def test_inputs_stay() -> None:
    """Spectrum, frames and window are not modified."""
    edited, frames = numbers(5, 7, dtype=torch.complex128), numbers(3, 8)
    window = hann(8)
    with unchanged(edited=edited, frames=frames, window=window):
        first, second = istft(edited, 8, 3, window), istft(edited, 8, 3, window)
        overlap_add(frames, 4)

    compare(second, first, "called a second time, yours has another result")


def test_nobody_else_goes_back() -> None:
    """`istft` works without torch.istft."""
    with forbids(kata, "torch.istft", "torch.Tensor.istft") as fresh:
        yours = fresh.istft(numbers(5, 7, dtype=torch.complex128), 8, 3, hann(8))

    assert yours.shape == (18,), f"your shape is {tuple(yours.shape)}, torch.istft's is (18,)"
