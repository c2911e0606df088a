"""Resolve a conflict so that neither side is lost."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from katas.lecture28.repository import Run


MARKER = re.compile(r"^(?:<{7}|={7}|>{7}).*\n", re.MULTILINE)


def answer(run: Run) -> None:
    """Complete the rebase in the clone, where ``sigmoid`` is checked out."""
    run("git rebase upstream/main", check=False)
    for path in run("git diff --diff-filter=U --name-only").split():
        run.write(path, MARKER.sub("", run.read(path)))
    run.replace("docs/ops.md", "has 6 operators", "has 7 operators")
    run("git add -u")
    run("git rebase --continue")
