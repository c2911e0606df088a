"""Which lectures differ from what is already merged: the gate looks at those first."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from pathlib import Path


# The first that git knows is what a change is measured against.
BASES = ("origin/main", "HEAD~1")


def changed_lectures(root: Path) -> set[str]:
    """Return the lectures whose files differ; none where git cannot tell."""
    for base in BASES:
        names = _git(root, "diff", "--name-only", f"{base}...HEAD", "--")
        if names is not None:
            break
    status = _git(root, "status", "--porcelain", "--", "katas", "tests") or ""
    return set(re.findall(r"\blecture\d\d\b", (names or "") + status))


def _git(root: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=root, capture_output=True, text=True, check=False
        )
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None
