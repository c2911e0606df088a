"""Debug: find why five programs do not repeat."""

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
    """Return the words of a text, numbered from 0 on, in any order: the same each time."""
    return {word: number for number, word in enumerate(sorted(set(text.split())))}


def split(count: int, seed: int) -> list[int]:
    """Return the numbers below `count` in an order that `seed` decides."""
    order: list[int] = np.random.default_rng(seed).permutation(count).tolist()
    return order


def epochs(seed: int, evaluate: Callable[[], object]) -> list[list[int]]:
    """Return the order of two epochs, that `seed` decides, whatever `evaluate` draws after each."""
    data: Any = range(8)
    own = torch.Generator().manual_seed(seed)
    training = DataLoader(data, shuffle=True, generator=own)
    found = []
    for _ in range(2):
        found.append([int(sample) for sample in training])
        evaluate()
    return found


def total(jobs: Sequence[Callable[[], float]]) -> float:
    """Run the jobs, each in a thread at the same time, and return the sum of their results."""
    with ThreadPoolExecutor(len(jobs)) as pool:
        running = [pool.submit(job) for job in jobs]
        return sum(done.result() for done in running)


def histogram(places: torch.Tensor, size: int) -> torch.Tensor:
    """Return how often each of the numbers below `size` is in `places`, as float32."""
    counts = torch.zeros(size)
    for place in places:
        counts[place] += 1
    return counts
