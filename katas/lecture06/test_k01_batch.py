"""Tests of k01_batch: your batches are compared with those of PyTorch's `default_collate`."""

from __future__ import annotations

from typing import Any
from typing import NamedTuple

import pytest
import torch
from torch.utils.data import default_collate

from katas.lecture06 import k01_batch as kata
from plugins.kit import forbids
from plugins.kit import unchanged


WHERE = "look at torch/utils/data/_utils/collate.py: one function for each type"


class Pair(NamedTuple):
    """A named tuple."""

    x: int
    y: int


def facts(batch: Any) -> Any:
    """Return a batch as something that can be compared: types, dtypes, shapes and values."""
    if isinstance(batch, torch.Tensor):
        return (str(batch.dtype), tuple(batch.shape), batch.tolist())
    if isinstance(batch, dict):
        return {key: facts(value) for key, value in batch.items()}
    if isinstance(batch, tuple | list):
        # PyTorch makes a tuple of texts and a list of pairs; which of the two is not the lesson.
        return [facts(each) for each in batch]
    return batch


def compare(samples: list[Any], why: str) -> Any:
    """Compare your batch of the samples with PyTorch's, and return yours."""
    with unchanged(samples=samples):
        yours = kata.collate(list(samples))
    theirs = default_collate(samples)
    mine, expected = facts(yours), facts(theirs)

    assert mine == expected, f"yours      {mine}\nPyTorch's  {expected}\n{why}; {WHERE}"
    return yours


@pytest.mark.given
def test_tensors_are_stacked() -> None:
    """Stacking adds a first dim, one entry per sample, even for a single sample."""
    root = torch.tensor([0.5, 2.0, 3.0], dtype=torch.float64).sqrt()
    samples = [root, root * 2]
    yours = compare(samples, "tensors get a new first dim")
    yours.zero_()
    assert root[0] != 0, "writing to your batch changed a sample: return a copy"
    compare([root], "a batch of one has a first dim of size 1")
    compare([torch.tensor(1), torch.tensor(2)], "tensors without dims become one with one dim")


def test_numbers_become_one_tensor() -> None:
    """Ints become int64, floats float64 (not float32), bools bool."""
    compare([1, 2, 3], "ints")
    compare([2**53 + 1, -(2**62)], "ints keep all of their 64 bits")
    compare([0.1, 0.2], "Python's floats have 64 bits, and keep them")
    compare([True, False], "a bool is an int in Python, and a bool here")


def test_text_stays() -> None:
    """Text and bytes stay a sequence of samples."""
    compare(["a", "b", "c"], "text stays a sequence of samples")
    compare(["ab", "cd"], "text is iterable, and still no list of letters")
    compare([b"ab", b"cd"], "bytes look like lists of ints, and are none")


def test_pairs_are_turned_around() -> None:
    """One (x, y) per sample becomes all x, then all y."""
    yours = compare([(torch.ones(2), 0), (torch.zeros(2), 1)], "two samples, two positions")
    assert isinstance(yours, list), f"yours is a {type(yours).__name__}, PyTorch's is a list"
    compare([(1, 2, 3), (4, 5, 6)], "two samples of three give three batches of two")
    compare([Pair(1, 2), Pair(3, 4)], "a named tuple is a tuple")
    compare([[1, 2], [3, 4], [5, 6]], "a list of numbers is turned around too, and no row")


def test_dicts_are_turned_around() -> None:
    """Each key gets a batch of its own."""
    yours = compare([{"x": 1, "a": "u"}, {"a": "v", "x": 2}], "a batch for each key")
    assert ["x", "a"] == list(yours), (
        f"your keys are {list(yours)}, expected the first sample's order"
    )


def test_samples_within_samples() -> None:
    """Collating works at any depth of nesting."""
    inner = [{"x": torch.ones(1), "y": (i, [f"n{i}", {"z": i / 3}])} for i in range(3)]
    compare(inner, "what is inside a dict or a pair is a batch of its own")


def test_nobody_else_collates() -> None:
    """Your answer does not call `torch.utils`."""
    with forbids(kata, "torch.utils") as fresh:
        yours = fresh.collate([(1, "a"), (2, "b")])
    assert [1, 2] == yours[0].tolist(), f"yours {yours}, expected the numbers first"
