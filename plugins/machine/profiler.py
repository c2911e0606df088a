"""Keeps the log of torch's profiler off the learner's stderr.

Since torch 2.13 it writes a line there whenever a profile begins or ends, ``USDT:2026-...``, which
pytest would show as captured beside the failure of every test that counts operators.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    import pytest


# Read by Kineto, the profiler's library, when it is first used.
VARIABLE = "KINETO_LOG_LEVEL"
# Above the highest level, 5 for USDT; the messages of Python and of the learner are none of it.
NOTHING = "6"


def pytest_configure(config: pytest.Config) -> None:
    """Ask for silence, unless the learner has asked for something else."""

    def restore() -> None:
        os.environ.pop(VARIABLE, None)

    if VARIABLE not in os.environ:
        os.environ[VARIABLE] = NOTHING
        config.add_cleanup(restore)
