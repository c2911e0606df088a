"""Tests of k07_mel: triangles in plain Python, gradients in silence, and torchaudio's filters."""

from __future__ import annotations

import math

import pytest
import torch

from katas.lecture22.k07_mel import filters
from katas.lecture22.k07_mel import log_mel
from plugins.kit import install_group
from plugins.kit import unchanged
from plugins.kit import watched_operators


def numbers(*size: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    """Return irrational numbers above 0."""
    dice = torch.Generator().manual_seed(sum(size))
    return torch.rand(*size, dtype=dtype, generator=dice) + 0.1


def hertz(mel: float) -> float:
    """Return the frequency of a mel."""
    return 700 * (10 ** (mel / 2595) - 1)


def triangles(bins: int, mels: int, rate: int) -> list[list[float]]:
    """Return the matrix, number by number."""
    top = 2595 * math.log10(1 + rate / 2 / 700)
    points = [hertz(k * top / (mels + 1)) for k in range(mels + 2)]
    matrix = []
    for k in range(bins):
        f = k * rate / 2 / (bins - 1)
        ends = zip(points, points[1:], points[2:], strict=False)
        matrix.append([max(0.0, min((f - a) / (b - a), (c - f) / (c - b))) for a, b, c in ends])
    return matrix


def compare(yours: torch.Tensor, right: torch.Tensor, why: str, tolerance: float = 1e-12) -> None:
    """Compare numbers, shape and dtype."""
    __tracebackhide__ = True
    torch.testing.assert_close(
        yours,
        right,
        rtol=tolerance,
        atol=tolerance,
        msg=lambda text: (
            f"{why}\nyours has shape {list(yours.shape)}, {yours.dtype}; expected"
            f" {list(right.shape)}, {right.dtype}\n{text}"
        ),
    )


def test_one_filter() -> None:
    """From 0 Hz to 1400, the middle is at half of the mels, 700 (sqrt(3) - 1) Hz."""
    yours = filters(5, 1, 2800)

    peak = 700 * (math.sqrt(3) - 1)
    up, down = 350 / peak, [(1400 - f) / (1400 - peak) for f in (700, 1050)]
    expected = torch.tensor([[0.0, up, *down, 0.0]], dtype=torch.float64).mT
    compare(yours, expected, f"one filter with its peak at {peak:.0f} Hz; bins at 0, 350, ... 1400")


@pytest.mark.parametrize(
    ("bins", "mels", "rate"), [(201, 40, 16000), (33, 7, 11025), (9, 3, 44100)]
)
def test_triangles(bins: int, mels: int, rate: int) -> None:
    """Every number of the matrix, compared with plain Python."""
    yours = filters(bins, mels, rate)
    expected = torch.tensor(triangles(bins, mels, rate), dtype=torch.float64)

    compare(yours, expected, f"{mels} filters on {bins} bins up to {rate / 2} Hz", 1e-11)


def test_neighbours_share() -> None:
    """Between the first peak and the last, the filters sum to 1 at each bin."""
    yours = filters(201, 40, 16000)
    peaks = yours.argmax(0)
    sums = yours.sum(1)[peaks[0] + 1 : peaks[-1]]

    compare(sums, torch.ones_like(sums), "where one filter comes down the next goes up: sums of 1")
    assert yours.min() == 0, f"the smallest value is {yours.min()}, expected 0: clamp at 0"
    zeros = (yours == 0).double().mean().item()
    assert zeros > 0.9, f"{zeros:.0%} of your 201 x 40 matrix are 0, expected 95 %"


def test_filters_between_bins_are_empty() -> None:
    """128 mels are too many for 201 bins: a triangle may fall between two bins."""
    yours = filters(201, 128, 16000)
    empty = (yours.sum(0) == 0).nonzero().flatten().tolist()

    right = torch.tensor(triangles(201, 128, 16000)).sum(0)
    expected = (right == 0).nonzero().flatten().tolist()
    assert empty == expected, f"empty filters: yours {empty}, expected {expected}"


def test_no_loop() -> None:
    """40 filters take no more operators than 4."""
    counts = []
    for bins, mels in ((201, 40), (21, 4)):
        with watched_operators() as names:
            filters(bins, mels, 16000)
        counts.append(len(names))

    many, few = counts
    assert few == many, f"your code runs {few} operators for 4 filters, {many} for 40: do not loop"
    assert few > 5, (
        f"your code runs {few} operators, expected more than 5: do not loop in Python either"
    )


def test_logs_of_products() -> None:
    """The first bin is in one filter, the second in both."""
    matrix = torch.tensor([[1.0, 0.0], [0.5, 2.0]], dtype=torch.float64)
    power = torch.tensor([[3.0, 0.0], [4.0, 1.0]], dtype=torch.float64)
    yours = log_mel(power, matrix)

    expected = torch.tensor([[5.0, 0.5], [8.0, 2.0]], dtype=torch.float64).log()
    compare(yours, expected, "natural logs of [[3 + 4 / 2, 1 / 2], [2 * 4, 2]]: mels by frames")


def test_a_batch() -> None:
    """Dims before the bins are kept."""
    power, matrix = numbers(2, 3, 5, 7), numbers(5, 4)
    with unchanged(power=power, matrix=matrix):
        yours = log_mel(power, matrix)

    expected = torch.einsum("abft,fm->abmt", power, matrix).log()
    compare(yours, expected, "[2, 3, 5, 7] with 4 mels has [2, 3, 4, 7]")


def test_the_floor() -> None:
    """Silence gives the log of the floor, which is 1e-10 by default."""
    matrix, power = torch.eye(3).double(), torch.tensor([[0.0], [1e-12], [0.5]]).double()
    least = math.log(1e-10)
    expected = torch.tensor([[least], [least], [math.log(0.5)]], dtype=torch.float64)
    compare(log_mel(power, matrix), expected, "powers 0, 1e-12 and 0.5, floor 1e-10")
    expected = torch.tensor([[-2.0], [-2.0], [math.log(0.5)]], dtype=torch.float64)
    compare(log_mel(power, matrix, math.exp(-2)), expected, "the same, floor e ** -2")


def test_gradients_in_silence() -> None:
    """Values below the floor have gradient 0, not 1 / floor."""
    power = torch.tensor([[0.0], [1e-12], [0.5]], dtype=torch.float64, requires_grad=True)
    yours = torch.autograd.grad(log_mel(power, torch.eye(3).double()).sum(), power)[0]

    expected = torch.tensor([[0.0], [0.0], [2.0]], dtype=torch.float64)
    compare(yours, expected, "gradients of powers 0, 1e-12 and 0.5: below the floor nothing moves")


def test_gradcheck() -> None:
    """Check the gradients of power and matrix, above the floor and below it."""
    power, matrix = numbers(3, 4), numbers(3, 2)
    power[:, 1] = 1e-3
    inputs = (power.requires_grad_(), matrix.requires_grad_())
    passed = torch.autograd.gradcheck(lambda x, w: log_mel(x, w, 0.02), inputs)

    assert passed, "gradcheck: your gradient differs from finite differences"


def test_the_dtype_of_the_sound() -> None:
    """A float64 matrix, as `filters` returns it, works for a float32 sound."""
    matrix = numbers(5, 4)
    for dtype in (torch.float32, torch.float64):
        power = numbers(5, 7, dtype=dtype)
        yours = log_mel(power, matrix)
        compare(yours, (matrix.to(dtype).mT @ power).log(), f"a power of {dtype}", 1e-5)
    one = torch.ones(1, 1, dtype=torch.float64)
    found = log_mel((1e38 * one).float(), 10 * one).item()
    assert found == math.inf, f"1e38 times 10 is too large for float32: yours {found}, expected inf"


@pytest.mark.given
def test_what_an_added_constant_does() -> None:
    """The gradient of log(x + 1e-6) in silence is a million."""
    x = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    (grad,) = torch.autograd.grad((x + 1e-6).log().sum(), x)

    assert grad.item() == pytest.approx(1e6), f"the gradient of log(x + 1e-6) at 0 is {grad}"


@pytest.mark.backend("torchaudio")
def test_torchaudio_agrees() -> None:
    """The matrix from torchaudio is float32, so the two agree to six digits."""
    yours = filters(201, 40, 16000)
    try:
        from torchaudio.functional import melscale_fbanks  # noqa: PLC0415 - may be missing
    except (ImportError, OSError, RuntimeError) as error:
        pytest.skip(
            f"torchaudio does not import ({' '.join(str(error).split())[:120]}); "
            f"{install_group('audio', '-U')} beside a CUDA build of torch; beside a CPU build add"
            " --index-url https://download.pytorch.org/whl/cpu"
        )
    theirs = melscale_fbanks(201, 0.0, 8000.0, 40, 16000).double()

    compare(yours, theirs, "torchaudio.functional.melscale_fbanks", 2e-5)
