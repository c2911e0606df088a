"""Open a pull request to this course, and keep your answers out of it."""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from katas.lecture28.repository import Run


KATA = "katas/lecture01/k01_strides.py"
WRONG, RIGHT = "has strides (2, 1)", "has strides (3, 1)"


def answer(run: Run) -> None:
    """Push a contribution to the fork; leave `main`, which is checked out, as it is."""
    run("git switch --no-track -c clearer-brief upstream/main")
    run.replace(KATA, WRONG, RIGHT)
    run('git commit -m "Correct the strides in the brief of k01_strides" -a')
    run("git push origin clearer-brief")
