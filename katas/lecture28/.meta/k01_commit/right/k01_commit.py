"""Make a commit that can be reviewed in a minute: by way of the stash, and an older command."""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from katas.lecture28.repository import Run


WRONG, RIGHT = "and one for the others", "and zero for the others"


def answer(run: Run) -> None:
    """Commit the fix in the clone: `main`, the print and the notes stay where they are."""
    run("git stash push --include-untracked")
    run("git checkout -b relu-docs upstream/main")
    run.replace("docs/ops.md", WRONG, RIGHT)
    why = "The section said one, and the kernel\nsays zero.\n\nFixes #17"
    run(f'git commit -a -m "Bring the docs of relu in line with its kernel" -m "{why}"')
    run("git stash pop")
