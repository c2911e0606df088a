"""What an update does with each file: all cases of three versions that are there or not."""

from __future__ import annotations

from itertools import product

import pytest

from plugins.threeway import BOTH_ADDED
from plugins.threeway import REMOVED_HERE
from plugins.threeway import REMOVED_THERE
from plugins.threeway import SAME_LINES
from plugins.threeway import Outcome
from plugins.threeway import settle
from plugins.threeway import told


A, B, C = b"a", b"b", b"c"


def joined(mine: bytes, base: bytes, theirs: bytes) -> bytes | None:
    """Stand in for a merge that succeeds."""
    return b"%b<%b>%b" % (mine, base, theirs)


def refused(mine: bytes, base: bytes, theirs: bytes) -> None:
    """Stand in for a merge of the same lines."""
    assert mine
    assert base
    assert theirs


@pytest.mark.parametrize(
    ("base", "mine", "theirs", "expected"),
    [
        (A, A, B, Outcome("moved", B)),
        (A, A, None, Outcome("moved", None)),
        (None, None, B, Outcome("moved", B)),
        (A, B, A, Outcome("kept", B)),
        (A, None, A, Outcome("kept", None)),
        (None, B, None, Outcome("kept", B)),
        (A, B, B, Outcome("same", B)),
        (A, None, None, Outcome("same", None)),
        (A, B, None, Outcome("left", B, REMOVED_THERE)),
        (A, None, B, Outcome("left", None, REMOVED_HERE)),
        (None, A, B, Outcome("left", A, BOTH_ADDED)),
        (A, B, C, Outcome("merged", b"b<a>c")),
    ],
)
def test_each_case_has_one_outcome(
    base: bytes | None, mine: bytes | None, theirs: bytes | None, expected: Outcome
) -> None:
    """Nobody's change is dropped: what cannot be merged is left as the learner has it."""
    assert expected == settle(base, mine, theirs, joined)


def test_the_same_lines_are_left() -> None:
    """With the learner's version."""
    assert Outcome("left", B, SAME_LINES) == settle(A, B, C, refused)


def test_a_merge_that_changes_nothing_is_none() -> None:
    """Upstream has taken what the learner wrote, or a run that was killed has merged already."""
    assert Outcome("same", B) == settle(A, B, C, lambda mine, _, __: mine)


def test_settling_twice_changes_nothing() -> None:
    """Whatever the versions are."""
    versions = (None, A, B, C)
    for base, mine, theirs in product(versions, repeat=3):
        for merge in (lambda *_: b"merged", refused):
            once = settle(base, mine, theirs, merge)
            again = settle(base, once.content, theirs, merge)

            assert once.content == again.content, (base, mine, theirs)


def test_no_edit_is_lost() -> None:
    """A version of the learner's own is kept, merged or left, and never replaced by upstream's."""
    versions = (None, A, B, C)
    for base, mine, theirs in product(versions, repeat=3):
        outcome = settle(base, mine, theirs, joined)

        if mine not in {base, theirs}:
            assert outcome.content == mine or outcome.word == "merged"


def test_the_numbers_are_told() -> None:
    """Those that are not 0."""
    assert "12 moved on, 1 left alone" == told({"moved": 12, "left": 1, "same": 3})
    assert "no file changed" == told({"same": 3})
