"""Where the course comes from: the branch that a fork follows, and the stubs in its history."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plugins.course.files import NOT_THE_LEARNERS
from plugins.guide.traceback import TODO


if TYPE_CHECKING:
    from collections.abc import Iterable

    from plugins.tools.git import Repo


REMOTE = "upstream"
BRANCHES = ("HEAD", "main", "master")
HOW = "git remote add upstream ADDRESS-OF-THE-COURSE && git fetch upstream"

UNWRITTEN = "Nothing of yours is lost. Once that can be written, run the same command again."


class RefusedError(Exception):
    """Nothing was changed; the message says why."""


def find_base(repo: Repo, asked: str, address: str = "") -> str:
    """Return the branch that holds the stubs, fetched first if there is an address for it.

    Raises
    ------
    RefusedError
        If there is none; the message says what to fetch.
    """
    if not repo.line("rev-parse", "--git-dir"):
        raise RefusedError("Not a git repository: there is nothing to compare with.")
    if address:
        remote = (asked or REMOTE).partition("/")[0]
        if remote not in repo.line("remote").split():
            repo.run("remote", "add", "--", remote, address)
        repo.run("fetch", "--quiet", remote)
    if base := upstream_of(repo, asked):
        return base
    branches = repo.line("for-each-ref", "--format=%(refname:lstrip=2)", "refs/remotes").split()
    raise RefusedError(describe_missing_base(asked, repo.line("remote").split(), branches))


def describe_missing_base(asked: str, remotes: Iterable[str], branches: Iterable[str]) -> str:
    """Return that there is no such branch, and how to get it."""
    name = asked or f"{REMOTE}/main"
    remote, _, branch = name.partition("/")
    message = [f"There is no {name} to compare your exercises with."]
    if not branch or remote not in remotes:
        return "\n".join([*message, f"Fetch the course: {HOW}"])
    others = [each for each in branches if each.startswith(f"{remote}/")]
    if others:
        message.append(f"There is: {' '.join(others)}; name it with --base.")
    return "\n".join([*message, f"Fetch it: git fetch {remote} {branch}:refs/remotes/{name}"])


def upstream_of(repo: Repo, asked: str = "") -> str:
    """Return the branch of the course as git writes it, ``upstream/main``, or ""."""
    names = [asked] if asked else [f"{REMOTE}/{branch}" for branch in BRANCHES]
    found = next((name for name in names if repo.commit(name)), "")
    # upstream/HEAD is another name of upstream/main.
    return repo.line("rev-parse", "--abbrev-ref", found) or found if found else ""


def stub_commits(repo: Repo, upstream: str) -> list[str]:
    """Return the commits that may hold the stubs of the katas, the best one first.

    With an upstream this is where the fork left it, or last took from it. Without one these are
    the commits that changed tests, solutions or plugins: learners change none of these, and the
    authors who did left the exercises as stubs.
    """
    base = repo.line("merge-base", "HEAD", upstream) if upstream else ""
    changed = repo.line("log", "--format=%H", "HEAD", "--", *NOT_THE_LEARNERS).split()
    return [*([base] if base else []), *changed]


def is_stub(text: bytes) -> bool:
    """Whether an exercise says where to write: every stub of the course does."""
    return bool(TODO.search(text.decode(errors="replace")))
