"""Where the course comes from: its branch, and the commits that hold its stubs."""

from __future__ import annotations

from pathlib import Path

import pytest

from plugins.fork.upstream import RefusedError
from plugins.fork.upstream import describe_missing_base
from plugins.fork.upstream import find_base
from plugins.fork.upstream import is_stub
from plugins.fork.upstream import stub_commits
from plugins.fork.upstream import upstream_of
from plugins.tools.git import Repo
from tests.support.fork import Fork
from tests.support.fork import git


TEST = "katas/lecture01/test_k01_first.py"


def test_the_branch_of_the_course_has_one_name(fork: Fork) -> None:
    """It is the name that git shows, also for HEAD of the remote."""
    git(fork.root, "remote", "set-head", "upstream", "main")
    repo = Repo(fork.root)

    assert "upstream/main" == upstream_of(repo)
    assert "upstream/main" == upstream_of(repo, "upstream/HEAD")
    assert "" == upstream_of(repo, "nowhere")


def test_a_commit_without_a_name_is_a_base_too(fork: Fork) -> None:
    """The guard compares with what was checked out."""
    commit = git(fork.root, "rev-parse", "HEAD")

    assert commit == find_base(Repo(fork.root), commit)


def test_a_base_is_fetched_from_its_address(fork: Fork) -> None:
    """Its remote is added if it is missing, and fetched as it is otherwise."""
    git(fork.root, "remote", "remove", "upstream")
    repo = Repo(fork.root)
    address = str(fork.bare)

    assert "course/main" == find_base(repo, "course/main", address)
    assert "course/main" == find_base(repo, "course/main", "/nowhere")


def test_a_missing_base_is_refused(fork: Fork, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a repository without the branch, and outside of any."""
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(fork.root.parents[1]))

    with pytest.raises(RefusedError, match="There is no nowhere/main"):
        find_base(Repo(fork.root), "nowhere/main")
    with pytest.raises(RefusedError, match="Not a git repository"):
        find_base(Repo(fork.root.parent), "nowhere/main")


@pytest.mark.parametrize(
    ("asked", "remotes", "branches", "expected"),
    [
        ("", [], [], "Fetch the course: git remote add upstream"),
        ("v9", ["v9"], [], "Fetch the course: git remote add upstream"),
        ("fork/main", ["upstream"], [], "Fetch the course: git remote add upstream"),
        ("", ["upstream"], [], "git fetch upstream main:refs/remotes/upstream/main"),
        ("a/b", ["a"], ["a/c", "d/e", "a/f"], "There is: a/c a/f; name it with --base."),
    ],
)
def test_a_missing_base_is_described(
    asked: str, remotes: list[str], branches: list[str], expected: str
) -> None:
    """The message has the command that fetches it, or the branches that exist."""
    assert expected in describe_missing_base(asked, remotes, branches)


def test_the_stubs_are_where_the_fork_left(fork: Fork) -> None:
    """That commit comes first, then those that changed files that learners leave alone."""
    repo = Repo(fork.root)
    left = git(fork.root, "rev-parse", "upstream/main")
    mine = fork.commit({TEST: "def test_mine(): pass\n"})

    assert [left, mine, left] == stub_commits(repo, "upstream/main")
    assert [mine, left] == stub_commits(repo, "")


def test_every_exercise_of_the_course_can_be_told_from_an_answer() -> None:
    """Its stub says TODO, and its solution does not."""
    root = Path(__file__).parents[2]
    files = root.glob("katas/lecture*/solutions/**/k*")
    # What Python has compiled in an earlier run lies among them.
    solutions = [file for file in files if file.is_file() and file.suffix != ".pyc"]
    stubs = [Path(str(file).replace("/solutions/", "/")) for file in solutions]

    assert stubs
    assert [] == [file for file in stubs if not is_stub(file.read_bytes())]
    assert [] == [file for file in solutions if is_stub(file.read_bytes())]
