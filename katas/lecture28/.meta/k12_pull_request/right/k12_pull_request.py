"""Open a pull request to this course, and keep your answers out of it: in a second worktree."""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from katas.lecture28.repository import Run


KATA = "katas/lecture01/k01_strides.py"
WRONG, RIGHT = "has strides (2, 1)", "has strides (3, 1)"


def answer(run: Run) -> None:
    """Push a contribution to the fork; `main` is checked out, with your answer, and stays."""
    run("git worktree add --no-track -b mine ../mine upstream/main")
    text = run.read(f"../mine/{KATA}")
    run.write(f"../mine/{KATA}", text.replace(WRONG, RIGHT))
    run('git -C ../mine commit -a -m "Correct the strides of k01_strides"')
    run("git -C ../mine push ../fork.git mine:clearer-brief")
    run("git worktree remove ../mine")
    run("git branch -D mine")
