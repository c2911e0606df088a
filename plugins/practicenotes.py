"""What ``nox -s practice`` compares with, what else it has noticed, and where its summary goes."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from plugins.practicesummary import code
from plugins.reset import RefusedError
from plugins.upstreams import HOW
from plugins.upstreams import REMOTE
from plugins.upstreams import upstream_of
from plugins.wholefile import write_whole


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Iterator

    from plugins.claimed import Claims
    from plugins.gitrepo import Repo


JOB_SUMMARY = "GITHUB_STEP_SUMMARY"


def base_of(repo: Repo, asked: str, address: str = "") -> str:
    """Return the branch that holds the stubs, fetched first if there is an address for it.

    Raises
    ------
    RefusedError
        If there is none; the message says what to fetch.
    """
    if not repo.line("rev-parse", "--git-dir"):
        raise RefusedError("This is no repository of git: there is nothing to compare with.")
    if address:
        remote = (asked or REMOTE).partition("/")[0]
        if remote not in repo.line("remote").split():
            repo.run("remote", "add", "--", remote, address)
        repo.run("fetch", "--quiet", remote)
    if base := upstream_of(repo, asked):
        return base
    raise RefusedError(missing(asked, repo.line("remote").split(), remote_branches(repo)))


def missing(asked: str, remotes: Iterable[str], branches: Iterable[str]) -> str:
    """Return that there is no such branch, and how to get it."""
    name = asked or f"{REMOTE}/main"
    remote, _, branch = name.partition("/")
    told = [f"There is no {name} to compare your exercises with."]
    if not branch or remote not in remotes:
        return "\n".join([*told, f"Fetch the course: {HOW}"])
    others = [each for each in branches if each.startswith(f"{remote}/")]
    if others:
        told.append(f"There is: {' '.join(others)}; name it with --base.")
    return "\n".join([*told, f"Fetch it: git fetch {remote} {branch}:refs/remotes/{name}"])


def remote_branches(repo: Repo) -> list[str]:
    """Return the branches of the remotes, such as ``upstream/main``."""
    return repo.line("for-each-ref", "--format=%(refname:lstrip=2)", "refs/remotes").split()


def notes(repo: Repo, base: str, claims: Claims, errors: Iterable[str]) -> Iterator[str]:
    """Return what a reader should know besides, in Markdown."""
    for text in errors:
        yield f"A lecture cannot be read, so its katas were not run: {code(text)}"
    for path in claims.tests:
        yield (
            f"{code(path)} is not upstream's: the verdict is that of your tests. "
            f"Upstream's again: {code(f'git checkout {base} -- {path}')}"
        )
    for kata in claims.own:
        yield f"{code(kata.id)} is not in {code(base)}: a kata of your own was not run."
    if claims.katas and "true" == repo.line("rev-parse", "--is-shallow-repository"):
        fetch = code(f"git fetch --unshallow {remote_of(repo, base)}".strip())
        yield (
            "This clone has no history, so an exercise that upstream has changed since you took "
            f"it counts as edited. All of it: {fetch}"
        )
    elif behind := int(repo.line("rev-list", "--count", f"HEAD..{base}") or 0):
        commits = "commit" if behind == 1 else "commits"
        yield f"{code(base)} has {behind} {commits} that you do not have: {code('nox -s update')}"


def remote_of(repo: Repo, base: str) -> str:
    """Return the remote of a branch, or "" for one of this repository."""
    name = base.partition("/")[0]
    return name if name in repo.line("remote").split() else ""


def write(text: str, file: Path | None) -> None:
    """Write the summary: to a file, to that of the job, which others write to as well, or out."""
    job = os.environ.get(JOB_SUMMARY)
    if file:
        write_whole(file, text.encode(), file.resolve().parent)
    elif job:
        with Path(job).open("a", encoding="utf-8") as stream:
            stream.write(text)
    else:
        say(f"\n{text}")


def say(text: str) -> None:
    """Print at once: what pytest prints comes from another process."""
    sys.stdout.write(text)
    sys.stdout.flush()
