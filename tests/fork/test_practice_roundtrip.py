"""A learner's weeks with a fork: what the workflow would say after each push."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from plugins.course.lectures import read_course
from plugins.fork.claimed import find_claims
from plugins.fork.practice import main
from plugins.fork.pullrequest import main as guard
from plugins.fork.update import main as update
from plugins.tools.git import Repo
from tests.conftest import CLEARED
from tests.support.fork import STUB
from tests.support.fork import git
from tests.support.practicefork import CXX_SOLVED
from tests.support.practicefork import CXX_STUB
from tests.support.practicefork import FIRST
from tests.support.practicefork import SECOND
from tests.support.practicefork import SOLVED
from tests.support.practicefork import THIRD
from tests.support.practicefork import WRONG
from tests.support.practicefork import PracticeFork
from tests.support.practicefork import settle_in


if TYPE_CHECKING:
    from pathlib import Path

    Said = list[tuple[str, str]]


FRESH = "katas/lecture01/k04_fresh.py"


class Weeks:
    """The learner's clone, and what CI finds after a push to the fork."""

    def __init__(self, path: Path) -> None:
        self.fork = PracticeFork(path)
        self.root = self.fork.root
        self.count = 0

    def push(self, *options: str) -> None:
        """Let the learner push the branch that is checked out."""
        git(self.root, "push", "-q", *options, "origin", "HEAD")

    def ci(self, branch: str, *options: str) -> tuple[int, Said, str]:
        """Check out the branch anew, as the workflow does; return status, verdicts, summary."""
        self.count += 1
        folder = self.fork.checkout(branch, f"ci{self.count}", *options)
        file = folder.with_suffix(".md")
        address = self.fork.bare.as_uri()
        arguments = ["--base", "upstream/main", "--fetch", address, "--summary", str(file)]
        status = main(arguments, folder)
        text = file.read_text()
        return (
            status,
            re.findall(r"^\| `lecture01/(k\d\d)\S+` .*? \| (\S+) \|", text, re.MULTILINE),
            text,
        )

    def claims(self, branch: str) -> list[str]:
        """Return the katas that CI would run, and run none."""
        self.count += 1
        folder = self.fork.checkout(branch, f"ci{self.count}")
        git(folder, "remote", "add", "upstream", self.fork.bare.as_uri())
        git(folder, "fetch", "-q", "upstream")
        course = read_course([folder / "katas/lecture01"])
        return [kata.name for kata in find_claims(Repo(folder), course, "upstream/main").katas]

    def commit(self, files: dict[str, str | None], message: str) -> None:
        """Let the learner commit."""
        self.fork.commit(files, message)


@pytest.fixture
def weeks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Weeks:
    """Return the fork on its first day."""
    settle_in(monkeypatch, CLEARED)
    return Weeks(tmp_path)


@pytest.mark.slow
def test_from_the_fork_to_the_pull_request(weeks: Weeks, capfd: pytest.CaptureFixture[str]) -> None:
    """Solve two, break one, update, rebase, push by force, rename, clone without history."""
    # The fork is as upstream is.
    assert (0, []) == weeks.ci("main")[:2]

    # A branch, two answers.
    git(weeks.root, "switch", "-q", "-c", "week-1")
    weeks.commit({FIRST: SOLVED}, "Answer the first")
    weeks.commit({SECOND: SOLVED}, "Answer the second")
    weeks.push()
    assert (0, [("k01", "solved"), ("k02", "solved")]) == weeks.ci("week-1")[:2]

    # Upstream goes on: a stub changes, and a kata is new.
    fresh = {FRESH: STUB, FRESH.replace("k04", "test_k04"): "def test_it():\n    assert False\n"}
    moved = CXX_STUB.replace("The brief", "A better brief")
    lecture = (weeks.fork.authors / "katas/lecture01/lecture.toml").read_text()
    table = lecture.rpartition("[[kata]]")[2].replace("k03_third", "k04_fresh")
    table = re.sub(r"csrc = .*", "csrc = []", table)
    lecture += f"\n[[kata]]{table}"
    weeks.fork.publish({**fresh, THIRD: moved, "katas/lecture01/lecture.toml": lecture})

    # One of the answers breaks; what is new upstream is mentioned, and no reason for red.
    weeks.commit({SECOND: WRONG}, "Break the second")
    weeks.push()
    status, verdicts, text = weeks.ci("week-1")
    assert (1, [("k01", "solved"), ("k02", "**fails**")]) == (status, verdicts)
    assert "1 of 2 claimed katas solved" in text
    assert "`upstream/main` has 1 commit that you do not have: `nox -s update`" in text
    weeks.commit({SECOND: SOLVED}, "Mend the second")

    # An update ends in a merge commit; only the answers count.
    assert 0 == update([], weeks.root)
    weeks.push()
    assert ["k01_first", "k02_second"] == weeks.claims("week-1")

    # One commit instead of five, on top of upstream, pushed by force.
    git(weeks.root, "reset", "-q", "--soft", "upstream/main")
    git(weeks.root, "commit", "-q", "-m", "Answer two katas")
    weeks.push("--force")
    assert "1" == git(weeks.root, "rev-list", "--count", "upstream/main..HEAD")
    status, verdicts, text = weeks.ci("week-1")
    assert (0, [("k01", "solved"), ("k02", "solved")]) == (status, verdicts)
    assert "that you do not have" not in text

    # Another branch from the fork's old main, rebased, under another name.
    git(weeks.root, "switch", "-q", "-c", "draft", "origin/main")
    weeks.commit({FIRST: WRONG}, "Try again")
    git(weeks.root, "rebase", "-q", "upstream/main")
    git(weeks.root, "branch", "-m", "draft", "week-2")
    weeks.push()
    # Without its history the verdict is the same.
    assert (1, [("k01", "**fails**")]) == weeks.ci("week-2", "--depth", "1")[:2]

    # The guard answers a pull request that was opened upstream by mistake.
    git(weeks.root, "push", "-q", "upstream", "week-1:refs/pull/1/head")
    arguments = ["--base", "main", "--fetch", "refs/pull/1/head"]
    assert 1 == guard(arguments, weeks.fork.authors)
    assert "they belong in your fork" in capfd.readouterr().out


def test_a_clone_without_history_says_what_it_cannot_know(
    weeks: Weeks, capfd: pytest.CaptureFixture[str]
) -> None:
    """A stub that differs may be an older one of upstream's; the history decides."""
    weeks.fork.publish({FIRST: STUB.replace("The brief", "A better brief")})
    folder = weeks.fork.checkout("main", "shallow", "--depth", "1")
    git(folder, "remote", "add", "upstream", weeks.fork.bare.as_uri())
    git(folder, "fetch", "-q", "--depth", "1", "upstream", "main")

    assert 1 == main(["--base", "upstream/main"], folder)
    assert "`git fetch --unshallow upstream`" in capfd.readouterr().out
    git(folder, "fetch", "-q", "--unshallow", "upstream")
    assert 0 == main(["--base", "upstream/main"], folder)


@pytest.mark.slow
@pytest.mark.torch
def test_katas_in_cxx_are_built_and_run(weeks: Weeks) -> None:
    """CI builds the source that the learner has pushed."""
    weeks.commit({THIRD: CXX_SOLVED}, "Answer in C++")
    weeks.push()
    assert (0, [("k03", "solved")]) == weeks.ci("main")[:2]
    weeks.commit({THIRD: CXX_SOLVED.replace("return", "retrun")}, "Mistype")
    weeks.push()

    status, verdicts, text = weeks.ci("main")
    assert (1, [("k03", "**fails**")]) == (status, verdicts)
    assert f"`Failed: {THIRD}:4:" in text
    assert f"edit `{THIRD}:4`" in text
