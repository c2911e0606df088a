"""Tests of k03_random: every pipeline is run by a real DataLoader, and compared with your row."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader
from torch.utils.data import Dataset

from katas.lecture06 import k03_random as kata
from katas.lecture06.k03_random import PIPELINES
from plugins.kit import forbids


# What decides each pipeline; the right answer itself stands nowhere but in PyTorch.
RULES = {
    "numpy": "the global generators of random, NumPy and torch are seeded in each worker",
    "own": "a generator of your own is copied into each worker, and seeded by no one",
    "own_kept": "persistent workers stay: what they have drawn stays drawn",
    "by_number": "worker_init_fn comes after the seeding, in each worker, in each epoch",
    "generator": "when an epoch begins, the seed of the workers is drawn from the generator",
    "generator_anew": "a generator that begins again draws what it drew before",
}


class Numbers(Dataset[Any]):
    """Four samples, each of them drawn when it is asked for."""

    def __init__(self, sample: str) -> None:
        self.own = np.random.default_rng(0)
        self.sample = sample

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> float:
        names = {"numpy": np, "random": random, "torch": torch, "self": self}
        return float(eval(self.sample, names))  # noqa: S307 - the text of PIPELINES


def make(dataset: Numbers, options: str) -> DataLoader[Any]:
    """Return the loader of a pipeline."""
    seeded = torch.Generator().manual_seed(0)
    keywords = eval(f"dict({options})", {"torch": torch, "seeded": seeded})  # noqa: S307
    return DataLoader(
        dataset,
        batch_size=None,
        num_workers=2,
        multiprocessing_context="fork",
        **keywords,
    )


@cache
def found(sample: str, options: str, made: str) -> tuple[bool, bool]:
    """Run two epochs, and return whether workers differ, and whether epochs do."""
    dataset = Numbers(sample)
    loader = make(dataset, options)
    first = list(loader)
    if made == "anew":
        loader = make(dataset, options)
    second = list(loader)
    # Samples 0 and 2 come from worker 0, samples 1 and 3 from worker 1.
    return first[0::2] != first[1::2], first != second


def predicted() -> dict[str, tuple[bool, bool]]:
    """Return your rows, worked out where torch is not there."""
    __tracebackhide__ = True
    with forbids(kata) as fresh:
        rows = fresh.predictions()
        return {name: (bool(row[0]), bool(row[1])) for name, row in rows.items()}


def test_every_pipeline_is_predicted() -> None:
    """No more and no less, and on paper: while they are read, nothing of torch is there."""
    yours = set(predicted())

    assert set(PIPELINES) == yours, f"yours has rows for {sorted(yours)}; expected {[*PIPELINES]}"


@pytest.mark.parametrize("name", PIPELINES)
def test_prediction(name: str) -> None:
    """What differs, between workers and between epochs."""
    row = predicted()[name]
    is_right = found(*PIPELINES[name]) == row

    assert is_right, (
        f"{name}: {PIPELINES[name]}\n"
        f"yours  workers differ: {row[0]}, epochs differ: {row[1]}; PyTorch says otherwise\n"
        f"rule   {RULES[name]}"
    )
