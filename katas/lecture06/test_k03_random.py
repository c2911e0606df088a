"""Tests of k03_random: a real DataLoader runs every pipeline and is compared with your row."""

from __future__ import annotations

import inspect
import io
import random
import tokenize
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


# The rule behind each pipeline. Answers are not stored here: PyTorch computes them.
RULES = {
    "numpy": "the global generators of random, NumPy and torch are seeded in each worker",
    "own": "a generator of your own is copied into each worker, and seeded by no one",
    "own_kept": "persistent workers stay: what they have drawn stays drawn",
    "by_number": "worker_init_fn comes after the seeding, in each worker, in each epoch",
    "generator": "when an epoch begins, the seed of the workers is drawn from the generator",
    "generator_anew": "a generator that begins again draws what it drew before",
}


# Ways to fetch rows instead of working them out: through a module that has imported PyTorch, or
# through the callers' frames and classes.
FETCHED = {"import", "getattr", "vars", "dir", "f_back", "tb_frame", "gi_frame", "f_globals"}
FUTURE = "from __future__ import annotations"


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
    """Return your rows, which cannot call torch."""
    __tracebackhide__ = True
    with forbids(kata) as fresh:
        rows = {name: tuple(row) for name, row in fresh.predictions().items()}
    for name, row in rows.items():
        kinds = [type(each).__name__ for each in row]
        assert kinds == ["bool", "bool"], f"{name}: your row is {row}, expected two bools"
    return rows


def fetching() -> set[str]:
    """Return the words in your file that could be used to fetch rows."""
    text = inspect.getsource(kata).replace(FUTURE, "")
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    words = {token.string for token in tokens if token.type == tokenize.NAME}
    return {word for word in words if word in FETCHED or word.startswith("__")}


def test_every_pipeline_is_predicted() -> None:
    """There is one row of two bools for each pipeline, and no row comes from torch."""
    yours = set(predicted())
    words = fetching()

    assert not words, f"your file uses {sorted(words)}: work the six rows out on paper"
    assert set(PIPELINES) == yours, f"yours has rows for {sorted(yours)}; expected {[*PIPELINES]}"


@pytest.mark.parametrize("name", PIPELINES)
def test_prediction(name: str) -> None:
    """Your row says whether numbers differ between workers, and between epochs."""
    row = predicted()[name]
    is_right = found(*PIPELINES[name]) == row

    assert is_right, (
        f"{name}: {PIPELINES[name]}\n"
        f"yours  workers differ: {row[0]}, epochs differ: {row[1]}; PyTorch's result differs\n"
        f"rule   {RULES[name]}"
    )
