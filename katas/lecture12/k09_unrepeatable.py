"""Debug: find out why five programs are not repeatable.

You have set all seeds, and still the second run gives different numbers. Each program below is
short, works, and passes a test that runs it once. Each reads something that is neither an argument
nor a seed:

    what hashes a string?   who draws besides me?   who finishes first?   what was here before?

Fix them; each takes a word or a line. Each must then repeat in another process, alongside other
code, and on a busy machine. None may set a seed that belongs to the whole process.

Begin with `vocabulary`: run it in two shells.
Afterwards read the docstring of ``use_deterministic_algorithms`` in ``torch/__init__.py``, in
site-packages: which of the five would it have revealed, and how? Then try it.

Real life differs: some of this cannot be fixed. Even ``(x @ w)[:1]`` and ``x[:1] @ w`` may differ
in the last bits, because another shape may use another kernel. Try it with 512 x 512.
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


# TODO: fix all five; you may drop an import. Nothing raises NotImplementedError: they work.


def vocabulary(text: str) -> dict[str, int]:
    """Return the words of a text, numbered from 0, in any order that is the same each time."""
    return {word: number for number, word in enumerate(set(text.split()))}


def split(count: int, seed: int) -> list[int]:
    """Return the numbers below `count` in an order determined by `seed`."""
    torch.manual_seed(seed)
    order: list[int] = np.random.permutation(count).tolist()  # noqa: NPY002
    return order


def epochs(seed: int, evaluate: Callable[[], object]) -> list[list[int]]:
    """Return the orders of two epochs, fixed by `seed`, whatever `evaluate` draws after each."""
    data: Any = range(8)
    torch.manual_seed(seed)
    training = DataLoader(data, shuffle=True)
    found = []
    for _ in range(2):
        found.append([int(sample) for sample in training])
        evaluate()
    return found


def total(jobs: Sequence[Callable[[], float]]) -> float:
    """Run all jobs at once, each in its own thread, and return the sum of their results."""
    with ThreadPoolExecutor(len(jobs)) as pool:
        running = [pool.submit(job) for job in jobs]
        return sum(done.result() for done in as_completed(running))


def histogram(places: torch.Tensor, size: int) -> torch.Tensor:
    """Return how often each number below `size` occurs in `places`, as float32."""
    counts = torch.empty(size)
    for place in places:
        counts[place] += 1
    return counts
