"""The plan of an update: all cases of three versions, and what real repositories make of them."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import pytest

from plugins.fork.plan import BOTH_ADDED
from plugins.fork.plan import CARRIED
from plugins.fork.plan import REMOVED_HERE
from plugins.fork.plan import REMOVED_THERE
from plugins.fork.plan import SAME_LINES
from plugins.fork.plan import Settled
from plugins.fork.plan import are_plain_files
from plugins.fork.plan import describe_counts
from plugins.fork.plan import find_heirs
from plugins.fork.plan import merge_texts
from plugins.fork.plan import plan_update
from plugins.fork.plan import settle
from plugins.fork.plan import settle_renamed
from plugins.tools.git import GitEntry
from plugins.tools.git import Repo
from tests.support.fork import EXERCISE
from tests.support.fork import SETTINGS
from tests.support.fork import SOLVED
from tests.support.fork import STUB
from tests.support.fork import Fork
from tests.support.fork import git
from tests.support.fork import write


if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


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
        (A, A, B, Settled("moved", B)),
        (A, A, None, Settled("moved", None)),
        (None, None, B, Settled("moved", B)),
        (A, B, A, Settled("kept", B)),
        (A, None, A, Settled("kept", None)),
        (None, B, None, Settled("kept", B)),
        (A, B, B, Settled("same", B)),
        (A, None, None, Settled("same", None)),
        (A, B, None, Settled("left", B, REMOVED_THERE)),
        (A, None, B, Settled("left", None, REMOVED_HERE)),
        (None, A, B, Settled("left", A, BOTH_ADDED)),
        (A, B, C, Settled("merged", b"b<a>c")),
    ],
)
def test_each_case_has_one_outcome(
    base: bytes | None, mine: bytes | None, theirs: bytes | None, expected: Settled
) -> None:
    """No change is dropped: a file that cannot be merged is left as the learner has it."""
    assert expected == settle(base, mine, theirs, joined)


def test_the_same_lines_are_left() -> None:
    """The learner's version stays where both sides changed the same lines."""
    assert Settled("left", B, SAME_LINES) == settle(A, B, C, refused)


def test_a_merge_that_changes_nothing_is_none() -> None:
    """Upstream has taken the learner's text, or a killed run has merged already."""
    assert Settled("same", B) == settle(A, B, C, lambda mine, _, __: mine)


def test_settling_twice_changes_nothing() -> None:
    """For all combinations of versions, the second result equals the first."""
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


def test_the_numbers_are_described() -> None:
    """Counts of 0 are left out."""
    assert "12 moved on, 1 left alone" == describe_counts({"moved": 12, "left": 1, "same": 3})
    assert "no file changed" == describe_counts({"same": 3})


@pytest.mark.parametrize(
    ("mine", "theirs", "expected"),
    [
        (b"1\n2\n3\n4\nmine\n", b"theirs\n2\n3\n4\n5\n", b"theirs\n2\n3\n4\nmine\n"),
        (b"mine\n2\n3\n4\n5\n", b"theirs\n2\n3\n4\n5\n", None),
        (b"1\n2\n3\n4\nmine\n", b"\x00\xff", None),
    ],
    ids=["apart", "the same lines", "no text"],
)
def test_two_changes_are_merged(mine: bytes, theirs: bytes, expected: bytes | None) -> None:
    """Unless they touch the same lines, or one of them is no text."""
    assert expected == merge_texts(mine, b"1\n2\n3\n4\n5\n", theirs)


def test_links_and_submodules_are_not_planned() -> None:
    """All versions of a path must be regular files; some may be missing."""
    plain, script, link = GitEntry("100644", "a"), GitEntry("100755", "b"), GitEntry("120000", "c")

    assert are_plain_files("x", [{"x": plain}, {"x": script}, {}])
    assert not are_plain_files("x", [{"x": plain}, {"x": link}])


def test_each_version_of_a_file_is_settled_on_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The working tree, the index and the commit differ; the mode is upstream's."""
    for name, value in SETTINGS.items():
        monkeypatch.setenv(name, value)
    fork = Fork(tmp_path)
    newer = STUB.replace("The brief.", "A better brief.")
    staged, mine = f"{STUB}# staged\n", SOLVED
    write(fork.root, {EXERCISE: staged})
    git(fork.root, "add", EXERCISE)
    write(fork.root, {EXERCISE: mine})
    (fork.authors / EXERCISE).chmod(0o755)
    (fork.authors / "link").symlink_to(EXERCISE)
    fork.publish({EXERCISE: newer})
    git(fork.root, "fetch", "-q", "upstream")
    repo = Repo(fork.root)
    head = repo.commit("HEAD")

    (step,), odd = plan_update(repo, head, head, repo.commit("upstream/main"))

    assert (EXERCISE, ["link"]) == (step.path, odd)
    assert ("100755", True) == (step.mode, step.chmod)
    better = [text.replace("The brief.", "A better brief.").encode() for text in (mine, staged)]
    assert Settled("merged", better[0]) == step.tree
    assert Settled("moved", newer.encode()) == step.commit
    assert Settled("merged", better[1]) == step.index
    assert (STUB.encode(), newer.encode()) == (step.base, step.theirs)
    assert (mine.encode(), STUB.encode(), staged.encode()) == (
        step.found,
        step.committed,
        step.staged,
    )
    assert step.changes(Settled("kept", b"because of its mode"))
    assert not step.changes(Settled("kept", None))


MOVED = CARRIED.format("k01_a")


@pytest.mark.parametrize(
    ("versions", "merge", "old", "new"),
    [
        ((A, B, None, C), joined, Settled("moved", None), Settled("merged", b"b<a>c", MOVED)),
        ((A, B, C, C), joined, Settled("moved", None), Settled("merged", b"b<a>c", MOVED)),
        ((A, B, None, A), joined, Settled("moved", None), Settled("merged", B, MOVED)),
        ((A, B, None, C), refused, Settled("left", B, REMOVED_THERE), Settled("moved", C)),
        (
            (A, B, b"mine", C),
            joined,
            Settled("left", B, REMOVED_THERE),
            Settled("left", b"mine", BOTH_ADDED),
        ),
        ((A, A, None, C), joined, Settled("moved", None), Settled("moved", C)),
        ((A, None, None, C), joined, Settled("same", None), Settled("moved", C)),
        (
            (A, None, b"mine", C),
            refused,
            Settled("same", None),
            Settled("left", b"mine", BOTH_ADDED),
        ),
    ],
    ids=[
        *("an answer that fits", "beside the new stub", "the same stub", "the same lines"),
        *("the new name is taken", "no answer", "removed here", "taken, and removed"),
    ],
)
def test_an_answer_follows_its_kata(
    versions: tuple[bytes, bytes | None, bytes | None, bytes],
    merge: Callable[[bytes, bytes, bytes], bytes | None],
    old: Settled,
    new: Settled,
) -> None:
    """To its new name if it fits the new stub; else it stays, and the stub comes."""
    assert (old, new) == settle_renamed(*versions, merge, name="k01_a")


def test_settling_a_renamed_file_twice_changes_nothing() -> None:
    """Also where a run was killed between the new file and the old one; no answer is lost."""
    versions = (None, A, B, C)

    def merge(mine: bytes, _: bytes, theirs: bytes) -> bytes:
        return mine if mine.endswith(b"<") else b"%b%b<" % (mine, theirs)

    for mine, there in product(versions, repeat=2):
        for function in (merge, refused):
            old, new = settle_renamed(A, mine, there, C, function, name="k01_a")
            for half in (mine, old.content):
                again = settle_renamed(A, half, new.content, C, function, name="k01_a")

                assert (old.content, new.content) == tuple(it.content for it in again)
            kept = {old.content, new.content, (new.content or b"")[:1]}
            assert {mine, there} - {None, A, C} <= kept


def test_a_table_says_which_kata_it_was_made_of() -> None:
    """In its lecture or another; a table that cannot be read says nothing."""
    one = """
        [[kata]]
        name = "k01_new"
        [[kata]]
        name = "k02_half"
        was = "k01_old"
        [[kata]]
        name = "k03_half"
        was = "lecture02/k01_old"
    """
    tables = {
        "katas/lecture02/lecture.toml": one.encode(),
        "katas/lecture03/lecture.toml": b'[[kata]]\nname = "k01_b"\nwas = "lecture02/k01_old"',
        "katas/lecture04/lecture.toml": b"broken",
        "katas/lecture05/lecture.toml": b"kata = [1]",
        "katas/lecture06/lecture.toml": b"",
    }

    heirs = ["katas/lecture02/k02_half", "katas/lecture02/k03_half", "katas/lecture03/k01_b"]
    assert {"katas/lecture02/k01_old": heirs} == find_heirs(tables)
