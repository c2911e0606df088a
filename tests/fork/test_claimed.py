"""Which exercises a learner has worked on, in real repositories."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from plugins.course.lectures import read_course
from plugins.fork.claimed import Claims
from plugins.fork.claimed import find_claims
from plugins.fork.claimed import find_differing
from plugins.fork.claimed import first_changed_line
from plugins.fork.claimed import past_versions
from plugins.tools.git import Repo
from tests.support.fork import EXERCISE
from tests.support.fork import SOLVED
from tests.support.fork import STUB
from tests.support.fork import Fork
from tests.support.fork import git
from tests.support.fork import kata_files
from tests.support.fork import write


if TYPE_CHECKING:
    from pathlib import Path


BASE = "upstream/main"
TEST = "katas/lecture01/test_k01_first.py"
SOURCE = "katas/lecture02/csrc/k01_other.cpp"
NEWER = STUB.replace("The brief.", "A better brief.")


@pytest.fixture
def fork(tmp_path: Path) -> Fork:
    """A fork of two lectures in which nothing is edited."""
    fork = Fork(tmp_path)
    fork.publish(kata_files("k01_other", 2, csrc="csrc/k01_other.cpp"))
    git(fork.root, "pull", "-q", "--ff-only", "upstream", "main")
    return fork


def claims(fork: Fork) -> tuple[list[str], list[str], list[str]]:
    """Return the names of the claimed katas, of the learner's own, and the other tests."""
    course = read_course(sorted((fork.root / "katas").glob("lecture*/")))
    found = find_claims(Repo(fork.root), course, BASE)
    return (
        [kata.name for kata in found.katas],
        [kata.name for kata in found.own],
        list(found.tests),
    )


def test_nothing_is_claimed_of_what_upstream_has_had(fork: Fork) -> None:
    """Today's stub, the one before and the next one are no answers."""
    assert ([], [], []) == claims(fork)
    fork.publish({EXERCISE: NEWER, TEST: "def test_2(): pass\n"})
    git(fork.root, "fetch", "-q", "upstream")
    assert ([], [], []) == claims(fork)
    git(fork.root, "merge", "-q", BASE)
    assert ([], [], []) == claims(fork)
    assert Claims() == find_claims(Repo(fork.root), read_course([]), BASE)


def test_an_edited_file_claims_its_kata(fork: Fork) -> None:
    """The module or a source of it, edited, gone, committed or not."""
    write(fork.root, {SOURCE: "int y;\n"})
    assert (["k01_other"], [], []) == claims(fork)
    fork.commit({EXERCISE: None})
    assert (["k01_first", "k01_other"], [], []) == claims(fork)


def test_tests_of_the_learners_own_are_named(fork: Fork) -> None:
    """Only the tests of claimed katas are named: no others run."""
    write(fork.root, {TEST: "mine\n"})
    assert ([], [], []) == claims(fork)
    write(fork.root, {EXERCISE: SOLVED})
    assert (["k01_first"], [], [TEST]) == claims(fork)


def test_a_kata_that_upstream_never_had_is_the_learners_own(fork: Fork) -> None:
    """There is no stub to compare it with."""
    write(fork.root, kata_files("k01_mine", 3))

    assert ([], ["k01_mine"], []) == claims(fork)


def test_line_ends_and_missing_files_are_told_apart(fork: Fork) -> None:
    """Windows may have written others; a file that is gone differs, and has no content."""
    write(fork.root, {EXERCISE: STUB.replace("\n", "\r\n"), TEST: None})
    files = [fork.root / EXERCISE, fork.root / TEST, fork.root / SOURCE]

    assert {TEST: None} == find_differing(Repo(fork.root), BASE, files)


def test_each_version_of_the_history_counts(fork: Fork) -> None:
    """Versions of a merged side branch count too."""
    git(fork.authors, "switch", "-q", "-c", "side")
    write(fork.authors, {EXERCISE: SOLVED})
    git(fork.authors, "commit", "-qam", "Aside")
    git(fork.authors, "switch", "-q", "-")
    git(fork.authors, "merge", "-q", "--no-ff", "-s", "ours", "-m", "Merge", "side")
    fork.publish({EXERCISE: NEWER})
    git(fork.root, "fetch", "-q", "upstream")

    expected = {text.encode() for text in (STUB, SOLVED, NEWER)}
    assert expected == past_versions(Repo(fork.root), BASE, EXERCISE)
    assert set() == past_versions(Repo(fork.root), BASE, "nothing.py")


@pytest.mark.parametrize(("text", "expected"), [(SOLVED, 5), (STUB, 1), ("", 1)])
def test_the_first_changed_line_is_where_to_look(fork: Fork, text: str, expected: int) -> None:
    """It is line 1 if nothing differs, or if nothing is left."""
    write(fork.root, {EXERCISE: text})

    assert expected == first_changed_line(Repo(fork.root), BASE, EXERCISE)
