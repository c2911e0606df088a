"""Tests of k04_threads: every program is run and compared with your prediction."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch

from katas.lecture01 import k04_threads as kata
from katas.lecture01.k04_threads import PROGRAMS
from plugins.kit import forbids


if TYPE_CHECKING:
    from collections.abc import Iterator


# The rule that decides each program; the answer itself comes from PyTorch.
RULES = {
    "default_dtype": "a dtype for new tensors is a setting of the process",
    "default_device": (
        "a default device is a mode on a stack of modes, and each thread has its own"
    ),
    "grad": "grad mode is thread-local, and a new thread begins as a process does",
    "decorated": "the decorator enters the mode where the function runs",
    "left_behind": "a thread takes its own settings along when it ends",
    "anomaly": "backward may run in threads of the engine, and they are to look for NaN too",
}


@pytest.fixture(autouse=True)
def settings() -> Iterator[None]:
    """Start and end with the settings of a fresh process."""

    def reset() -> None:
        torch.set_default_dtype(torch.float32)
        torch.set_default_device(None)
        torch.set_grad_enabled(True)

    reset()
    yield
    reset()


def predicted() -> dict[str, tuple[Any, ...]]:
    """Return your rows, computed without torch."""
    __tracebackhide__ = True
    with forbids(kata) as fresh:
        rows = {name: tuple(row) for name, row in fresh.predictions().items()}
    types = {type(each) for row in rows.values() for each in row}
    assert types <= {str, bool}, f"a row must be two strings or two bools; yours contain {types}"
    return rows


def test_every_program_is_predicted() -> None:
    """There is exactly one row for each program; your rows cannot call torch."""
    yours = set(predicted())

    assert set(PROGRAMS) == yours, f"you return rows for {sorted(yours)}; expected {[*PROGRAMS]}"


@pytest.mark.parametrize("name", PROGRAMS)
def test_prediction(name: str) -> None:
    """What the main thread sees, and what another thread sees."""
    row = predicted()[name]
    is_right = PROGRAMS[name]() == row

    assert is_right, (
        f"{name}: your row says {row} (here, there), but the threads see something else\n"
        f"program  {PROGRAMS[name].__doc__}\nrule     {RULES[name]}"
    )
