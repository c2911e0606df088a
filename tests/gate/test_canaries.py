"""Canaries: what makes them due, how they are chosen, run once each, and recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.gate import canaries
from tests.gate import verify
from tests.gate.canaries import REJECTS
from tests.gate.canaries import USES
from tests.gate.canaries import Keeper
from tests.gate.canaries import Record
from tests.gate.canaries import Seen
from tests.gate.canaries import read_record
from tests.gate.canaries import rejects
from tests.gate.canaries import run_canaries
from tests.gate.canaries import show
from tests.gate.canaries import stale
from tests.gate.canaries import unseen
from tests.gate.canaries import words_of_tests
from tests.gate.canaries import write_record
from tests.gate.ledger import is_aged
from tests.gate.ledger import proof_file
from tests.gate.ledger import read_proof
from tests.gate.parametrize import gate_of
from tests.gate.parts import Part
from tests.gate.parts import parts_of
from tests.support.smallkata import SOLUTION
from tests.support.smallkata import STUB
from tests.support.smallkata import TEST
from tests.support.smallkata import WRONG


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterable

    from plugins.course.model import Kata
    from tests.gate.ledger import Proof
    from tests.support.smallkata import Small


FREED = Part("kit: freed", "new", ("plugins.checks.aftermath.freed",))
FORBIDS = Part("kit: forbids", "new", ("plugins.checks.forbidden.forbids",))
RACE = Part("the simulator: race", "new", ("the simulator: race",))
HOOKS = Part("hooks of pytest", "new")
MUTANTS = Part("the gate: mutants of Python", "new")
BELOW, ABOVE = "test_below_comes_the_low_end", "test_above_comes_the_high_end"
FIRST, SECOND, THIRD = (f"lecture01/k0{n}_clamp" for n in (1, 2, 3))


def by_name(*parts: Part) -> dict[str, Part]:
    """Return the parts by name."""
    return {part.name: part for part in parts}


def test_the_canaries_have_seen_this_engine(pytestconfig: pytest.Config) -> None:
    """`nox -s verify -- --canaries --write` runs those that have not, and records what they saw."""
    gate = gate_of(pytestconfig)

    assert [] == stale(gate, read_record(gate), parts_of())


def test_every_part_has_canaries(pytestconfig: pytest.Config) -> None:
    """Of two lectures where it can be; the faults that no answer makes have none."""
    record = read_record(gate_of(pytestconfig))
    parts = parts_of()
    for name, seen in record.parts.items():
        least, most = (6, 6) if parts[name].is_gate else (not parts[name].is_fault, 2)
        assert least <= len(seen.katas) <= most, name
    for name in ("race", "out of bounds", "uninitialised read"):
        katas = record.parts[f"the simulator: {name}"].katas
        assert katas
        assert all(REJECTS in tests.values() for tests in katas.values())


def test_the_canaries_are_cheap(pytestconfig: pytest.Config) -> None:
    """Those of one part take at most six minutes, those of a part of the gate ten."""
    gate, parts = gate_of(pytestconfig), parts_of()
    record = read_record(gate)
    for name, part in parts.items():
        seconds = canaries.seconds_of(gate, record, parts, [name])
        assert seconds <= (600 if part.is_gate else 360), name


@pytest.fixture
def three(small: Small) -> Small:
    """Return a course with three katas, of which the second uses `freed` in its first tests."""
    for name in ("k02_clamp", "k03_clamp"):
        test = TEST.replace("k01_clamp", name)
        if name == "k02_clamp":
            test = test.replace("import pytest\n", "import pytest\nfrom plugins.kit import freed\n")
            test = test.replace("== 1\n", "== 1\n    freed(list)\n", 1)
        small.course.kata(name, test, stub=STUB, solution=SOLUTION)
        wrong = WRONG.replace("k01_clamp", name)
        small.course.write(f"katas/lecture01/.meta/{name}/wrong.toml", wrong)
    return small


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """Run no kata, and return the list of those that would be, with the tests or ``proof``."""
    ran: list[tuple[str, ...]] = []

    def run(keeper: Keeper, kata: Kata, tests: Iterable[str]) -> None:
        known = keeper.found.setdefault(kata.id, {"": ["bad"] if kata.name in BAD else []})
        new = [test for test in tests if test not in known]
        known.update((test, []) for test in new)
        ran.append((kata.name[:3], *new))
        via = {"plugins.checks.aftermath.freed"} if kata.name[:3] == "k02" else {"other"}
        keeper.checks.rejected[kata.id] = {BELOW: via, ABOVE: {"other"}}
        keeper.record.seconds[kata.id] = 12.0

    def prove(keeper: Keeper, kata: Kata) -> None:
        keeper.found.setdefault(kata.id, {})["proof"] = []
        ran.append((kata.name[:3], "proof"))

    monkeypatch.setattr(Keeper, "run", run)
    monkeypatch.setattr(Keeper, "prove", prove)
    BAD.clear()
    return ran


BAD: set[str] = set()


def test_what_is_due(three: Small) -> None:
    """A part that is another, or new; one that is gone, and one that has lost a canary."""
    write_record(
        three.gate,
        Record(
            {
                FREED.name: Seen("old", {FIRST: {}, SECOND: {BELOW: REJECTS}}),
                HOOKS.name: Seen("new", {FIRST: {BELOW: USES}, "lecture01/k09_gone": {}}),
                MUTANTS.name: Seen("new", {THIRD: {}}),
            },
            {FIRST: 15, SECOND: 30, THIRD: 600, "lecture01/k10_gone": 1},
        ),
    )
    record = read_record(three.gate)
    assert [FREED.name, RACE.name] == unseen(record, by_name(FREED, HOOKS, RACE))
    assert "lecture01/k10_gone" not in record.seconds

    lines = stale(three.gate, record, by_name(FREED, HOOKS, MUTANTS))
    assert "parts of the engine as they are: kit: freed. nox -s verify -- --canaries" in lines[0]
    # Stub and solution of two katas, and a wrong answer of the second.
    assert "2 minutes of one processor" in lines[0]
    assert [f"hooks of pytest has lost a canary: {canaries.COMMAND}"] == lines[1:]
    lines = stale(three.gate, record, by_name(FREED, MUTANTS))
    assert f"hooks of pytest is no part of the engine any more: {canaries.COMMAND}" == lines[1]
    # A kata without an entry is planned with two minutes.
    assert [
        f"changed  kit: freed  120 s  {FIRST} {SECOND}",
        "changed  the simulator: race  0 s",
        f"seen     the gate: mutants of Python  120 s  {THIRD}",
        "All: 240 s of one processor.",
    ] == show(three.gate, by_name(FREED, RACE, MUTANTS))


def test_a_test_that_rejects_nothing_any_more_is_no_canary(three: Small) -> None:
    """Its kata has changed, and the part gets another."""
    record = Record({FREED.name: Seen("new", {FIRST: {"test_other": USES}})})

    assert [f"kit: freed has lost a canary: {canaries.COMMAND}"] == stale(
        three.gate, record, by_name(FREED)
    )


def test_without_a_record_all_is_due(three: Small) -> None:
    """It is empty."""
    assert Record() == read_record(three.gate)
    assert [FREED.name] == unseen(Record(), by_name(FREED))


def test_what_has_changed_is_run(three: Small, ran: list[tuple[str, ...]]) -> None:
    """Of each part the tests of its canaries, and what is known so far is kept."""
    write_record(
        three.gate,
        Record(
            {
                FREED.name: Seen("old", {SECOND: {BELOW: REJECTS}, THIRD: {ABOVE: USES}}),
                FORBIDS.name: Seen("old", {SECOND: {ABOVE: USES}}),
                MUTANTS.name: Seen("old", {FIRST: {}}),
                RACE.name: Seen("new", {FIRST: {}}),
            },
            {FIRST: 1, SECOND: 1, THIRD: 1},
        ),
    )
    kept: list[int] = []
    parts = by_name(FREED, FORBIDS, MUTANTS, RACE)
    record, problems = run_canaries(
        three.checks, parts, keep=lambda record: kept.append(len(unseen(record, parts)))
    )

    assert [] == problems
    assert [("k02", BELOW), ("k03", ABOVE), ("k02", ABOVE), ("k01", "proof")] == ran
    assert [] == unseen(record, parts)
    assert [2, 1, 0] == kept


def test_a_canary_that_finds_something(three: Small, ran: list[tuple[str, ...]]) -> None:
    """Its part is not recorded; one that another kata answers for is."""
    BAD.add("k03_clamp")
    write_record(
        three.gate,
        Record(
            {
                FREED.name: Seen("old", {SECOND: {BELOW: REJECTS}}),
                FORBIDS.name: Seen("old", {SECOND: {ABOVE: REJECTS}}),
                HOOKS.name: Seen("old", {THIRD: {ABOVE: USES}}),
            },
            {SECOND: 1, THIRD: 1},
        ),
    )
    parts = by_name(FREED, FORBIDS, HOOKS)
    record, problems = run_canaries(three.checks, parts)

    assert [
        f"kit: forbids: {SECOND}: {ABOVE} does not reject by it any more",
        f"hooks of pytest: {THIRD}: bad",
    ] == problems
    assert [FORBIDS.name, HOOKS.name] == unseen(record, parts)
    assert 3 == len(ran)


def test_how_they_are_chosen(three: Small, ran: list[tuple[str, ...]]) -> None:
    """By who names the part in a test that rejects, and what rejects there; else the cheapest."""
    three.course.kata("k01_clamp", TEST, lecture="lecture02", stub=STUB, solution=SOLUTION)
    wrong = three.course.katas / "lecture01/.meta/k01_clamp/wrong.toml"
    three.course.write("katas/lecture02/.meta/k01_clamp/wrong.toml", wrong.read_text())
    record, problems = run_canaries(three.checks, by_name(FREED, HOOKS, RACE, MUTANTS), anew=True)
    katas = {name: seen.katas for name, seen in record.parts.items()}

    assert [] == problems
    assert {SECOND: {BELOW: REJECTS}} == katas[FREED.name]
    # Of two lectures, one that is run anyway first, and not with all that it has.
    assert {
        SECOND: {BELOW: USES, ABOVE: USES},
        "lecture02/k01_clamp": {BELOW: USES, ABOVE: USES},
    } == katas[HOOKS.name]
    assert {} == katas[RACE.name]
    assert {FIRST: {}, SECOND: {}} == katas[MUTANTS.name]
    assert [("k02", BELOW)] == ran[:1]
    assert [("k01", "proof"), ("k02", "proof")] == ran[-2:]


def test_two_that_reject_are_enough(
    three: Small, ran: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """If they are of two lectures, no other is tried; the cheapest come first."""
    for lecture, name in (("lecture02", "k02_clamp"), ("lecture02", "k03_clamp")):
        text = (three.course.katas / "lecture01/test_k02_clamp.py").read_text()
        test = text.replace("lecture01", lecture).replace("k02_clamp", name)
        three.course.kata(name, test, lecture=lecture, stub=STUB, solution=SOLUTION)
        wrong = WRONG.replace("k01_clamp", name)
        three.course.write(f"katas/{lecture}/.meta/{name}/wrong.toml", wrong)
    cost = {"lecture02/k02_clamp": 1, SECOND: 2}
    monkeypatch.setattr(Keeper, "cost", lambda _self, _part, kata: cost.get(kata.id, 3))
    record, _ = run_canaries(three.checks, by_name(FREED), anew=True)

    assert {SECOND, "lecture02/k02_clamp"} == record.parts[FREED.name].katas.keys()
    assert 4 == len(ran), "two to choose them, and both as canaries"


def test_the_command(
    three: Small,
    ran: list[tuple[str, ...]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It lists, runs, and records what it is asked to; a part that changes meanwhile is not."""
    parts = by_name(FREED, HOOKS)
    write_record(
        three.gate, Record({FREED.name: Seen("old", {SECOND: {BELOW: REJECTS}})}, {SECOND: 1})
    )
    monkeypatch.setattr(verify, "HOME", three.course.path)
    monkeypatch.setattr(verify, "parts_of", lambda _: parts)
    assert 0 == verify.main(["--canaries", "--list"])
    assert f"changed  kit: freed  3 s  {SECOND}\n" in capsys.readouterr().out
    assert [] == ran

    assert 0 == verify.main(["--canaries"])
    assert [*parts] == unseen(read_record(three.gate), parts)
    assert 0 == verify.main(["--canaries", "--write", "--choose"])
    assert [] == unseen(read_record(three.gate), parts)
    assert capsys.readouterr().out.endswith(
        "2 of 2 parts of the engine are as their canaries saw them.\n"
    )

    BAD.add("k02_clamp")
    parts[FREED.name] = Part(FREED.name, "newer", FREED.roots)
    assert 1 == verify.main(["--canaries", "--write"])
    problem, last = capsys.readouterr().out.splitlines()
    assert f"PROBLEM  kit: freed: {SECOND}: bad" == problem
    assert last.startswith("1 of 2 parts")
    BAD.clear()
    states = iter([parts])
    monkeypatch.setattr(verify, "parts_of", lambda _: next(states, {}))
    assert 1 == verify.main(["--canaries", "--write"])
    assert "PROBLEM  the engine has changed meanwhile\n" in capsys.readouterr().out
    assert [FREED.name] == unseen(read_record(three.gate), parts)


@pytest.mark.usefixtures("ran")
def test_a_part_that_has_lost_a_canary_gets_others(three: Small) -> None:
    """As one gets its first; the others stay, and one that is no part any more goes."""
    gone: dict[str, dict[str, str]] = {"lecture01/k09_gone": {}}
    seen = {
        FREED.name: Seen(FREED.digest, gone),
        HOOKS.name: Seen(HOOKS.digest, {FIRST: {}}),
        MUTANTS.name: Seen("new", {}),
    }
    write_record(three.gate, Record(seen, {FIRST: 1}))
    record, problems = run_canaries(three.checks, by_name(FREED, HOOKS))

    assert [] == problems
    assert [SECOND] == list(record.parts[FREED.name].katas)
    assert {FREED.name, HOOKS.name} == record.parts.keys()


@pytest.mark.usefixtures("ran")
def test_a_kata_that_fails_is_no_canary(three: Small) -> None:
    """The part is not recorded."""
    BAD.add("k02_clamp")
    record, problems = run_canaries(three.checks, by_name(FREED), anew=True)

    assert [f"kit: freed: {SECOND}: bad"] == problems
    assert {} == record.parts


def test_a_part_that_no_rejecting_test_names(three: Small, ran: list[tuple[str, ...]]) -> None:
    """Its canaries are stub and solution of katas of which any test, or their conftest.py, does."""
    conftest = "import pytest\nfrom plugins.kit import forbids\n\n@pytest.fixture\ndef kept():\n"
    three.course.write("katas/lecture01/conftest.py", f"{conftest}    forbids()\n")
    file = three.course.katas / "lecture01/test_k03_clamp.py"
    file.write_text(file.read_text().replace("nothing_changes()", "nothing_changes(kept)"))
    words = words_of_tests(three.gate.katas[2])

    assert FORBIDS.name in words["test_inside_nothing_changes"]
    assert FORBIDS.name not in words[BELOW]
    record, _ = run_canaries(three.checks, by_name(FORBIDS), anew=True)
    assert {THIRD: {}} == record.parts[FORBIDS.name].katas
    assert [("k03",), ("k03",)] == ran


def test_what_names_a_part(three: Small) -> None:
    """A type that is imported for annotations does too."""
    file = three.course.katas / "lecture01/test_k03_clamp.py"
    types = (
        "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from plugins.kit import World\n"
    )
    text = file.read_text().replace("import pytest\n", f"import pytest\n{types}")
    file.write_text(text.replace("low_end()", "low_end(world: World)"))
    words = words_of_tests(three.gate.katas[2])

    assert {"kit: World", "fixture: world"} <= words[BELOW]
    assert "kit: World" not in words[ABOVE]


@pytest.mark.parametrize(
    ("part", "via", "found"),
    [
        (FREED, {"plugins.checks.aftermath.freed"}, True),
        (FREED, {"plugins.checks.aftermath.freed.<locals>.make"}, True),
        (FREED, {"plugins.checks.aftermath.freed_later"}, False),
        (FREED, {"plugins.checks.forbidden.forbids"}, False),
        (RACE, {"the simulator: race"}, True),
        (RACE, {"the simulator: race between streams"}, False),
        (HOOKS, {"plugins.a.b"}, False),
        (FREED, set(), False),
    ],
)
def test_who_rejects(part: Part, via: set[str], *, found: bool) -> None:
    """The exception came through the part."""
    assert found == rejects(part, via)


@pytest.mark.torch
def test_a_run_tells_who_has_rejected(three: Small) -> None:
    """Stub and solution are run once, and each wrong answer that is asked for."""
    three.edit(
        "test_k02_clamp.py", "    assert clamp(0, 1, 3) == 1", "    freed(lambda: kept(clamp))"
    )
    three.edit("test_k02_clamp.py", "\n\ndef test_inside", KEPT + "\n\ndef test_inside")
    kata = three.gate.katas[1]
    said: list[str] = []
    keeper = Keeper(three.checks, Record(), said.append)
    keeper.run(kata, [BELOW])
    keeper.run(kata, [BELOW, ABOVE])

    assert {"": [], BELOW: [], ABOVE: []} == keeper.found[kata.id]
    via = keeper.checks.rejected[kata.id]
    assert rejects(FREED, via[BELOW])
    assert not rejects(FREED, via[ABOVE])
    assert [3, 1] == [int(line.split()[1]) for line in said]
    assert 0 < keeper.record.seconds[kata.id] < 10

    three.edit("solutions/k02_clamp.py", "return low", "return x")
    keeper = Keeper(three.checks, Record(), said.append)
    keeper.run(kata, [ABOVE])
    (line,) = keeper.problems(FREED, {kata.id: {ABOVE: REJECTS}})
    assert line.startswith(f"{kata.id}: {BELOW} fails with the solution")
    assert {} == keeper.checks.rejected


def test_what_cannot_be_run_here_is_no_canary(
    three: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tool that is missing would leave a part unseen."""
    checks = three.checks
    monkeypatch.setattr(checks, "lacks_a_tool", lambda _: "nvcc: it is not installed")
    keeper = Keeper(checks, Record(), lambda _: None)

    assert [f"{FIRST}: it cannot be run here: nvcc: it is not installed"] == keeper.problems(
        HOOKS, {FIRST: {BELOW: USES}}
    )


KEPT = """

class Thing:
    kept = []


def kept(clamp):
    thing = Thing()
    if clamp(0, 1, 3) != 1:
        Thing.kept.append(thing)
    return thing
"""


@pytest.fixture
def proved(small: Small, proof: Proof, short: None) -> Callable[[str], list[str]]:
    """Return what runs the kata as a canary of the gate, with another text of its entry."""
    assert short is None

    def proved(entry: str) -> list[str]:
        proof_file(small.kata).write_text(entry.replace(proof.engine, "older"))
        keeper = Keeper(small.checks, Record(), lambda _: None, write=True)
        return keeper.problems(MUTANTS, {FIRST: {}})

    return proved


def test_a_proof_that_is_another(small: Small, proved: Callable[[str], list[str]]) -> None:
    """A canary of the gate must find what its entry says; a good proof is entered all the same."""
    entry = proof_file(small.kata).read_text()
    lines = proved(entry.replace('"possible": 15', '"possible": 16').replace('ed": 13', 'ed": 14'))

    assert f"{FIRST}: the entry says mutants: possible 16, but it is 15" in lines
    found = read_proof(proof_file(small.kata))
    assert (15, False) == (found.mutants["possible"], is_aged(found))


def test_what_this_engine_has_proved_is_not_proved_again(small: Small, proof: Proof) -> None:
    """Its entry says so; one that is stale is to be proved first."""
    assert not is_aged(proof)
    before = small.runner.count
    assert [] == Keeper(small.checks, Record(), lambda _: None).problems(MUTANTS, {FIRST: {}})
    assert before == small.runner.count

    small.edit("test_k01_clamp.py", "clamp(2, 1, 3) == 2", "clamp(2, 1, 3) < 3")
    keeper = Keeper(small.checks, Record(), lambda _: None)
    (line,) = keeper.problems(MUTANTS, {FIRST: {}})
    assert "is stale, since these have changed: test_k01_clamp.py" in line


def test_a_proof_that_proves_nothing(
    small: Small, proved: Callable[[str], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not entered."""
    monkeypatch.setattr(canaries, "unsound", lambda *_: ["not one mutant was tried"])
    lines = proved(proof_file(small.kata).read_text())

    assert [f"{FIRST}: not one mutant was tried"] == lines
    assert "older" == read_proof(proof_file(small.kata)).engine
