"""Tests of k03_resize_matrix: the matrices of `interpolate`, applied, transposed and printed."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from expecttest import assert_expected_inline
from torch.nn.functional import interpolate

from katas.lecture21.k03_resize_matrix import backward
from katas.lecture21.k03_resize_matrix import forward
from katas.lecture21.k03_resize_matrix import gradient
from katas.lecture21.k03_resize_matrix import resized
from katas.lecture21.k03_resize_matrix import resizer
from katas.lecture21.k03_resize_matrix import unread
from plugins.kit import unchanged


MODES: dict[str, dict[str, Any]] = {
    "nearest": {"mode": "nearest"},
    "area": {"mode": "area"},
    "bilinear": {"mode": "bilinear"},
    "corners": {"mode": "bilinear", "align_corners": True},
    "bicubic": {"mode": "bicubic"},
    "antialias": {"mode": "bilinear", "antialias": True},
}
IMAGES = ["bilinear", "bicubic", "antialias"]


def close(yours: torch.Tensor, expected: torch.Tensor, why: str) -> None:
    """Compare with tolerance 1e-12, dtype and shape included."""
    __tracebackhide__ = True
    apart = ""
    if yours.shape == expected.shape:
        apart = f", apart by {(yours - expected).abs().max():.1e} at most"
    message = f"{why}{apart}\nyours, {yours.dtype}: {yours}\nexpected: {expected}"
    torch.testing.assert_close(yours, expected, rtol=1e-12, atol=1e-12, msg=message)


def numbers(*shape: int) -> torch.Tensor:
    """Return irrational float64 numbers."""
    return torch.arange(1, torch.Size(shape).numel() + 1).double().sqrt().sin().reshape(shape)


def refused(*_: object, **__: object) -> None:
    """Raise: autograd must not be called."""
    raise AssertionError("`gradient` calls autograd: make it of the two matrices, transposed")


class Rounded(torch.autograd.Function):
    """Halves by hand: forward rounds to whole numbers, and backward is that of the mean."""

    @staticmethod
    def forward(_: Any, x: torch.Tensor) -> torch.Tensor:
        """Return means of pairs, rounded, so that nothing is linear."""
        return x.unflatten(1, (-1, 2)).mean(-1).round()

    @staticmethod
    def backward(_: Any, grad: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        """Return half of the gradient for each of a pair."""
        return grad.repeat_interleave(2, 1) / 2


def test_four_to_two_forward() -> None:
    """One-hot input j shows column j."""
    expected = torch.tensor([[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]]).double()
    close(forward(resizer(2, "nearest"), 4), expected, "nearest, 4 to 2: R is [2, 4], as R @ x")


@pytest.mark.parametrize("name", MODES)
def test_both_ways(name: str) -> None:
    """R times x is the resized x; and backward finds the same matrix."""
    for size, length in ((7, 3), (3, 7), (4, 1), (1, 3)):
        resize = resizer(length, **MODES[name])
        yours, x = forward(resize, size), numbers(2, size)
        why = "R x is not the resized x; the one-hot input must be float64"
        close(x @ yours.T, resize(x), f"{name}, {size} to {length}: {why}")
        why = f"{name}, {size} to {length}: by backward, where forward found the expected one"
        close(backward(resize, size), yours, why)


def test_backward_alone() -> None:
    """A function that rounds: forward shows no weights, and only its backward has the halves."""
    expected = torch.tensor([[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]]).double()
    yours = backward(Rounded.apply, 4)
    close(yours, expected, "by backward: row i is the gradient of output i, whatever y is")
    assert not yours.requires_grad, (
        "your matrix requires grad, but nothing here needs a second derivative"
    )


@pytest.mark.parametrize("name", IMAGES)
def test_an_image(name: str) -> None:
    """An image is resized down its columns and across its rows, to different sizes."""
    image = numbers(2, 3, 7, 5)
    down, across = (forward(resizer(m, **MODES[name]), n) for m, n in ((3, 7), (6, 5)))
    expected = interpolate(image, (3, 6), **MODES[name])
    with unchanged(image=image, down=down, across=across):
        yours = resized(image, down, across)
    close(yours, expected, f"{name}, a batch of images of 7 x 5 to 3 x 6")
    close(resized(image[0, 0], down, across), expected[0, 0], f"{name}, one channel [7, 5]")


@pytest.mark.parametrize("name", IMAGES)
def test_its_gradient(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The gradient that autograd finds, without autograd; each output's gradient is different."""
    image, grad = numbers(2, 3, 7, 5).requires_grad_(), numbers(2, 3, 3, 6).cos()
    down, across = (forward(resizer(m, **MODES[name]), n) for m, n in ((3, 7), (6, 5)))
    (expected,) = torch.autograd.grad(interpolate(image, (3, 6), **MODES[name]), image, grad)
    with unchanged(grad=grad, down=down, across=across), monkeypatch.context() as patch:
        for owner, method in (
            (torch.autograd, "grad"),
            (torch.autograd, "backward"),
            (torch.Tensor, "backward"),
        ):
            patch.setattr(owner, method, refused)
        with torch.inference_mode():
            yours = gradient(grad, down, across)
    close(
        yours, expected, f"{name}: outputs send their gradient back by the weights they read with"
    )


def test_unread() -> None:
    """An unread input has a column of zeros; weights that cancel are not zeros."""
    plain = forward(resizer(3, "bilinear"), 7)
    smooth = forward(resizer(3, "bilinear", antialias=True), 7)
    for matrix, expected, what in (
        (
            plain,
            [2, 4],
            "bilinear, 7 to 3: three outputs read two inputs each, the middle one just one",
        ),
        (smooth, [], "antialiased: each of seven is read"),
        (
            torch.tensor([[0.5, 0.0], [-0.5, 0.0]]).double(),
            [1],
            "0.5 and -0.5 in column 0: both read it",
        ),
        (
            torch.tensor([[-0.5, 0.0], [0.0, 1.0]]).double(),
            [],
            "-0.5 in column 0: a weight below 0 reads it too",
        ),
    ):
        yours = unread(matrix)
        assert yours == expected, f"{what}: yours is {yours}, expected {expected}"


def test_the_picture() -> None:
    """What each output reads, in hundredths: without antialias, and with it."""
    lines = []
    for name in ("bilinear", "antialias"):
        for i, row in enumerate(forward(resizer(3, **MODES[name]), 7).tolist()):
            weights = " ".join(f"{100 * w:3.0f}" if abs(w) > 1e-9 else "  ." for w in row)
            lines.append(f"{name:9} {i}: {weights}")
    assert_expected_inline(
        "\n".join(lines),
        """\
bilinear  0:  33  67   .   .   .   .   .
bilinear  1:   .   .   . 100   .   .   .
bilinear  2:   .   .   .   .   .  67  33
antialias 0:  36  43  21   .   .   .   .
antialias 1:   .   6  24  41  24   6   .
antialias 2:   .   .   .   .  21  43  36""",
    )
