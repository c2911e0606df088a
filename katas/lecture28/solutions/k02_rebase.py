"""Clean up a branch before you ask for a review."""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from katas.lecture28.repository import Run


# From test/opinfo.py.
SAMPLES = "math.tanh(a / 2), (([1.5,"
MORE = "math.tanh(a / 2), (([-1000.0, 1.5,"


def answer(run: Run) -> None:
    """Rewrite ``sigmoid``, which is checked out in the clone and pushed to ``origin``."""
    run.replace("test/opinfo.py", SAMPLES, MORE)
    run("git commit -a --fixup HEAD~1")
    run("git rebase --onto HEAD~4 HEAD~3")
    run("git fetch upstream")
    run('git rebase -i --autosquash upstream/main --exec "python test/run.py"')
    run("git push --force-with-lease origin sigmoid")
