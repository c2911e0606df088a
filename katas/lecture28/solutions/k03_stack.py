"""Split one commit into a stack of three, and restack it after a review."""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from katas.lecture28.repository import Run


OLD, NEW = "slope * x elsewhere.", "slope * x elsewhere, zero included."


def split(run: Run) -> None:
    """Create the branches in the clone, where ``leaky`` is checked out; do not move ``leaky``."""
    run("git switch -c stack/1")
    run("git reset upstream/main")
    run("git add -p tinytorch/kernels.py", typed="y\nn\n")
    run('git commit -m "Give relu its slope by an argument"')
    run("git switch -c stack/2")
    run("git add tinytorch test docs/ops.md")
    run('git commit -m "Add leaky_relu"')
    run("git switch -c stack/3")
    run("git add .")
    run('git commit -m "Explain which activation to take"')


def restack(run: Run) -> None:
    """Fix the lowest commit and rebase the stack on upstream's newest."""
    run.replace("tinytorch/kernels.py", OLD, NEW)
    run("git commit -a --fixup stack/1")
    run("git fetch upstream")
    run("git rebase -i --autosquash --update-refs upstream/main")
