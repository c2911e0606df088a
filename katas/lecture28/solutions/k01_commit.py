"""Make a commit that can be reviewed in a minute."""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from katas.lecture28.repository import Run


WRONG, RIGHT = "and one for the others", "and zero for the others"


def answer(run: Run) -> None:
    """Commit the fix in the clone; leave `main`, the print and the notes as they are."""
    run("git switch -c relu-docs")
    run.replace("docs/ops.md", WRONG, RIGHT)
    run("git add docs/ops.md")
    run(
        'git commit -m "Document that relu gives zero for negatives"'
        ' -m "The section said one, and the kernel is right." -m "Fixes #17"'
    )
