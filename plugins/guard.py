"""Tells practice from a contribution, in a pull request to upstream, and says so kindly.

    python -m plugins.guard [--base upstream/main] [--head HEAD]
    python -m plugins.guard --fetch pull/12/head

What it is, is decided by `plugins.guardplan`; the files are only read, never run. The status is 0
for a contribution, 1 for practice, 2 if nothing could be compared.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from plugins.annotations import DATA
from plugins.annotations import escaped
from plugins.annotations import on_a_runner
from plugins.annotations import unread
from plugins.gitrepo import GitError
from plugins.gitrepo import Repo
from plugins.guardplan import Change
from plugins.guardplan import judge
from plugins.guardwords import TITLES
from plugins.guardwords import words
from plugins.practicenotes import JOB_SUMMARY
from plugins.practicenotes import base_of
from plugins.practicenotes import say
from plugins.practicenotes import write
from plugins.reset import RefusedError


if TYPE_CHECKING:
    from collections.abc import Sequence


def changes_between(repo: Repo, base: str, head: str) -> list[Change]:
    """Return what `head` changes of what it has in common with `base`."""
    if not repo.commit(head):
        raise RefusedError(f"There is no commit {head}: fetch it, or name another with --head.")
    common = repo.line("merge-base", base, head)
    if not common:
        raise RefusedError(
            f"{base} and {head} have no commit in common; a shallow clone lacks it:"
            " git fetch --unshallow"
        )
    listing = repo.run("diff", "--name-only", "--no-renames", "-z", common, head)
    paths = listing.decode(errors="surrogateescape").split("\0")[:-1]
    return [Change(path, repo.blob(common, path), repo.blob(head, path)) for path in paths]


def fetched(repo: Repo, reference: str) -> str:
    """Return the commit of a reference of `origin`, such as that of a pull request."""
    repo.run("fetch", "--quiet", "--", "origin", reference)
    return repo.commit("FETCH_HEAD")


def guard(root: Path, asked: str, head: str, reference: str) -> int:
    """Judge, and say it; return the status."""
    repo = Repo(root)
    base = base_of(repo, asked)
    head = fetched(repo, reference) if reference else head
    judgement = judge(changes_between(repo, base, head))
    text = words(judgement)
    if os.environ.get(JOB_SUMMARY):
        write(text, None)
    with unread(os.environ, say):
        say(text)
    practice = judgement.verdict in {"practice", "mixed"}
    if practice and on_a_runner(os.environ):
        say(f"::error::{escaped(TITLES[judgement.verdict], DATA)}\n")
    return 1 if practice else 0


def main(arguments: Sequence[str], root: Path) -> int:
    """Do what the command line asks for; return its status."""
    parser = argparse.ArgumentParser(
        prog="guard", description="Tell practice from a contribution to the course."
    )
    parser.add_argument("--base", default="", help="what it would be merged into")
    parser.add_argument("--head", default="HEAD", help="what would be merged")
    parser.add_argument("--fetch", metavar="REF", default="", help="fetch that from origin first")
    options = parser.parse_args(arguments)
    try:
        return guard(root, options.base, options.head, options.fetch)
    except (RefusedError, GitError) as problem:
        sys.stderr.write(f"{problem}\n")
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], Path(__file__).parents[1]))
