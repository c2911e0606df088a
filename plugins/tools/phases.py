"""Notes when a run under ``--watch`` reaches each of its phases, for the benchmark of it."""

from __future__ import annotations

import os
import time
from pathlib import Path


# The file to which the phases are added; without it nothing is noted.
VARIABLE = "KATAS_PHASES"


def note_phase(name: str) -> None:
    """Add a line with the name of the phase that has just ended and the time, if that is wanted.

    The clock is the same in all processes.
    """
    if wanted := os.environ.get(VARIABLE):
        with Path(wanted).open("a", encoding="utf-8") as file:
            file.write(f"{name} {time.monotonic():.6f}\n")
