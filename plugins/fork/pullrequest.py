"""Tells practice from a contribution in a pull request to upstream, in kind words.

    python -m plugins.guard [--base upstream/main] [--head HEAD]
    python -m plugins.guard --fetch pull/12/head

`plugins.fork.judge` decides; the files are only read, never run. The words are Markdown that reads
well in a terminal too. The status is 0 for a contribution, 1 for practice, 2 if nothing could be
compared.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from plugins.fork.actions import DATA
from plugins.fork.actions import JOB_SUMMARY
from plugins.fork.actions import escape_text
from plugins.fork.actions import on_a_runner
from plugins.fork.actions import print_now
from plugins.fork.actions import stop_commands
from plugins.fork.actions import write_summary
from plugins.fork.judge import Change
from plugins.fork.judge import judge
from plugins.fork.upstream import RefusedError
from plugins.fork.upstream import find_base
from plugins.tools.git import GitError
from plugins.tools.git import Repo
from plugins.tools.markdown import markdown_code


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Iterator
    from collections.abc import Sequence
    from pathlib import Path

    from plugins.fork.judge import Judgement
    from plugins.fork.judge import Verdict


MOST = 10
TITLES: dict[Verdict, str] = {
    "nothing": "Nothing differs",
    "practice": "These are answers to exercises: they belong in your fork",
    "mixed": "Answers to exercises are among these changes",
    "contribution": "This is a contribution to the course",
}
KIND = """
Thank you, and well done: somebody has learnt something here.
Here the exercises stay unsolved for the next learner.
A fork is where answers live, and nothing of yours is lost: keep your branch.

- In your fork, open the tab Actions once and enable workflows.
  From then on each push runs the katas that you have edited, and no others.
- On your machine `nox -s practice` does the same.
- `nox -s update` brings new katas into your fork and keeps your answers.
"""
OTHERWISE = """
Did you mean to change a kata for everybody?
Bring the stub back, your answer is kept: `nox -s reset -- {kata}`
Then change the stub, its tests and its solution together, as CONTRIBUTING.md says.
"""
MIXED = """
The other changes look like a contribution, and are welcome by themselves:
"""
GATE = """
CI puts the katas that it changes through the gate; on your machine:
"""


def changes_between(repo: Repo, base: str, head: str) -> list[Change]:
    """Return the changes of `head` since it left `base`."""
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


def fetch_reference(repo: Repo, reference: str) -> str:
    """Return the commit of a reference of `origin`, such as that of a pull request."""
    repo.run("fetch", "--quiet", "--", "origin", reference)
    return repo.commit("FETCH_HEAD")


def guard(root: Path, asked: str, head: str, reference: str) -> int:
    """Judge the changes and print the judgement; return the status of the command."""
    repo = Repo(root)
    base = find_base(repo, asked)
    head = fetch_reference(repo, reference) if reference else head
    judgement = judge(changes_between(repo, base, head))
    text = describe_judgement(judgement)
    if judgement.verdict == "nothing" and head == "HEAD":
        text += describe_work(repo)
    if os.environ.get(JOB_SUMMARY):
        write_summary(text, None)
    with stop_commands(os.environ, print_now):
        print_now(text)
    practice = judgement.verdict in {"practice", "mixed"}
    if practice and on_a_runner(os.environ):
        print_now(f"::error::{escape_text(TITLES[judgement.verdict], DATA)}\n")
    return 1 if practice else 0


def main(arguments: Sequence[str], root: Path) -> int:
    """Run the command line; return its status."""
    parser = argparse.ArgumentParser(
        prog="python -m plugins.guard",
        description="Tell practice from a contribution to the course.",
    )
    parser.add_argument("--base", default="", help="the branch to merge into")
    parser.add_argument("--head", default="HEAD", help="the commit to judge")
    parser.add_argument(
        "--fetch", metavar="REF", default="", help="fetch REF from origin and judge it"
    )
    options = parser.parse_args(arguments)
    try:
        return guard(root, options.base, options.head, options.fetch)
    except (RefusedError, GitError) as problem:
        sys.stderr.write(f"{problem}\n")
        return 2


def describe_work(repo: Repo) -> str:
    """Return a line about files that no commit has yet, which were not judged; "" if none."""
    count = len(repo.run("status", "--porcelain").splitlines())
    if not count:
        return ""
    plural = "s are" if count > 1 else " is"
    return f"\nCommits are compared, and {count} file{plural} not committed: see git status.\n"


def describe_judgement(judgement: Judgement) -> str:
    """Return the judgement in kind words."""
    return "\n".join(judgement_lines(judgement)) + "\n"


def judgement_lines(judgement: Judgement) -> Iterator[str]:
    """Return the lines of the description."""
    yield f"## {TITLES[judgement.verdict]}"
    if judgement.filled:
        yield ""
        yield from list_names(judgement.filled)
        yield from KIND.splitlines()
        yield from OTHERWISE.format(kata=judgement.filled[0]).splitlines()
    if judgement.verdict == "mixed":
        yield from MIXED.splitlines()
        yield ""
        yield from list_names(judgement.rest)
    if judgement.verdict == "contribution":
        yield ""
        if not judgement.katas:
            yield "It changes no kata."
            return
        for kata, roles in judgement.katas:
            yield f"- {markdown_code(kata)}: {', '.join(roles)}"
        yield from GATE.splitlines()
        yield ""
        for kata, _ in judgement.katas:
            lecture, _, name = kata.partition("/")
            yield f"    nox -s verify -- {lecture} {name}"


def list_names(names: Iterable[str]) -> Iterator[str]:
    """Return a list of the first names, and how many more there are."""
    names = list(names)
    yield from (f"- {markdown_code(name)}" for name in names[:MOST])
    if len(names) > MOST:
        yield f"- and {len(names) - MOST} more"
