"""Debug: find why five programs do not repeat.

You have set all seeds, and the second run gives other numbers. Each program below is a few lines,
works, and passes a test that runs it a single time. Each reads something that is neither an
argument nor a seed:

    what hashes a string?   who draws besides me?   who finishes first?   what was here before?

Mend them, a word or a line in each. Then each repeats: in another process, beside other code, on
a busy machine. None of them may set a seed that belongs to the whole process.

Begin with `vocabulary`: run it in two shells.
Afterwards read the docstring of ``use_deterministic_algorithms`` in ``torch/__init__.py``, in
site-packages: which one of the five would it have shown you, and how? Then try it.

Real life differs: some of it cannot be mended. Even ``(x @ w)[:1]`` and ``x[:1] @ w`` may differ in
the last bits: another shape may get another kernel. Try it with 512 x 512.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import as_completed
from typing import TYPE_CHECKING
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence


# TODO: mend the five; an import may go. Nothing raises NotImplementedError: they work.


def vocabulary(text: str) -> dict[str, int]:
    """Return the words of a text, numbered from 0 on, in any order: the same each time."""
    return {word: number for number, word in enumerate(set(text.split()))}


def split(count: int, seed: int) -> list[int]:
    """Return the numbers below `count` in an order that `seed` decides."""
    torch.manual_seed(seed)
    order: list[int] = np.random.permutation(count).tolist()  # noqa: NPY002
    return order


def epochs(seed: int, evaluate: Callable[[], object]) -> list[list[int]]:
    """Return the order of two epochs, that `seed` decides, whatever `evaluate` draws after each."""
    data: Any = range(8)
    torch.manual_seed(seed)
    training = DataLoader(data, shuffle=True)
    found = []
    for _ in range(2):
        found.append([int(sample) for sample in training])
        evaluate()
    return found


def total(jobs: Sequence[Callable[[], float]]) -> float:
    """Run the jobs, each in a thread at the same time, and return the sum of their results."""
    with ThreadPoolExecutor(len(jobs)) as pool:
        running = [pool.submit(job) for job in jobs]
        return sum(done.result() for done in as_completed(running))


def histogram(places: torch.Tensor, size: int) -> torch.Tensor:
    """Return how often each of the numbers below `size` is in `places`, as float32."""
    counts = torch.empty(size)
    for place in places:
        counts[place] += 1
    return counts
