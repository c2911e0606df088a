"""Debug: find out why five programs are not repeatable."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence


def vocabulary(text: str) -> dict[str, int]:
    """Return the words of a text, numbered from 0, in any order that is the same each time."""
    return {word: number for number, word in enumerate(sorted(set(text.split())))}


def split(count: int, seed: int) -> list[int]:
    """Return the numbers below `count` in an order determined by `seed`."""
    order: list[int] = np.random.default_rng(seed).permutation(count).tolist()
    return order


def epochs(seed: int, evaluate: Callable[[], object]) -> list[list[int]]:
    """Return the orders of two epochs, fixed by `seed`, whatever `evaluate` draws after each."""
    data: Any = range(8)
    own = torch.Generator().manual_seed(seed)
    training = DataLoader(data, shuffle=True, generator=own)
    found = []
    for _ in range(2):
        found.append([int(sample) for sample in training])
        evaluate()
    return found


def total(jobs: Sequence[Callable[[], float]]) -> float:
    """Run all jobs at once, each in its own thread, and return the sum of their results."""
    with ThreadPoolExecutor(len(jobs)) as pool:
        running = [pool.submit(job) for job in jobs]
        return sum(done.result() for done in running)


def histogram(places: torch.Tensor, size: int) -> torch.Tensor:
    """Return how often each number below `size` occurs in `places`, as float32."""
    counts = torch.zeros(size)
    for place in places:
        counts[place] += 1
    return counts
