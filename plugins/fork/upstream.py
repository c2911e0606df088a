"""Where the course comes from: the branch that a fork follows, and the stub of a kata in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plugins.frames import TODO


if TYPE_CHECKING:
    from plugins.gitrepo import Repo


REMOTE = "upstream"
BRANCHES = ("HEAD", "main", "master")
NOT_THE_LEARNERS = (":(glob)**/test_*.py", ":(glob)katas/*/solutions/**", "plugins")
HOW = "git remote add upstream ADDRESS-OF-THE-COURSE && git fetch upstream"


def upstream_of(repo: Repo, asked: str = "") -> str:
    """Return the branch of the course as git writes it, ``upstream/main``, or ""."""
    names = [asked] if asked else [f"{REMOTE}/{branch}" for branch in BRANCHES]
    found = next((name for name in names if repo.commit(name)), "")
    # upstream/HEAD is another name of upstream/main.
    return repo.line("rev-parse", "--abbrev-ref", found) or found if found else ""


def stub_commits(repo: Repo, upstream: str) -> list[str]:
    """Return the commits that may hold the stubs of the katas, the best one first.

    With an upstream this is where the fork left it, or last took from it. Without one these are
    the commits that changed what learners do not change, tests and solutions: whoever did has
    left the exercises as they were.
    """
    base = repo.line("merge-base", "HEAD", upstream) if upstream else ""
    changed = repo.line("log", "--format=%H", "HEAD", "--", *NOT_THE_LEARNERS).split()
    return [*([base] if base else []), *changed]


def is_stub(text: bytes) -> bool:
    """Whether an exercise says where to write: every stub of the course does."""
    return bool(TODO.search(text.decode(errors="replace")))
