"""Bisect to the commit that made a test flaky."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


# Ignore the user's own configuration, hooks and signatures.
PLAIN = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}
QUIET = ("-c", "core.hooksPath=/dev/null", "-c", "commit.gpgsign=false")


def git(repo: Path, *words: str) -> str:
    """Run git in a repository and return its output; raise if it fails. Given."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    done = subprocess.run(  # noqa: S603 - our own
        ["git", *QUIET, *words],  # noqa: S607 - the user's git
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
    """Return the remaining candidates of a bisection for the first bad commit. Given."""
    return git(repo, "rev-list", "refs/bisect/bad", "--not", "--glob=refs/bisect/good-*").split()


def repeats(rate: float, steps: int, risk: float) -> int:
    """Return the fewest runs per commit that make a search of `steps` commits safe.

    Each run of a bad commit fails with probability `rate`, in (0, 1]; every run of a good one
    passes. Safe means: if each of the `steps` commits is bad, the probability that at least one of
    them passes all of its runs is at most `risk`, in (0, 1). There is at least one step.
    """
    runs = 1
    while 1 - (1 - (1 - rate) ** runs) ** steps > risk:
        runs += 1
    return runs


def culprit(repo: Path, good: str, bad: str, fails: Callable[[], bool], runs: int) -> str:
    """Return the hash of the first bad commit; leave the repository as it was.

    `fails` runs the test on the checked-out commit. A commit that passes `runs` times is good. Let
    an error from `fails` propagate, but restore the branch and end the bisection first. If only one
    commit can be the culprit, run no test.
    """
    try:
        git(repo, "bisect", "start", bad, good)
        while len(left := suspects(repo)) > 1:
            failed = any(fails() for _ in range(runs))
            git(repo, "bisect", "bad" if failed else "good")
        return left[0]
    finally:
        git(repo, "bisect", "reset")
