"""Tests of k18_pooling: the layers called one by one are the oracle, and copies are counted."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import pytest
import torch
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from katas.lecture02 import k18_pooling as kata
from katas.lecture02.k18_pooling import run
from plugins.kit import forbids
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable

    Layer = Callable[[torch.Tensor], torch.Tensor]

LAST = torch.channels_last
THREADS = ("threading", "_thread", "concurrent.futures", "multiprocessing")


def pool(x: torch.Tensor) -> torch.Tensor:
    """Keep the size, and the format."""
    return F.max_pool2d(x, 3, stride=1, padding=1)


def drop(x: torch.Tensor) -> torch.Tensor:
    """Compute, and drop the format: return a new row-major tensor, as ``cumsum`` does."""
    result = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    return torch.mul(x, 2, out=result)


def part(x: torch.Tensor) -> torch.Tensor:
    """Leave gaps: the result is contiguous in no format."""
    return x[..., 1:]


def images(device: str = "cpu", sizes: tuple[int, ...] = (2, 4, 6, 8)) -> torch.Tensor:
    """Return row-major images in random order."""
    return torch.arange(float(torch.Size(sizes).numel()), device=device).sin().reshape(sizes)


def agree(yours: torch.Tensor, layers: list[Layer], x: torch.Tensor) -> None:
    """Compare the values with those of the layers called by hand, and check the format."""
    torch.testing.assert_close(
        yours,
        reduce(lambda done, layer: layer(done), layers, x),
        rtol=1e-6 if x.dtype == torch.float32 else 1e-14,
        atol=0,
        msg=lambda text: f"yours (actual) differs from the result of the layers.\n{text}",
    )
    assert yours.is_contiguous(), (
        f"your result has shape {tuple(yours.shape)} and strides {yours.stride()}, expected "
        "row-major order"
    )


class Copies(TorchDispatchMode):
    """Lists the operators that touch elements between the layers: each is a copy."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.inside = False

    def leave_out(self, layer: Layer) -> Layer:
        """Wrap the layer so that its own operators are not listed."""

        def call(x: torch.Tensor) -> torch.Tensor:
            self.inside = True
            result = layer(x)
            self.inside = False
            return result

        return call

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # noqa: ANN001, ANN204
        """Record the name and run the operator; views and uninitialised storage are free."""
        name = func.overloadpacket.__name__
        if not (self.inside or func.is_view or name.startswith(("empty", "new_empty"))):
            self.names.append(name)
        return func(*args, **(kwargs or {}))


def copied(layers: list[Layer], x: torch.Tensor, expected: int, why: str) -> None:
    """Count the copies."""
    with forbids(kata, *THREADS) as fresh, Copies() as copies:
        fresh.run([copies.leave_out(layer) for layer in layers], x)

    yours = len(copies.names)
    assert yours == expected, (
        f"your code makes {yours} copies {copies.names}, expected {expected}.\n{why}"
    )


def test_layers_run_in_turn(device: str) -> None:
    """The first layer runs first; without layers the images come back."""
    x = images(device)
    for layers in (
        [],
        [pool],
        [lambda x: x + 1, lambda x: x * 2, lambda x: x.amax(1, keepdim=True)],
        [pool, part],
    ):
        agree(run(layers, x), layers, x)
    x = x.contiguous(memory_format=LAST)
    agree(run([], x), [], x)


@pytest.mark.parametrize("last", [False, True], ids=["row-major", "channels-last"])
def test_each_layer_gets_channels_last(last: bool) -> None:  # noqa: FBT001
    """Even after a layer that dropped the format."""
    seen: list[torch.Tensor] = []

    def look(x: torch.Tensor) -> torch.Tensor:
        seen.append(x)
        return x

    x = images().contiguous(memory_format=LAST) if last else images()
    layers = [look, pool, look, drop, look, part, look]
    run(layers, x)
    formats = [x.is_contiguous(memory_format=LAST) for x in seen]
    assert formats == [True] * 4, (
        "the tests looked at the images at the start, after a pooling, after a layer that drops "
        f"the format and after one that cuts off columns: channels-last without gaps {formats}, "
        "expected True each time. `to` may leave gaps, `contiguous` does not"
    )


def test_a_format_that_was_kept_is_not_copied() -> None:
    """One copy at the start, one at the end."""
    copied([pool, pool, pool], images(), 2, "Poolings keep the format: what is it then to convert?")


def test_a_format_that_was_lost_costs_a_copy() -> None:
    """One more for each layer that returns row-major images, except the last: its result stays."""
    copied([pool, drop, pool], images(), 3, "One after drop, before the pooling.")
    copied([pool, pool, drop], images(), 1, "drop makes the row-major result that is asked for.")


def test_the_right_format_is_never_copied() -> None:
    """Neither at the start nor without layers."""
    last = images().contiguous(memory_format=LAST)
    copied([pool, pool], last, 1, "The images are in channels-last: only the result is converted.")
    copied([], images(), 0, "Row-major images and no layers: there is nothing to do.")
    one = images(sizes=(2, 1, 6, 8))
    copied(
        [pool, pool], one, 0, "One channel: the images are in both formats, whatever strides say."
    )


def test_gradients_reach_the_images() -> None:
    """A chain of layers may be trained: leave grad mode to the caller."""
    x = images().requires_grad_()
    with torch.enable_grad():
        result = run([pool, part], x)

    assert result.requires_grad, "your result is detached: no gradient can reach the images"


def test_doubles_stay_doubles_and_the_images_stay() -> None:
    """A slice of channels, in float64, with infinity and NaN in it."""
    x = images(sizes=(2, 6, 6, 8)).double().exp()[:, 1:5]
    x[0, 1, 2, 3], x[1, 2, 3, 4] = torch.inf, torch.nan
    layers = [lambda x: x * 1.1, drop, part, lambda x: x - 0.3]
    with unchanged(x=x):
        yours = run(layers, x)
    theirs = reduce(lambda done, layer: layer(done), layers, x)
    torch.testing.assert_close(
        yours,
        theirs,
        rtol=1e-14,
        atol=0,
        equal_nan=True,
        check_stride=False,
        msg=lambda text: f"float64: yours (actual) differs from the result of the layers.\n{text}",
    )
