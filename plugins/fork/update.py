"""``nox -s update``: brings what is new upstream into a fork whose exercises have been edited.

    python -m plugins.update [upstream/main]

An exercise without edits moves on, an edited one is merged, and one that was edited in the same
lines is left, with a note. It ends in one merge commit, which holds nothing that was not committed
before. Files come first, then the index, then the branch, each replaced whole, so a run that is
killed has lost nothing, and the next one finishes.
"""

from __future__ import annotations

import sys
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from plugins.fork import steps
from plugins.fork.plan import SAME_LINES
from plugins.fork.plan import describe_counts
from plugins.fork.plan import plan_update
from plugins.fork.upstream import HOW
from plugins.fork.upstream import UNWRITTEN
from plugins.fork.upstream import RefusedError
from plugins.fork.upstream import upstream_of
from plugins.tools.files import describe_os_error
from plugins.tools.files import state_folder
from plugins.tools.git import GitError
from plugins.tools.git import Repo
from plugins.tools.locks import locked


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Iterator
    from collections.abc import Sequence

    from plugins.fork.plan import Step


LOCK = "update.lock"
OTHERS = f"Name it once: {HOW}\nor each time: nox -s update -- origin/main"
# The files that git keeps while it waits for a person.
UNDER_WAY = {
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
}


def update(root: Path, asked: str = "") -> list[str]:
    """Bring what is new into the working tree and the branch; return the lines to print."""
    repo = Repo(root)
    branch = check_branch(repo)
    folder = state_folder(root)
    folder.mkdir(exist_ok=True)
    with locked(folder / LOCK):
        steps.remove_leftovers(repo)
        upstream = fetch_upstream(repo, asked)
        head, theirs = repo.commit("HEAD"), repo.commit(upstream)
        base = repo.line("merge-base", head, theirs)
        if not base:
            raise RefusedError(f"This branch and {upstream} have no commit in common.")
        if base == theirs:
            return [f"Nothing is new in {upstream}."]
        planned, odd = plan_update(repo, base, head, theirs)
        commit = steps.make_merge_commit(repo, planned, upstream, head, theirs, ahead=base != head)
        copies = steps.write_files(repo, planned, theirs, datetime.now().astimezone())
        steps.write_index(repo, planned)
        repo.run("update-ref", "-m", f"update to {upstream}", branch, commit, head)
    lines = [*report_steps(planned, copies, theirs)]
    for path in odd:
        lines += [
            f"left    {path}",
            f"        it is not a regular file: git checkout {upstream} -- {path}",
        ]
    return [*lines, f"{upstream} is in {branch.removeprefix('refs/heads/')} now."]


def check_branch(repo: Repo) -> str:
    """Return the branch that is checked out.

    Raises
    ------
    RefusedError
        If an update cannot begin; the message says why.
    """
    top = repo.run("rev-parse", "--show-toplevel").decode().strip()
    if Path(top).resolve() != repo.root.resolve():
        raise RefusedError("Run this in the root of the repository.")
    branch = repo.line("symbolic-ref", "--quiet", "HEAD")
    if not branch:
        raise RefusedError("No branch is checked out: git switch main")
    for name, what in UNDER_WAY.items():
        if repo.git_path(name).exists():
            raise RefusedError(f"A {what} is under way: finish it, or git {what} --abort")
    if repo.line("ls-files", "--unmerged"):
        raise RefusedError("Some files are not merged yet: git status")
    if not repo.line("var", "GIT_COMMITTER_IDENT"):
        raise RefusedError(
            'Git has no name and email configured: git config user.name "..." and user.email'
        )
    return branch


def fetch_upstream(repo: Repo, asked: str) -> str:
    """Return the branch of the course, brought up to date."""
    remotes = repo.line("remote").split()
    remote = (asked or "upstream").partition("/")[0]
    if remote in remotes:
        repo.run("fetch", "--quiet", remote)
    found = upstream_of(repo, asked)
    if not found:
        raise RefusedError(f"There is no {asked or 'upstream'} to update from.\n{OTHERS}")
    return found


def report_steps(planned: Iterable[Step], copies: dict[str, str], theirs: str) -> Iterator[str]:
    """Return the lines about the files: the merged and the left by name, the others in number."""
    planned = list(planned)
    yield f"{describe_counts(Counter(step.tree.word for step in planned))}."
    for step in planned:
        path, folder = step.path, steps.upstreams_folder(step, theirs)
        if step.tree.word in {"merged", "left"} or path in copies:
            yield f"{step.tree.word:8}{path}"
        if step.tree.why:
            yield f"        {step.tree.why}"
        if folder:
            yield f"        upstream's: {folder}/{path}"
        if step.tree.why == SAME_LINES:
            other = f"{folder}/before/{path} {folder}/{path}"
            yield f"        to merge:   git merge-file {path} {other}"
        for name in (path, f"{path}.staged"):
            if name in copies:
                yield f"        your version: {copies[name]}"


def main(arguments: Sequence[str], root: Path) -> int:
    """Run the command line; return its status."""
    if len(arguments) > 1 or any(argument.startswith("-") for argument in arguments):
        sys.stdout.write(f"{__doc__}\n")
        return 0 if {"-h", "--help"} & {*arguments} else 1
    try:
        lines = update(root, *arguments)
    except (RefusedError, GitError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except OSError as error:
        sys.stderr.write(f"{describe_os_error(error)}\n{UNWRITTEN}\n")
        return 1
    sys.stdout.write("\n".join([*lines, ""]))
    return 0
