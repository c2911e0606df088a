"""Tests of k01_spectrum: numbers that can be worked out on paper, and two pictures."""

from __future__ import annotations

import torch
from expecttest import assert_expected_inline

from katas.lecture22 import k01_spectrum as kata
from katas.lecture22.k01_spectrum import cosine
from katas.lecture22.k01_spectrum import hann
from katas.lecture22.k01_spectrum import magnitudes
from katas.lecture22.k01_spectrum import picture
from plugins.kit import forbids
from plugins.kit import unchanged


def close(yours: torch.Tensor, expected: list[float], why: str) -> None:
    """Compare with float64 numbers, to twelve digits."""
    __tracebackhide__ = True
    right = torch.tensor(expected, dtype=torch.float64)
    torch.testing.assert_close(
        yours,
        right,
        rtol=1e-12,
        atol=1e-12,
        msg=lambda text: f"{why}\nyours {yours.tolist()}\nexpected {expected}\n{text}",
    )


def test_one_turn_in_four_samples() -> None:
    """1, 0, -1, 0: the next sample would be 1 again."""
    close(cosine(1, 4), [1, 0, -1, 0], "one turn in 4 samples: sample 4 would be 1 again")
    close(cosine(0.5, 2), [1, 0], "half a turn in 2 samples: a quarter turn is 0")


def test_three_turns_are_bin_three() -> None:
    """Half of the 16 samples' sum is in bin 3; the other half is in bin -3, which rfft omits."""
    close(
        magnitudes(cosine(3, 16)),
        [0, 0, 0, 8, 0, 0, 0, 0, 0],
        "three turns in 16 samples: 8 in bin 3, and nothing elsewhere",
    )


def test_the_window_is_periodic() -> None:
    """The first sample is 0, and so would be the sample after the last one."""
    close(hann(4), [0, 0.5, 1, 0.5], "Hann of 4: a whole turn, so the last sample is not 0")


def test_a_window_spreads_a_pure_tone() -> None:
    """The window consists of three frequencies, 0, 1 and -1; each shifts the tone."""
    close(
        magnitudes(cosine(3, 16), hann(16)),
        [0, 0, 2, 4, 2, 0, 0, 0, 0],
        "three turns under a Hann window: 2, 4, 2",
    )


def test_three_and_a_half_turns_leak() -> None:
    """No bin is 0, even far from the tone."""
    assert_expected_inline(
        picture(magnitudes(cosine(3.5, 16))),
        """\
0 1.00 ####
1 1.13 #####
2 1.71 #######
3 5.03 ####################
4 5.22 #####################
5 1.89 ########
6 1.27 #####
7 1.06 ####
8 1.00 ####""",
    )


def test_a_window_keeps_the_leak_near() -> None:
    """Four bins hold nearly all of the tone."""
    assert_expected_inline(
        picture(magnitudes(cosine(3.5, 16), hann(16))),
        """\
0 0.00
1 0.08
2 0.67 ###
3 3.40 ##############
4 3.39 ##############
5 0.68 ###
6 0.09
7 0.02
8 0.00""",
    )


def test_the_last_dim_is_time() -> None:
    """A batch of sounds keeps its shape and dtype, and is not modified."""
    x = torch.stack([cosine(k, 16) for k in (2, 3, 4, 5)]).view(2, 2, 16).float()
    window = hann(16).float()
    with unchanged(x=x, window=window):
        plain, windowed = magnitudes(x), magnitudes(x, window)

    for yours in (plain, windowed):
        found = (tuple(yours.shape), yours.dtype)
        expected = ((2, 2, 9), torch.float32)
        assert found == expected, f"for float32 [2, 2, 16]: yours is {found}, expected {expected}"
        peaks = yours.argmax(-1).flatten().tolist()
        assert peaks == [2, 3, 4, 5], (
            f"for 2 to 5 turns, your peaks are in bins {peaks}, expected 2 to 5"
        )


def test_the_window_is_your_own() -> None:
    """A one-line formula, without PyTorch's windows."""
    with forbids(kata, "torch.hann_window", "torch.signal", "torch.stft") as fresh:
        yours = fresh.hann(7)

    expected = torch.hann_window(7, dtype=torch.float64).tolist()
    close(yours, expected, "Hann of 7, as torch.hann_window has it")
