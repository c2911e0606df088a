"""``nox -s verify -- --canaries``: whether each part of the engine still rejects what it did.

No proof rests on the engine, so `tests/canaries.json` keeps the digest of each of its parts
(`parts`), and the canaries that have seen it: one or two katas, each with tests in which the part
rejects a wrong answer, or which use it. Where a digest differs, tox is red until stub, solution and
these wrong answers have been run. A part of the gate has six short proofs instead.
"""

from __future__ import annotations

import ast
import json
from dataclasses import dataclass
from dataclasses import field
from functools import cache
from typing import TYPE_CHECKING

from plugins.tools.files import write_whole
from tests.gate import selection
from tests.gate.answers import answers_file
from tests.gate.answers import read_answers
from tests.gate.cases import solution_files
from tests.gate.ledger import ProofError
from tests.gate.ledger import differences
from tests.gate.ledger import is_aged
from tests.gate.ledger import proof_file
from tests.gate.ledger import proof_problems
from tests.gate.ledger import read_proof
from tests.gate.ledger import unsound
from tests.gate.ledger import write_proof
from tests.gate.parts import KIT
from tests.gate.prove import Prover
from tests.gate.uses import statements


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Collection
    from collections.abc import Iterable
    from collections.abc import Iterator
    from collections.abc import Mapping
    from pathlib import Path

    from plugins.course.model import Kata
    from tests.gate.answers import Wrong
    from tests.gate.cases import Gate
    from tests.gate.checks import Checks
    from tests.gate.parts import Part


COMMAND = "nox -s verify -- --canaries --write"
# A part has so many katas, each with so many tests.
MOST = 2
TESTS = 2
# So many katas are tried for a part at most, of a function or a fault more, as they can reject.
CANDIDATES = 4
REJECTING = {"function": 20, "fault": 7}
# And so many tests of each.
TRIED = 4
# A part of the gate has so many of each kind: in Python, in C++ and in CUDA.
WHOLE = 2
# How a part has to do with a test.
REJECTS = "rejects"
USES = "uses"


@dataclass(frozen=True)
class Seen:
    """What is recorded of a part: its digest, and what it does in tests of its canaries.

    Of a canary without tests stub and solution are run, or it is a proof of a part of the gate.
    """

    digest: str
    katas: dict[str, dict[str, str]]


@dataclass
class Record:
    """The contents of tests/canaries.json; `seconds` is what one run of a kata takes."""

    parts: dict[str, Seen] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)


def record_file(gate: Gate) -> Path:
    """Return the path of the record."""
    return gate.tests / "canaries.json"


def read_record(gate: Gate) -> Record:
    """Read the record; without a file it is empty."""
    file = record_file(gate)
    if not file.is_file():
        return Record()
    table = json.loads(file.read_text(encoding="utf-8"))
    return Record({name: Seen(**part) for name, part in table["parts"].items()}, table["seconds"])


def write_record(gate: Gate, record: Record) -> None:
    """Write the record, with the times of the katas that are in it."""
    used = {kata for seen in record.parts.values() for kata in seen.katas}
    table = {
        "parts": {
            name: {"digest": seen.digest, "katas": dict(sorted(seen.katas.items()))}
            for name, seen in sorted(record.parts.items())
        },
        "seconds": {kata: record.seconds[kata] for kata in sorted(used & record.seconds.keys())},
    }
    file = record_file(gate)
    write_whole(file, f"{json.dumps(table, indent=2)}\n".encode(), file.parent)


def unseen(record: Record, parts: Mapping[str, Part]) -> list[str]:
    """Return the parts whose canaries have not seen them as they are."""
    seen = {name: part.digest for name, part in record.parts.items()}
    return [name for name, part in parts.items() if seen.get(name) != part.digest]


def lost(gate: Gate, record: Record) -> list[str]:
    """Return the parts of which a canary is no kata any more, or rejects nothing in its tests."""
    known = {kata.id: kata for kata in gate.katas}
    return [
        name
        for name, seen in record.parts.items()
        for kata, tests in seen.katas.items()
        if kata not in known or (tests and not answers_of(known[kata], tests))
    ]


def answers_of(kata: Kata, tests: Collection[str]) -> list[Wrong]:
    """Return the wrong answers of a kata that these tests reject."""
    file = answers_file(kata)
    wrong = _wrong(file, file.stat().st_mtime_ns) if file.is_file() else ()
    return [answer for answer in wrong if rejecting_test(answer) in tests]


@cache
def _wrong(file: Path, _changed: int) -> tuple[Wrong, ...]:
    return read_answers(file).wrong


def rejecting_test(answer: Wrong) -> str:
    """Return the function that rejects a wrong answer, of whatever parameter."""
    return answer.rejected_by.partition("[")[0]


def asked(record: Record, names: Iterable[str]) -> dict[str, set[str]]:
    """Return the tests whose wrong answers the canaries of these parts run, by kata."""
    found: dict[str, set[str]] = {}
    for name in names:
        for kata, tests in record.parts[name].katas.items():
            found.setdefault(kata, set()).update(tests)
    return found


def seconds_of(
    gate: Gate, record: Record, parts: Mapping[str, Part], names: Iterable[str]
) -> float:
    """Return how long the canaries of these parts take, on one processor."""
    known = {kata.id: kata for kata in gate.katas}
    names = [name for name in names if name in record.parts]
    whole = asked(record, (name for name in names if parts[name].is_gate))
    others = asked(record, (name for name in names if not parts[name].is_gate))
    runs = {
        kata: 2 + len(answers_of(known[kata], others[kata])) for kata in others if kata in known
    }
    return sum(selection.seconds_of(known[kata]) for kata in whole if kata in known) + sum(
        runs[kata] * record.seconds[kata] for kata in runs
    )


def stale(gate: Gate, record: Record, parts: Mapping[str, Part]) -> list[str]:
    """Return what is wrong with the record, each with the command that mends it."""
    lines = []
    if changed := unseen(record, parts):
        minutes = seconds_of(gate, record, parts, changed) / 60
        lines.append(
            f"the canaries have not seen these parts of the engine as they are: "
            f"{', '.join(changed)}. {COMMAND} runs them, {minutes:.0f} minutes of one processor"
        )
    gone = sorted(record.parts.keys() - parts.keys())
    lines += [f"{name} is no part of the engine any more: {COMMAND}" for name in gone]
    return lines + [f"{name} has lost a canary: {COMMAND}" for name in lost(gate, record)]


def show(gate: Gate, parts: Mapping[str, Part]) -> list[str]:
    """Return a line for each part: whether it has been seen, the time, and its canaries."""
    record = read_record(gate)
    new = unseen(record, parts)
    lines = []
    for name in parts:
        katas = record.parts[name].katas if name in record.parts else ()
        seconds = seconds_of(gate, record, parts, [name])
        state = "changed" if name in new else "seen"
        lines.append(f"{state:<8} {name}  {seconds:.0f} s  {' '.join(katas)}".rstrip())
    return [*lines, f"All: {seconds_of(gate, record, parts, parts):.0f} s of one processor."]


def kind_of(kata: Kata) -> str:
    """Return in what a kata is written: "py", "cpp" or "cu"."""
    suffixes = {file.rpartition(".")[2] for file in solution_files(kata)}
    return next(kind for kind in ("cu", "cpp", "py") if kind in suffixes)


def rejects(part: Part, via: Iterable[str]) -> bool:
    """Whether an exception that came this way was raised by the part."""
    return any(f"{each}.".startswith(f"{root}.") for each in via for root in part.roots)


def words_of_tests(kata: Kata) -> dict[str, set[str]]:
    """Return what each test of a kata names, in the functions and fixtures that it uses too.

    A name of the kit is ``kit: freed``, and what may be a fixture ``fixture: world``.
    """
    every: dict[str, list[ast.stmt]] = {}
    for file in (kata.folder / "conftest.py", kata.test):
        if file.is_file():
            tree = ast.parse(file.read_text(encoding="utf-8"))
            tree.body = [each for node in tree.body for each in _with_types(node)]
            every |= statements(tree)
    said = {name: set(_words(nodes)) for name, nodes in every.items()}
    found = {}
    for test in (name for name in every if name.startswith("test_")):
        seen, left = {test}, [test]
        while left:
            more = said[left.pop()] - seen
            seen |= more
            left += more & every.keys()
        found[test] = seen
    return found


def _with_types(node: ast.stmt) -> list[ast.stmt]:
    """Return what is imported for types, each by itself, and any other statement as it is."""
    types = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    return node.body if types and isinstance(node, ast.If) else [node]


def _words(nodes: Iterable[ast.stmt]) -> Iterator[str]:
    for node in nodes:
        for part in ast.walk(node):
            if isinstance(part, ast.Name):
                yield part.id
            elif isinstance(part, ast.arg):
                yield from (part.arg, f"fixture: {part.arg}")
            elif isinstance(part, ast.ImportFrom) and part.module == KIT:
                yield from (f"kit: {alias.name}" for alias in part.names)


def run_canaries(
    checks: Checks,
    parts: Mapping[str, Part],
    *,
    anew: bool = False,
    write: bool = False,
    say: Callable[[str], None] = lambda _: None,
    keep: Callable[[Record], None] = lambda _: None,
) -> tuple[Record, list[str]]:
    """Run the canaries of all parts that have changed, or choose those of all parts `anew`.

    The record that is returned has the new digest of each part whose canaries are as they were;
    the lines are what is wrong with the others. `keep` is given what is known so far.
    """
    record = read_record(checks.gate)
    record.parts = {name: seen for name, seen in record.parts.items() if name in parts}
    without = {*lost(checks.gate, record), *(parts.keys() - record.parts.keys())}
    without = {*parts} if anew else without
    keeper = Keeper(checks, record, say, write=write)
    # What few katas use is chosen first, and others may do with the same katas.
    names = [name for name in unseen(record, parts) if name not in without]
    names += sorted(without, key=lambda name: (parts[name].is_gate, len(keeper.users(parts[name]))))
    problems = []
    for name in names:
        say(name)
        katas = keeper.choose(parts[name]) if name in without else record.parts[name].katas
        lines = keeper.problems(parts[name], katas)
        problems += [f"{name}: {line}" for line in lines]
        if not lines:
            record.parts[name] = Seen(parts[name].digest, katas)
            keep(record)
    return record, problems


@dataclass
class Keeper:
    """Runs katas as canaries, each wrong answer once, and chooses them."""

    checks: Checks
    record: Record
    say: Callable[[str], None]
    write: bool = False
    # By kata, and of it by test: "" is stub and solution, "proof" its proof.
    found: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    words: dict[str, dict[str, set[str]]] = field(default_factory=dict)

    def run(self, kata: Kata, tests: Iterable[str]) -> None:
        """Run stub and solution of a kata, and the wrong answers that these tests reject."""
        runner, checks = self.checks.runner, self.checks
        before = runner.count, runner.cpu
        known = self.found.setdefault(kata.id, {})
        if "" not in known:
            known[""] = checks.unsolved(kata) + checks.solved(kata)
            if lacking := checks.lacks_a_tool(kata):
                known[""].append(f"it cannot be run here: {lacking}")
        new = [test for test in tests if test not in known and not known[""]]
        answers = [a for a in answers_of(kata, new) if not checks.left_out(kata, a)]
        for answer, lines in zip(answers, checks.wrong(kata, tuple(answers)), strict=True):
            named = [f"{answer.because!r}: {line}" for line in lines]
            known.setdefault(rejecting_test(answer), []).extend(named)
        if runs := runner.count - before[0]:
            seconds = runner.cpu - before[1]
            self.record.seconds[kata.id] = round(seconds / runs, 1)
            self.say(f"    {kata.id}: {runs} runs, {seconds:.0f} s")

    def prove(self, kata: Kata) -> None:
        """Prove a kata, if an older engine has done so: it must give what its entry says.

        What it gives is entered all the same, if it is a proof, so that one that is another for
        a good reason is red once.
        """
        known = self.found.setdefault(kata.id, {})
        gate = self.checks.gate
        lines = known["proof"] = proof_problems(gate, kata)
        if lines or not is_aged(entry := read_proof(proof_file(kata))):
            return
        row = Prover(self.checks).prove(kata)
        lines += [f"{check}: {line}" for check, line in row.problems]
        lines += filter(None, [row.no_proof])
        if row.proof:
            bad = unsound(gate, kata, row.proof)
            lines += differences(entry, row.proof) + bad
            if self.write and not bad:
                write_proof(kata, row.proof)
        self.say(f"    {kata.id}: proved, {row.cells['seconds']} s")

    def problems(self, part: Part, katas: Mapping[str, Mapping[str, str]]) -> list[str]:
        """Run the canaries of the part, and return what is wrong with them.

        That they are rejected by something else than they were is wrong too.
        """
        known = {kata.id: kata for kata in self.checks.gate.katas}
        lines = []
        for kata, tests in katas.items():
            if part.is_gate:
                if "proof" not in self.found.get(kata, {}):
                    self.prove(known[kata])
                lines += [f"{kata}: {line}" for line in self.found[kata]["proof"]]
                continue
            self.run(known[kata], tests)
            found, via = self.found[kata], self.checks.rejected.get(kata, {})
            said = [line for test in ("", *tests) for line in found.get(test, ())]
            said += [
                f"{test} does not reject by it any more"
                for test, does in tests.items()
                if does == REJECTS and test in via and not rejects(part, via[test])
            ]
            lines += [f"{kata}: {line}" for line in said]
        return lines

    def choose(self, part: Part) -> dict[str, dict[str, str]]:
        """Return the canaries of a part: they reject by it, from two lectures, and are cheap."""
        katas = self.users(part)
        taken = {kata for seen in self.record.parts.values() for kata in seen.katas}
        if part.is_gate:
            return self.small(katas, taken)
        katas.sort(key=lambda kata: self.cost(part, kata))
        found: dict[Kata, dict[str, str]] = {}
        for kata in katas[: REJECTING.get(part.kind, CANDIDATES)]:
            found[kata] = self.tests(part, kata)
            good = [kata for kata, tests in found.items() if REJECTS in tests.values()]
            if len(good) >= MOST and len({kata.lecture for kata in good}) > 1:
                break
        chosen: dict[str, dict[str, str]] = {}
        if part.is_fault:
            found = {kata: tests for kata, tests in found.items() if tests}
        while found and len(chosen) < MOST:
            first = min(
                found,
                key=lambda kata: (
                    REJECTS not in found[kata].values(),
                    kata.lecture in {name.partition("/")[0] for name in chosen},
                    kata.id not in taken,
                    self.record.seconds[kata.id],
                ),
            )
            chosen[first.id] = found.pop(first)
        return chosen

    def users(self, part: Part) -> list[Kata]:
        """Return the katas that use the part: in a test that rejects a wrong answer, or in any."""
        every = self.checks.gate.katas
        if part.is_fault:
            return [kata for kata in every if kind_of(kata) == "cu"]
        if not part.is_named:
            return list(every)
        rejecting = [kata for kata in every if answers_of(kata, self.naming(part, kata))]
        return rejecting or [kata for kata in every if self.naming(part, kata)]

    def naming(self, part: Part, kata: Kata) -> list[str]:
        """Return the tests of a kata that name the part, or all, those with few answers first."""
        if kata.id not in self.words:
            self.words[kata.id] = words_of_tests(kata)
        words = self.words[kata.id].items()
        tests = [test for test, said in words if part.name in said or not part.is_named]
        return sorted(tests, key=lambda test: len(answers_of(kata, [test])))

    def tests(self, part: Part, kata: Kata) -> dict[str, str]:
        """Return the tests in which the part rejects wrong answers of the kata, or that use it."""
        tests = [test for test in self.naming(part, kata) if answers_of(kata, [test])]
        tests = tests if part.is_fault else tests[:TRIED]
        self.run(kata, tests)
        via = self.checks.rejected.get(kata.id, {})
        found = {test: REJECTS for test in tests if rejects(part, via.get(test, ()))}
        if not found and not part.is_fault:
            found = dict.fromkeys(tests, USES)
        return dict(list(found.items())[:TESTS])

    def cost(self, part: Part, kata: Kata) -> float:
        """Return about how long the wrong answers of a kata that are asked for take."""
        try:
            proof = read_proof(proof_file(kata))
        except (OSError, ProofError):
            return selection.UNKNOWN
        runs = proof.wrong["tried"] + proof.right["tried"] + proof.repeats["run"] + 2
        runs += proof.mutants["tried"] + proof.mutants["unbuilt"] + proof.mutants["equivalent"]
        tests = self.naming(part, kata)
        tests = tests if part.is_fault else tests[:TRIED]
        return proof.seconds * (len(answers_of(kata, tests)) + 2) / runs

    def small(self, katas: list[Kata], taken: set[str]) -> dict[str, dict[str, str]]:
        """Return six katas whose proof is short: in Python, in C++ and in CUDA.

        Those of other parts that this engine has proved come first, since they cost nothing.
        """
        kinds: dict[str, list[Kata]] = {}
        proved = {kata.id for kata in katas if proof_file(kata).is_file()}
        free = (taken & proved) - {kata.id for kata in selection.aged(katas)}
        for kata in sorted(
            katas, key=lambda kata: (kata.id not in free, selection.seconds_of(kata))
        ):
            kinds.setdefault(kind_of(kata), []).append(kata)
        return {kata.id: {} for each in kinds.values() for kata in each[:WHOLE]}
