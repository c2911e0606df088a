"""The commands of an exploration in lecture 18: one app, and what three schedulers would get."""

from __future__ import annotations

import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from plugins import ROOT
from tests.support.cluster import NO_TORCHX


if TYPE_CHECKING:
    from pathlib import Path


README = (ROOT / "katas/lecture18/README.md").read_text(encoding="utf-8")
COMMANDS = [line.strip() for line in README.splitlines() if line.strip().startswith("torchx run")]
# The three retries in the request of each scheduler, and what comes with them.
RETRIES = [
    pytest.param("local_cwd", []),
    pytest.param("slurm", ["TORCHX_MAX_RETRIES=3", "scontrol requeue"]),
    pytest.param(
        "kubernetes",
        ["kind: Job", "  maxRetry: 3", "- action: RestartJob", "  event: PodFailed"],
        marks=pytest.mark.tool("kubernetes"),
    ),
]


@pytest.mark.parametrize(("scheduler", "retries"), RETRIES)
def test_an_app_is_shown_and_not_started(
    scheduler: str, retries: list[str], tmp_path: Path
) -> None:
    """Each request is printed; of the retries it has what the README asks for."""
    pytest.importorskip("torchx", reason=NO_TORCHX)
    (command,) = (each for each in COMMANDS if f"-s {scheduler} " in each)
    (tmp_path / "fit.py").touch()
    words = [sys.executable, "-m", "torchx.cli.main", *shlex.split(command)[1:]]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    request = done.stdout.partition("=== SCHEDULER REQUEST ===")[2]

    assert not done.returncode, done.stderr[-2000:]
    assert "fit.py" in request, done.stdout
    for text in retries:
        assert text in request, request
    assert ("retr" in request.lower()) == (scheduler != "local_cwd"), request


def test_each_command_of_the_exploration_is_run() -> None:
    """So that none is added without a test."""
    assert len(RETRIES) == len(COMMANDS)
