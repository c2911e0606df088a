"""Which katas `verify` chooses: the youngest entries, random ones, those that a branch changes."""

from __future__ import annotations

import subprocess
from dataclasses import asdict
from typing import TYPE_CHECKING

import pytest

from plugins.tools.git import GitError
from tests.gate import selection
from tests.gate.cases import read_gate
from tests.gate.engine import engine_digest
from tests.gate.ledger import SHORT
from tests.gate.ledger import Proof
from tests.gate.ledger import proof_file
from tests.gate.ledger import write_proof


if TYPE_CHECKING:
    from plugins.course.model import Kata
    from tests.conftest import MiniCourse
    from tests.gate.cases import Gate


NAMES = [f"k{number:02}_kata" for number in range(1, 9)]
PROOF = Proof(
    kata="",
    key="",
    proved="2026-11-23",
    torch="2.13",
    seconds=60,
    tests=dict.fromkeys(("all", "red", "given", "skipped"), 0),
    wrong=dict.fromkeys(("listed", "tried", "rejected"), 0),
    right=dict.fromkeys(("tried", "accepted"), 0),
    mutants=dict.fromkeys(("possible", "unbuilt", "tried", "killed", "equivalent"), 0),
    repeats=dict.fromkeys(("run", "passed"), 0),
    engine=engine_digest()[:SHORT],
    content={},
)


@pytest.fixture
def gate(course: MiniCourse, monkeypatch: pytest.MonkeyPatch) -> Gate:
    """Return a course of eight katas in git, whose proofs take a minute each and are right."""
    for name in NAMES:
        course.kata(name)
    gate = read_gate(course.path)
    monkeypatch.setattr(selection, "proof_problems", lambda *_: [])
    git(gate, "init", "-q", "-b", "main")
    for kata in gate.katas:
        enter(kata)
    commit(gate)
    return gate


def enter(kata: Kata, seconds: int = 60, **others: str) -> None:
    """Write an entry of so many seconds."""
    fields = {"kata": kata.id, "seconds": seconds, **others}
    write_proof(kata, Proof(**{**asdict(PROOF), **fields}))


def git(gate: Gate, *arguments: str) -> None:
    """Run git in the course."""
    identity = ("-c", "user.name=k", "-c", "user.email=k@example.com")
    subprocess.run(["git", *identity, *arguments], cwd=gate.root, check=True)


def commit(gate: Gate) -> None:
    """Commit everything."""
    git(gate, "add", ".")
    git(gate, "commit", "-qm", "more", "--allow-empty")


def names(katas: list[Kata]) -> list[str]:
    """Return the numbers of the katas."""
    return [kata.name[:3] for kata in katas]


def test_the_entries_of_the_last_commit_are_the_youngest(gate: Gate) -> None:
    """What is not committed is younger still; entries of one commit stay in order."""
    third, fifth, eighth = (gate.katas[n] for n in (2, 4, 7))
    enter(fifth, 61)
    commit(gate)
    enter(third, 61)
    commit(gate)
    enter(eighth, 61)

    assert ["k08", "k03", "k05", "k01", "k02", "k04", "k06", "k07"] == names(
        selection.youngest(gate, gate.katas)
    )


def test_without_git_all_are_as_old_as_each_other(course: MiniCourse) -> None:
    """A folder that was downloaded has no history."""
    for name in NAMES[:3]:
        course.kata(name)
    gate = read_gate(course.path)

    assert ["k03", "k01"] == names(selection.youngest(gate, [gate.katas[2], gate.katas[0]]))


def test_half_of_a_sample_is_young_and_half_is_random(gate: Gate) -> None:
    """The same seed chooses the same katas, another seed others."""
    for kata in gate.katas[4:7]:
        enter(kata, 61)
    commit(gate)
    found = [names(selection.sample(gate, gate.katas, 250, seed, 250)[0]) for seed in range(12)]

    for chosen in found:
        assert 4 == len(set(chosen))
        assert set(chosen[:2]) <= {"k05", "k06", "k07"}
    assert names(selection.sample(gate, gate.katas, 250, 3, 250)[0]) == found[3]
    assert 1 < len({tuple(sorted(chosen)) for chosen in found})
    assert {name for chosen in found for name in chosen} == {name[:3] for name in NAMES}


def test_an_older_engine_comes_before_chance(gate: Gate) -> None:
    """The oldest day first, after the youngest entries; one that cannot be read is none."""
    for number, day in ((5, "2026-11-20"), (2, "2026-11-19"), (6, "2026-11-21")):
        enter(gate.katas[number], proved=day, engine="older")
    enter(gate.katas[0], 61)
    commit(gate)
    enter(gate.katas[7], 61)
    proof_file(gate.katas[1]).write_text("{")
    assert ["k03", "k06", "k07"] == names(selection.aged(gate.katas))
    proof_file(gate.katas[1]).unlink()

    for seed in range(6):
        chosen, _ = selection.sample(gate, gate.katas, 250, seed, 250)
        assert ["k03", "k06"] == names(chosen[-2:])


def test_what_does_not_fit_is_left_out(gate: Gate) -> None:
    """A kata that takes longer than all of the time is not begun, and is named."""
    enter(gate.katas[0], 1000)
    enter(gate.katas[1], 59)
    commit(gate)
    enter(gate.katas[2], 59)
    chosen, others = selection.sample(gate, gate.katas, 400, 1, 200)

    assert gate.katas[0] in others
    assert 6 == len(chosen)
    assert set(gate.katas) == {*chosen, *others}
    assert [gate.katas[0]] == selection.too_long(gate.katas, 200)


def test_the_youngest_is_proved_whatever_it_costs(gate: Gate) -> None:
    """And those after it that cost less, however much one says that it takes."""
    enter(gate.katas[5], 300)
    commit(gate)
    enter(gate.katas[2], 1000)
    commit(gate)
    assert ["k03"] == names(selection.sample(gate, gate.katas, 10, 1, 10)[0])

    enter(gate.katas[6], 61)
    commit(gate)
    chosen, _ = selection.sample(gate, gate.katas, 300, 1, 150)
    assert "k07" == names(chosen)[0]
    assert 4 == len(chosen)
    assert not {"k03", "k06"} & set(names(chosen))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ('{"seconds": 99999}', selection.LONGEST_PLANNED),
        ('{"seconds": -1}', 1),
        ('{"seconds": "x"}', selection.UNKNOWN),
        ('{"seconds": true}', selection.UNKNOWN),
        ('{"seconds": 70}', 70),
        ("[]", selection.UNKNOWN),
        ("{", selection.UNKNOWN),
    ],
)
def test_a_time_is_within_reason(gate: Gate, text: str, seconds: int) -> None:
    """Whatever an entry says, which may be broken otherwise."""
    proof_file(gate.katas[0]).write_text(text)

    assert seconds == selection.seconds_of(gate.katas[0])


def test_a_kata_without_an_entry_takes_a_guess(gate: Gate) -> None:
    """Two minutes, until it is known better."""
    proof_file(gate.katas[0]).unlink()

    assert selection.UNKNOWN == selection.seconds_of(gate.katas[0])
    assert 60 == selection.seconds_of(gate.katas[1])


def test_a_branch_proves_what_it_changes(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    """Changed entries and new ones, committed or not; stale ones; not what main has changed."""
    git(gate, "checkout", "-qb", "branch")
    enter(gate.katas[0], 61)
    commit(gate)
    enter(gate.katas[1], 61)
    proof_file(gate.katas[2]).unlink()
    enter(gate.katas[3], 60)
    stale = gate.katas[4].id
    monkeypatch.setattr(selection, "proof_problems", lambda _, kata: [""] * (kata.id == stale))
    assert ["k01", "k02", "k03", "k05"] == names(selection.differing(gate, gate.katas, "main"))

    git(gate, "stash", "-q")
    git(gate, "checkout", "-q", "main")
    enter(gate.katas[7], 99)
    commit(gate)
    git(gate, "checkout", "-q", "branch")
    assert ["k01", "k05"] == names(selection.differing(gate, gate.katas, "main"))


@pytest.mark.usefixtures("gate")
def test_an_entry_that_git_does_not_know_yet(course: MiniCourse) -> None:
    """A new kata's."""
    course.kata("k09_kata")
    more = read_gate(course.path)
    enter(more.katas[8])

    assert ["k09"] == names(selection.differing(more, more.katas, "main"))


def test_a_base_without_common_history(gate: Gate) -> None:
    """Git says so: everything else would prove too little."""
    git(gate, "checkout", "-q", "--orphan", "other")
    enter(gate.katas[0], 61)
    commit(gate)

    with pytest.raises(GitError, match="merge-base"):
        selection.differing(gate, gate.katas, "main")
