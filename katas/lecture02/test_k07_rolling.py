"""Tests of k07_rolling: PyTorch's pooling is the oracle, and allocations are counted."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from katas.lecture02 import k07_rolling as kata
from katas.lecture02.k07_rolling import moving_max
from katas.lecture02.k07_rolling import thumbnail
from plugins.kit import forbids
from plugins.kit import tensors
from plugins.kit import unchanged


# Each one does windows and a reduction at once, which the kata asks you to combine; so does a
# convolution.
POOLINGS = (
    *(
        f"aten::{kind}_pool{dims}d"
        for kind in ("max", "avg", "adaptive_max", "adaptive_avg", "fractional_max")
        for dims in (1, 2, 3)
    ),
    "aten::convolution",
)
# `Allocated` sees one thread.
THREADS = ("threading", "concurrent", "_thread", "multiprocessing")


class Allocated(TorchDispatchMode):
    """Adds up the bytes of results that are not in an argument's storage."""

    def __init__(self) -> None:
        super().__init__()
        self.bytes = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # noqa: ANN001, ANN204
        """Record new memory and run the operator."""
        result = func(*args, **(kwargs or {}))
        given_ = {x.untyped_storage().data_ptr() for x in args if isinstance(x, torch.Tensor)}
        for x in result if isinstance(result, list | tuple) else (result,):
            if isinstance(x, torch.Tensor) and x.untyped_storage().data_ptr() not in given_:
                self.bytes += x.untyped_storage().nbytes()
        return result


def drawn(x: torch.Tensor, size: int) -> str:
    """Return a line that describes what hypothesis has drawn."""
    return f"size {size}, x of sizes {tuple(x.shape)}, strides {x.stride()}: {x.tolist()}"


def agree(yours: torch.Tensor, theirs: torch.Tensor, case: str) -> None:
    """Compare a result with that of PyTorch's pooling."""
    torch.testing.assert_close(
        yours,
        theirs,
        rtol=1e-12,
        atol=1e-12,
        equal_nan=True,
        msg=lambda text: f"{case}: yours (actual) differs from PyTorch's (expected).\n{text}",
    )


def test_the_maximum_of_three_neighbours() -> None:
    """Five samples have three windows of three."""
    x = torch.tensor([1.0, 5.0, 2.0, 3.0, 0.0])
    agree(moving_max(x, 3), torch.tensor([5.0, 5.0, 3.0]), "moving_max of [1, 5, 2, 3, 0], 3")
    agree(moving_max(x, 5), torch.tensor([5.0]), "moving_max of [1, 5, 2, 3, 0], 5: one window")


@given(x=tensors([torch.float64], min_dims=2, max_dims=2), size=st.integers(1, 4))
def test_the_moving_maximum_is_a_pooling(x: torch.Tensor, size: int) -> None:
    """With a step of one; NaN counts as larger than any number."""
    if 0 in x.shape or size > x.size(-1):
        return
    with unchanged(x=x):
        yours = moving_max(x, size)
    agree(yours, F.max_pool1d(x, size, 1), drawn(x, size))


def test_a_thumbnail_of_blocks() -> None:
    """Two by three blocks; a fifth row and a seventh column are left out."""
    image = torch.arange(35, dtype=torch.float64).view(5, 7).sqrt()
    agree(thumbnail(image, 2), F.avg_pool2d(image[None], 2)[0], "blocks of 2 by 2 in 5 by 7")
    image[0, 0], image[2, 2] = torch.nan, torch.inf
    agree(thumbnail(image, 2), F.avg_pool2d(image[None], 2)[0], "with a NaN and an infinity")


@given(x=tensors([torch.float64], min_dims=3, max_dims=3), size=st.integers(1, 3))
def test_a_thumbnail_is_a_pooling(x: torch.Tensor, size: int) -> None:
    """For an image of any strides."""
    if 0 in x.shape or size > min(x.shape[1:]):
        return
    with unchanged(x=x):
        yours = thumbnail(x, size)
    agree(yours, F.avg_pool2d(x, size), drawn(x, size))


@pytest.mark.parametrize("name", ["moving_max", "thumbnail"])
def test_the_windows_take_no_memory(name: str) -> None:
    """Only the result has to be allocated, and a few intermediates of its size."""
    x = torch.rand(64, 64).t()
    with forbids(kata, *THREADS, operators=POOLINGS) as fresh, Allocated() as seen:
        yours = fresh.moving_max(x, 60) if name == "moving_max" else fresh.thumbnail(x, 4)
    bar, naive = 8 * yours.nbytes, 60 * yours.nbytes if name == "moving_max" else x.nbytes

    assert seen.bytes <= bar, (
        f"{name}: your code allocates {seen.bytes} bytes; the bar is {bar}, 8 times the result; x "
        f"takes {x.nbytes}, copying the windows {naive}. Reduce the view itself: no clone, stack, "
        f"sort or flatten of it"
    )
