"""Make a branch readable before you ask for its review: pick by pick."""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from katas.lecture28.repository import Run


# Of test/opinfo.py.
SAMPLES = "math.tanh(a / 2), (([1.5,"
MORE = "math.tanh(a / 2), (([-1000.0, 1.5,"


def answer(run: Run) -> None:
    """Rewrite ``sigmoid``, which is checked out in the clone and pushed to ``origin``."""
    shas = run("git log --reverse --format=%h main..").split()
    run("git fetch upstream")
    run("git reset --hard upstream/main")
    run(f"git cherry-pick {shas[0]}")
    run(f"git cherry-pick --no-commit {shas[3]}")
    run("git commit --amend --no-edit")
    run(f"git cherry-pick {shas[2]}")
    run.replace("test/opinfo.py", SAMPLES, MORE)
    run("git commit -a --amend --no-edit")
    run("git push --force origin HEAD:sigmoid")
