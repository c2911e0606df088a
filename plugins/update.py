"""``nox -s update``: brings what is new upstream into a fork whose exercises have been edited.

    python -m plugins.update [upstream/main]

An exercise that nobody has edited moves on, an edited one is merged, and one that was edited in
the same lines is left, with a note. It ends in one merge commit, which holds nothing that was not
committed before. Files come first, then the index, then the branch, each replaced whole, so a run
that is killed has lost nothing, and the next one finishes.
"""

from __future__ import annotations

import sys
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from plugins import updatesteps
from plugins.gitrepo import GitError
from plugins.gitrepo import Repo
from plugins.locks import locked
from plugins.reset import RefusedError
from plugins.reset import state
from plugins.threeway import SAME_LINES
from plugins.threeway import told
from plugins.updateplan import plan
from plugins.upstreams import HOW
from plugins.upstreams import upstream_of


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Iterator
    from collections.abc import Sequence

    from plugins.updateplan import Step


LOCK = "update.lock"
OTHERS = f"Name it once: {HOW}\nor each time: nox -s update -- origin/main"
# What git keeps while it waits for a person.
UNDER_WAY = {
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
}


def update(root: Path, asked: str = "") -> list[str]:
    """Bring what is new into the working tree and the branch; return what was done."""
    repo = Repo(root)
    branch = checked_branch(repo)
    with locked(state(root) / LOCK):
        updatesteps.tidy(repo)
        upstream = fetched(repo, asked)
        head, theirs = repo.commit("HEAD"), repo.commit(upstream)
        base = repo.line("merge-base", head, theirs)
        if not base:
            raise RefusedError(f"This branch and {upstream} have no commit in common.")
        if base == theirs:
            return [f"Nothing is new in {upstream}."]
        steps, odd = plan(repo, base, head, theirs)
        commit = updatesteps.merge_commit(repo, steps, upstream, head, theirs, ahead=base != head)
        copies = updatesteps.write_files(repo, steps, theirs, datetime.now().astimezone())
        updatesteps.write_index(repo, steps)
        repo.run("update-ref", "-m", f"update to {upstream}", branch, commit, head)
    said = [*report(steps, copies, theirs)]
    for path in odd:
        said += [
            f"left    {path}",
            f"        it is no ordinary file: git checkout {upstream} -- {path}",
        ]
    return [*said, f"{upstream} is in {branch.removeprefix('refs/heads/')} now."]


def checked_branch(repo: Repo) -> str:
    """Return the branch that is checked out, if nothing stands in the way."""
    top = repo.line("rev-parse", "--show-toplevel")
    if not top or Path(top).resolve() != repo.root.resolve():
        raise RefusedError("This is not the root of a repository of git.")
    branch = repo.line("symbolic-ref", "--quiet", "HEAD")
    if not branch:
        raise RefusedError("No branch is checked out: git switch main")
    for name, what in UNDER_WAY.items():
        if repo.git_path(name).exists():
            raise RefusedError(f"A {what} is under way: finish it, or git {what} --abort")
    if repo.line("ls-files", "--unmerged"):
        raise RefusedError("Some files are not merged yet: git status")
    if not repo.line("var", "GIT_COMMITTER_IDENT"):
        raise RefusedError('Git does not know you: git config user.name "..." and user.email')
    return branch


def fetched(repo: Repo, asked: str) -> str:
    """Return the branch of the course, brought up to date."""
    remotes = repo.line("remote").split()
    remote = (asked or "upstream").partition("/")[0]
    if remote in remotes:
        repo.run("fetch", "--quiet", remote)
    found = upstream_of(repo, asked)
    if not found:
        raise RefusedError(f"There is no {asked or 'upstream'} to take from.\n{OTHERS}")
    return found


def report(steps: Iterable[Step], copies: dict[str, str], theirs: str) -> Iterator[str]:
    """Return what became of the files; those that are simply new are counted."""
    steps = list(steps)
    yield f"{told(Counter(step.tree.word for step in steps))}."
    for step in steps:
        path, folder = step.path, updatesteps.beside(step, theirs)
        if step.tree.word in {"merged", "left"}:
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
    """Do it; return the status of the command."""
    if len(arguments) > 1 or any(argument.startswith("-") for argument in arguments):
        sys.stdout.write(f"{__doc__}\n")
        return 0 if {"-h", "--help"} & {*arguments} else 1
    try:
        said = update(root, *arguments)
    except (RefusedError, GitError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write("\n".join([*said, ""]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], Path(__file__).parents[1]))
