"""Tests of k02_patches: every number differs, so that no two dims can be confused."""

from __future__ import annotations

import pytest
import torch
from expecttest import assert_expected_inline
from torch import nn

from katas.lecture19 import k02_patches
from katas.lecture19.conftest import close
from katas.lecture19.conftest import numbers
from katas.lecture19.k02_patches import embed
from katas.lecture19.k02_patches import grid
from katas.lecture19.k02_patches import paste
from katas.lecture19.k02_patches import tokens
from katas.lecture19.k02_patches import whole
from plugins.kit import forbids
from plugins.kit import unchanged


# 2 images of 5 channels, 8 x 9: 4 rows and 3 columns of patches, each 2 x 3.
PATCH, ROWS, COLUMNS = (2, 3), 4, 3


def counted(*size: int) -> torch.Tensor:
    """Return 0, 1, 2, ... in this shape."""
    return torch.arange(torch.Size(size).numel(), dtype=torch.double).view(size)


@pytest.mark.given
def test_patches_fill_the_image() -> None:
    """4 rows and 3 columns; an image whose last patch would be cut is refused."""
    assert whole(numbers(2, 5, 8, 9), PATCH) == (ROWS, COLUMNS), "the given `whole` was modified"
    with pytest.raises(ValueError, match="do not fill"):
        whole(numbers(2, 5, 8, 10), PATCH)


def test_two_patches() -> None:
    """One image, one channel, two patches of one pixel's height."""
    yours = grid(counted(1, 1, 1, 6), (1, 3))

    close(yours, counted(1, 1, 2, 1, 1, 3), "0 1 2 3 4 5 in patches of three: 0 1 2, then 3 4 5")


def test_where_each_pixel_goes() -> None:
    """The numbers of the brief, and a second channel from 24 on."""
    yours = tokens(counted(1, 2, 4, 6), PATCH)
    text = [" ".join(f"{int(value):2}" for value in row) for row in yours[0]]

    assert_expected_inline(
        "\n".join(text),
        """\
 0  1  2  6  7  8 24 25 26 30 31 32
 3  4  5  9 10 11 27 28 29 33 34 35
12 13 14 18 19 20 36 37 38 42 43 44
15 16 17 21 22 23 39 40 41 45 46 47""",
    )


def test_each_patch_is_a_crop() -> None:
    """Patch (r, c) is what slicing would cut out, with all channels."""
    images = numbers(2, 5, 8, 9)
    yours = grid(images, PATCH)
    expected = [2, ROWS, COLUMNS, 5, *PATCH]

    assert list(yours.shape) == expected, (
        f"your result has shape {list(yours.shape)}, expected {expected}"
    )
    for r in range(ROWS):
        for c in range(COLUMNS):
            crop = images[:, :, 2 * r : 2 * r + 2, 3 * c : 3 * c + 3]
            close(yours[:, r, c], crop, f"the patch in row {r}, column {c}")


def test_the_grid_is_a_view() -> None:
    """The grid starts at the images' address, and a write to a patch changes the image."""
    for images, what in (
        (numbers(2, 5, 8, 9), "contiguous images"),
        (numbers(2, 8, 9, 5).permute(0, 3, 1, 2), "images in channels-last"),
        (numbers(2, 5, 10, 12)[:, :, 1:9, 2:11], "a crop of larger images"),
    ):
        with unchanged(images=images):
            yours = grid(images, PATCH)
        assert yours.data_ptr() == images.data_ptr(), (
            f"{what}: your grid is a copy, expected a view"
        )
        yours[1, 3, 2] = 7.0
        close(images[1, :, 6:, 6:], torch.full((5, 2, 3), 7.0), f"{what}: 7 in the last patch")


def test_a_patch_that_would_be_cut() -> None:
    """Neither the lines below the last whole patch nor the pixels next to it are dropped."""
    for size in ((5, 6), (4, 7)):
        yours = "no error"
        try:
            grid(numbers(1, 1, *size), PATCH)
        except ValueError as error:
            yours = str(error)
        expected = f"patches of 2 x 3 do not fill {size[0]} x {size[1]}"
        assert yours == expected, f"an image of {size}: yours {yours!r}, expected {expected!r}"


def test_tokens_equal_unfold() -> None:
    """Images may have any strides; unfold has the patches in the last dim."""
    images = numbers(2, 8, 9, 5).permute(0, 3, 1, 2)
    with unchanged(images=images):
        yours = tokens(images, PATCH)
    expected = nn.functional.unfold(images.contiguous(), PATCH, stride=PATCH).mT

    close(yours, expected, "tokens, and F.unfold of the same images")


def test_when_tokens_are_a_copy() -> None:
    """If a patch is a whole strip of a grey image, its pixels are already in order."""
    images, strips = numbers(2, 5, 8, 9), numbers(2, 1, 8, 9)
    every_other = numbers(4, 1, 4, 3)[::2]

    assert tokens(images, PATCH).data_ptr() != images.data_ptr(), (
        "patches of 2 x 3 pixels: your tokens share the images' memory, where a patch has gaps"
    )
    assert tokens(strips, (2, 9)).data_ptr() == strips.data_ptr(), (
        "patches of 2 x 9 in one channel, 9 wide: your tokens are a copy, but a view is possible"
    )
    close(tokens(strips, (2, 9)), strips.view(2, 4, 18), "strips of two lines each")
    assert tokens(every_other, PATCH).data_ptr() == every_other.data_ptr(), (
        "every other image of a batch, in strips: your tokens are a copy, but a view is possible,"
        " although the images are not contiguous"
    )


def test_embed_is_a_convolution() -> None:
    """`embed` takes the weight and bias of a Conv2d, in both memory formats."""
    torch.manual_seed(0)
    images = numbers(2, 5, 8, 9)
    for layout in (torch.contiguous_format, torch.channels_last):
        conv = nn.Conv2d(5, 7, PATCH, stride=PATCH).double().to(memory_format=layout)
        with unchanged(conv, images=images), torch.no_grad():
            yours = embed(images, conv.weight, conv.bias)
            expected = conv(images).flatten(2).mT

        close(yours, expected, f"embed, and Conv2d with the patch as kernel and stride, {layout}")


def test_gradients_of_embed() -> None:
    """They agree with finite differences, for images, weight and bias."""
    inputs = [numbers(1, 2, 2, 3), numbers(2, 2, 2, 1, seed=1), numbers(2, seed=2)]
    for tensor in inputs:
        tensor.requires_grad_()

    assert torch.autograd.gradcheck(embed, inputs), "the gradients of embed are wrong"


def test_paste_is_the_way_back() -> None:
    """Tokens of images, pasted, are the images."""
    images = numbers(2, 5, 8, 9)
    patches = nn.functional.unfold(images, PATCH, stride=PATCH).mT
    with unchanged(patches=patches):
        yours = paste(patches, 5, PATCH, COLUMNS)

    close(yours, images, "paste of the tokens of images")


def test_no_images() -> None:
    """An empty batch has tokens of the same size, but none of them."""
    none = numbers(0, 5, 8, 9)
    yours = tokens(none, PATCH)
    expected = [0, ROWS * COLUMNS, 5 * 2 * 3]

    assert list(yours.shape) == expected, (
        f"your result has shape {list(yours.shape)}, expected {expected}"
    )
    assert paste(yours, 5, PATCH, COLUMNS).shape == none.shape, (
        "paste changes the shape of an empty batch"
    )


def test_without_the_library() -> None:
    """Your code calls neither F.unfold nor nn.Unfold nor a convolution."""
    names = ("conv2d", "nn.functional.conv2d", "nn.functional.unfold", "nn.functional.fold")
    images, weight, bias = numbers(1, 2, 2, 3), numbers(2, 2, 2, 1), numbers(2)
    with forbids(
        k02_patches, *[f"torch.{name}" for name in (*names, "nn.Conv2d", "nn.Unfold", "nn.Fold")]
    ) as fresh:
        fresh.embed(images, weight, bias)
        fresh.paste(fresh.tokens(images, (2, 1)), 2, (2, 1), 3)
