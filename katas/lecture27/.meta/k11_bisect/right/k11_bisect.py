"""Bisect to the commit that made a test flaky."""

from __future__ import annotations

import math
import os
import subprocess
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


# The user's own configuration, hooks and signatures are left out.
PLAIN = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}
QUIET = ("-c", "core.hooksPath=/dev/null", "-c", "commit.gpgsign=false")


def git(repo: Path, *words: str) -> str:
    """Run git in a repository, and return what it says; raise if it fails. Given."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    done = subprocess.run(
        ["git", *QUIET, *words],
        cwd=repo,
        env=env | PLAIN,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"git {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout.strip()


def suspects(repo: Path) -> list[str]:
    """Return the commits that a bisection has left: one is the first bad commit. Given."""
    return git(repo, "rev-list", "refs/bisect/bad", "--not", "--glob=refs/bisect/good-*").split()


def repeats(rate: float, steps: int, risk: float) -> int:
    """Return the fewest runs of each commit that make a search of `steps` commits safe.

    Each run of a bad commit fails with probability `rate`, in (0, 1]; those of a good one pass.
    Safe means: if each of the `steps` commits is bad, the probability that at least one of them
    passes all of its runs is at most `risk`, in (0, 1). There is at least one step.
    """
    each = (1 - risk) ** (1 / steps)
    runs = 1 if rate == 1 else max(1, math.floor(math.log(1 - each) / math.log(1 - rate)) - 1)
    while (1 - (1 - rate) ** runs) ** steps < 1 - risk:
        runs += 1
    return runs


def culprit(repo: Path, good: str, bad: str, fails: Callable[[], bool], runs: int) -> str:
    """Return the hash of the first bad commit; leave the repository as it was.

    `fails` runs the test on what is checked out. A commit that passes `runs` times is good. An
    error of `fails` propagates; even then the branch is back and no bisection is under way. If
    only one commit can be the culprit, no test is run.
    """
    try:
        git(repo, "bisect", "start")
        git(repo, "bisect", "good", good)
        git(repo, "bisect", "bad", bad)
        while suspects(repo)[1:]:
            for _ in range(runs):
                if fails():
                    git(repo, "bisect", "bad")
                    break
            else:
                git(repo, "bisect", "good")
        return git(repo, "rev-parse", "refs/bisect/bad")
    finally:
        git(repo, "bisect", "reset")
