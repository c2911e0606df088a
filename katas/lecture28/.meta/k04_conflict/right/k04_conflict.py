"""Resolve a conflict so that neither side is lost: git's union of the sides, then an amend."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from katas.lecture28.repository import Run


MARKER = re.compile(r"^(?:<{7}|={7}|>{7}).*\n", re.MULTILINE)


def answer(run: Run) -> None:
    """Rebase in the clone, where ``sigmoid`` is checked out, until it is done."""
    run("git -c merge.default=union rebase upstream/main")
    run.replace("docs/ops.md", "has 6", "has 7")
    run("git commit -a --amend --no-edit")
