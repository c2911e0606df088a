"""Tests of k07_ragged: three captions on paper, many drawn ones, and PyTorch's jagged tensors."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nested import nested_tensor_from_jagged
from torch.utils._python_dispatch import TorchDispatchMode

from katas.lecture19 import k07_ragged
from katas.lecture19.conftest import close
from katas.lecture19.conftest import numbers
from katas.lecture19.k07_ragged import add
from katas.lecture19.k07_ragged import means
from katas.lecture19.k07_ragged import pack
from katas.lecture19.k07_ragged import pad
from katas.lecture19.k07_ragged import places
from plugins.kit import forbids
from plugins.kit import unchanged


OFFSETS = torch.tensor([0, 2, 2, 6])
# The first and the last are empty, and two of equal length are neighbours.
LENGTHS = (0, 3, 1, 5, 5, 0, 2, 0)


def samples(*lengths: int) -> list[torch.Tensor]:
    """Return a tensor of two columns for each length."""
    return [numbers(length, 2, seed=seed) for seed, length in enumerate(lengths)]


def offsets_of(*lengths: int) -> torch.Tensor:
    """Return the offsets of these lengths."""
    return torch.tensor([0, *lengths]).cumsum(0)


def indices(yours: Any, expected: list[int], why: str) -> None:
    """Compare whole numbers, which must be int64."""
    __tracebackhide__ = True
    assert yours.dtype == torch.int64, f"{why}: yours is {yours.dtype}, expected torch.int64"
    assert yours.tolist() == expected, f"{why}\nyours    {yours.tolist()}\nexpected {expected}"


def test_pack() -> None:
    """Captions of 2, 0 and 4 words."""
    words = samples(2, 0, 4)
    with unchanged(words=words):
        values, offsets = pack(words)

    indices(offsets, [0, 2, 2, 6], "offsets: where each sample begins, and where the last ends")
    close(values, torch.cat(words), "values: all words, one below the other")


def test_places() -> None:
    """Rows 0 and 1 belong to sample 0, none to sample 1, and rows 2 to 5 to sample 2."""
    with unchanged(offsets=OFFSETS):
        sample, place = places(OFFSETS)

    indices(sample, [0, 0, 2, 2, 2, 2], "the sample of each of six words")
    indices(place, [0, 1, 0, 1, 2, 3], "the place of each word in its sample")


def test_places_of_many() -> None:
    """Empty samples at either end; if all are empty, the result is, too."""
    sample, place = places(offsets_of(*LENGTHS))
    expected = [(i, k) for i, length in enumerate(LENGTHS) for k in range(length)]

    indices(sample, [i for i, _ in expected], f"the samples, for lengths {LENGTHS}")
    indices(place, [k for _, k in expected], f"the places, for lengths {LENGTHS}")
    indices(places(offsets_of(0, 0))[0], [], "the samples, where both are empty")


@pytest.mark.parametrize("fill", [-7.0, -torch.inf])
def test_pad(fill: float) -> None:
    """Pad to the longest sample, with the fill after each sample's end and nowhere else."""
    values = numbers(6, 2)
    with unchanged(values=values, offsets=OFFSETS):
        yours = pad(values, OFFSETS, fill)
    expected = torch.full((3, 4, 2), fill).double()
    expected[0, :2], expected[2] = values[:2], values[2:]

    why = "; 0 * inf is NaN" if fill < -7 else ""
    close(yours, expected, f"values padded to 4 words, with {fill:g} behind them{why}")
    assert yours.dtype == torch.float64, f"float64 values became {yours.dtype}"


def test_pad_where_all_are_empty() -> None:
    """For two samples without a word, the longest has length 0."""
    yours = pad(torch.zeros(0, 3), offsets_of(0, 0), 1.0)
    assert yours.shape == (2, 0, 3), (
        f"two empty samples: yours is {[*yours.shape]}, expected [2, 0, 3]"
    )


def test_pad_as_pytorch_does() -> None:
    """The result is that of to_padded_tensor, in float32, with one longest sample or several."""
    for lengths in (LENGTHS, (1, 4, 2), (3,)):
        values = numbers(sum(lengths), 2).float()
        # Without the longest, the padded tensor is as long as all values together.
        longest = max(lengths)
        nested = nested_tensor_from_jagged(values, offsets_of(*lengths), max_seqlen=longest)
        expected = torch.nested.to_padded_tensor(nested, 0.5)
        yours = pad(values, offsets_of(*lengths), 0.5)
        assert yours.dtype == torch.float32, f"float32 values became {yours.dtype}"
        close(yours, expected, f"torch.nested.to_padded_tensor, for lengths {lengths}")


def test_means() -> None:
    """Each sum is divided by its own length; the mean of no words is 0, not NaN, at the end too."""
    values = numbers(6, 2)
    with unchanged(values=values, offsets=OFFSETS):
        yours = means(values, OFFSETS)
    expected = torch.stack([values[:2].mean(0), torch.zeros(2).double(), values[2:].mean(0)])

    close(yours, expected, "means of 2, 0 and 4 words: words / length, and 0 where there are none")
    many = means(torch.cat(samples(*LENGTHS)), offsets_of(*LENGTHS))
    rows = [x.mean(0) if len(x) else torch.zeros(2).double() for x in samples(*LENGTHS)]
    close(many, torch.stack(rows), f"the mean of each sample, for lengths {LENGTHS}")


@pytest.mark.parametrize("large", [torch.nan, torch.inf, 1e8])
def test_samples_do_not_mix(large: float) -> None:
    """A value in the first sample does not reach the others; and a NaN is not hidden."""
    values = numbers(6, 2)
    values[0] = large
    expected = torch.stack([values[:2].mean(0), torch.zeros(2).double(), values[2:].mean(0)])
    yours = means(values, OFFSETS)

    close(yours[0], expected[0], f"the mean of sample 0, one word of which is {large}")
    close(yours[1:], expected[1:], f"the other means, where a word of sample 0 is {large}")


def test_gradients_flow() -> None:
    """Into the embedding: through packing, then padding or means, as gradcheck finds."""
    words = tuple(each.requires_grad_() for each in samples(2, 0, 3))
    values, offsets = pack(words)
    assert values.requires_grad, "pack: the values have no graph"
    assert pad(values, offsets, 0.0).requires_grad, "pad: the result has no graph"
    assert means(values, offsets).requires_grad, "means: the result has no graph"

    def made(*words: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        values, offsets = pack(words)
        return pad(values, offsets, 0.0).square(), means(values, offsets).square()

    assert torch.autograd.gradcheck(made, words), (
        "gradcheck: the gradient differs from finite differences"
    )


class Counter(TorchDispatchMode):
    """Counts operators."""

    count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Count one, and let it run."""
        self.count += 1
        return func(*args, **(kwargs or {}))


def operators(count: int) -> int:
    """Return how many operators run for `count` times eight samples."""
    offsets = offsets_of(*(LENGTHS * count))
    values = numbers(int(offsets[-1]), 2)
    with Counter() as counter:
        pad(values, offsets, 0.0)
        means(values, offsets)
    return counter.count


def test_no_loop_over_samples() -> None:
    """320 samples take as many operators as 8."""
    few, many = operators(1), operators(40)
    assert many == few, f"pad and means run {few} operators for 8 samples, and {many} for 320"


def test_by_hand() -> None:
    """Your code uses PyTorch's own ragged types only in `add`."""
    ready = ("nested_tensor", "as_nested_tensor", "to_padded_tensor", "narrow", "masked_select")
    with forbids(
        k07_ragged,
        *(f"torch.nested.{name}" for name in ready),
        *("torch.nn.utils.rnn", "torch.segment_reduce", "torch.Tensor.to_padded_tensor"),
    ) as fresh:
        values, offsets = fresh.pack(samples(1, 2))
        fresh.pad(values, offsets, 0.0)
        fresh.means(values, offsets)


def apart(*lengths: int) -> tuple[Any, Any]:
    """Return two jagged tensors of equal lengths, each with offsets of its own."""
    first, second = (
        nested_tensor_from_jagged(numbers(sum(lengths), 2, seed=seed), offsets_of(*lengths))
        for seed in (1, 2)
    )
    return first, second


@pytest.mark.given
def test_pytorch_refuses() -> None:
    """Equal lengths, made twice, have two symbolic sizes."""
    x, y = apart(2, 0, 4)
    assert x.shape != y.shape, f"expected two symbolic sizes: {x.shape} and {y.shape}"
    with pytest.raises(RuntimeError, match="cannot call binary pointwise function add"):
        x + y


def test_add() -> None:
    """The values are added, and neither of the two is touched."""
    x, y = apart(2, 0, 4)
    kept = x.values().clone(), y.values().clone()
    yours: Any = add(x, y)

    assert yours.is_nested, "your result is not a nested tensor"
    close(yours.values(), kept[0] + kept[1], "the values of the sum")
    close(x.values(), kept[0], "the values of x, after add(x, y)")
    close(y.values(), kept[1], "the values of y, after add(x, y)")


def test_a_sum_can_be_added_to_again() -> None:
    """A sum has the symbolic size of x, not of y and not a new one."""
    x, y = apart(2, 0, 4)
    yours: Any = add(x, y)

    assert yours.shape == x.shape, (
        f"the sum has shape {yours.shape}, but x has {x.shape}: each offsets tensor has its own"
        " size"
    )
    close((x + yours).values(), 2 * x.values() + y.values(), "x + add(x, y)")


def test_a_sum_has_gradients() -> None:
    """Gradients of a sum reach the dense values of both tensors."""
    leaves = [numbers(6, 2, seed=seed).requires_grad_() for seed in (3, 4)]
    x, y = (nested_tensor_from_jagged(leaf, OFFSETS.clone()) for leaf in leaves)
    total: Any = add(x, y)
    total.values().square().sum().backward()
    for leaf in leaves:
        assert leaf.grad is not None, "one of the two tensors got no gradient"
        close(leaf.grad, 2 * sum(leaves), "the gradient of sum((x + y) ** 2)")


@pytest.mark.given
def test_other_lengths_are_refused() -> None:
    """Equal numbers of words and of samples are not enough: the offsets must be equal."""
    x, _ = apart(2, 0, 4)
    y, _ = apart(2, 1, 3)
    with pytest.raises(ValueError, match="differ in length"):
        add(x, y)
