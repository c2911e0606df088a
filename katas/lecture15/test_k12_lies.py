"""Tests of k12_lies: the app next to the model, on good days and on bad ones."""

from __future__ import annotations

import copy
from functools import cache
from functools import partial
from math import nan
from typing import TYPE_CHECKING

import pytest
import torch
from torch import nn

from katas.lecture15.k12_lies import Phone
from katas.lecture15.k12_lies import decide
from katas.lecture15.k12_lies import pack
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable


class Net(nn.Module):
    """Classifies photos: a convolution, a normalization, dropout, a linear layer, and an order."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Dropout(0.5)
        )
        self.head = nn.Linear(64, 5)
        self.order = nn.Buffer(torch.tensor([3, 1, 0, 4, 2]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the scores."""
        scores: torch.Tensor = self.head(self.body(x))
        return scores.index_select(1, self.order)


@cache
def trained() -> Net:
    """Return a network that has seen some photos, in training mode as training left it."""
    net = Net()
    with torch.no_grad():
        for _ in range(3):
            net.body(torch.randn(8, 3, 6, 6) * 2 + 1)
    return net


def photo() -> torch.Tensor:
    """Return two photos."""
    return torch.randn(2, 3, 6, 6)


@cache
def packed() -> bytes:
    """Return the file of the network in eval mode."""
    return pack(copy.deepcopy(trained()).eval(), photo())


def expected_of(x: torch.Tensor) -> torch.Tensor:
    """Return the scores of the network itself, in eval mode."""
    with torch.no_grad():
        scores: torch.Tensor = copy.deepcopy(trained()).eval()(x)
        return scores


def check(yours: torch.Tensor, expected: torch.Tensor, symptom: str) -> None:
    """Compare scores."""
    off = (yours - expected).abs().max()

    assert off < 1e-5, (
        f"{symptom}: the scores are off by {off:.2f}, and the largest is {expected.abs().max():.2f}"
    )


def refuses(call: Callable[[], object], what: str) -> None:
    """Check that there is no answer, and that an error says why."""
    __tracebackhide__ = True
    try:
        yours = call()
    except ValueError as error:
        reason = str(error)
    else:
        raise AssertionError(f"{what}: your code returns {yours}, expected a ValueError")
    assert reason, f"{what}: your code raises a ValueError that does not say why"


@pytest.mark.given
def test_on_the_bench() -> None:
    """A contiguous input of the exported shape, and a model in eval mode, work."""
    x = photo()
    check(Phone(packed())(x), expected_of(x), "on the bench")
    for scores, best in (([0.5, -1.0, 3.0, 3.0], 2), ([3.0, 3.0], 0), ([-1.0], 0)):
        assert best == decide(scores), f"{scores}: expected {best}, the index of the first maximum"


def test_packed_after_an_epoch() -> None:
    """A model packed in training mode runs in eval mode on the phone."""
    x = photo()
    with torch.random.fork_rng():
        yours = Phone(pack(copy.deepcopy(trained()).train(), x))(x)

    check(yours, expected_of(x), "packed between two epochs")


def test_the_training_goes_on() -> None:
    """Packing changes nothing that the trainer holds, including the mode."""
    net = copy.deepcopy(trained()).train()
    net.body[1].eval()
    with unchanged(net, but=("torch.get_rng_state()",)):
        data = pack(net, photo())
    x = photo()

    check(Phone(data)(x), expected_of(x), "packed with a frozen normalization")


@pytest.mark.parametrize("layout", ["channels_last", "turned", "every_second"])
def test_photos_from_elsewhere(layout: str) -> None:
    """Photos with the same pixels in a different memory order get the same scores."""
    x = photo()
    same = {
        "channels_last": x.to(memory_format=torch.channels_last),
        "turned": x.mT.contiguous().mT,
        "every_second": torch.stack([x, -x], 1).flatten(0, 1)[::2],
    }[layout]
    assert torch.equal(x, same), "expected the same pixels"
    phone = Phone(packed())
    with unchanged(same=same):
        yours = phone(same)

    check(yours, expected_of(x), f"a photo with strides {same.stride()}, not {x.stride()}")


def test_a_model_from_elsewhere() -> None:
    """A model whose weights are in a different memory order gives the same scores."""
    net = copy.deepcopy(trained()).eval()
    net.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    x = photo()

    check(Phone(pack(net, x))(x), expected_of(x), "a model in channels_last")


@pytest.mark.parametrize("batch", [3, 4])
def test_more_photos_than_were_exported(batch: int) -> None:
    """More photos than were exported are refused, instead of answering only the first two."""
    phone = Phone(packed())
    refuses(lambda: phone(torch.randn(batch, 3, 6, 6)), f"{batch} photos for a program of 2")


@pytest.mark.parametrize("kind", ["float64", "another shape"])
def test_pixels_of_another_kind(kind: str) -> None:
    """Another dtype or shape has enough bytes, but would be misread, and is refused."""
    phone, x = Phone(packed()), photo()
    other = x.double() if kind == "float64" else x.view(2, 6, 6, 3)
    refuses(lambda: phone(other), f"{other.dtype} of {[*other.shape]}, for float32 of [2, 3, 6, 6]")


def test_a_batch_of_one_at_a_time() -> None:
    """The first answer must not change when the second photo comes."""
    phone, first, second = Phone(packed()), photo(), photo()
    one = phone(first)
    two = phone(second)

    check(one, expected_of(first), "the first answer, after the second photo")
    check(two, expected_of(second), "the second answer")


def test_a_lens_cap() -> None:
    """A black photo is divided by its brightness: its scores are NaN, and are refused."""
    for scores in ([nan, nan], [1.0, nan, 2.0], torch.tensor([nan, 1.0])):
        refuses(partial(decide, scores), f"the scores are {scores}")


@pytest.mark.parametrize("where", ["weights", "header", "end"])
def test_a_download_that_broke(where: str) -> None:
    """A file with a changed byte, or with one too many, is refused."""
    data = bytearray(packed())
    position = {"weights": len(data) - 40, "header": data.index(b'"calls"') + 1, "end": -1}[where]
    if where == "end":
        data += b"\0"
    else:
        data[position] ^= 0x40
    refuses(lambda: Phone(bytes(data)), f"the file has changed: {where}")
