"""Proves one kata: runs every check of the gate on it, and makes the entry of the ledger."""

from __future__ import annotations

import datetime as dt
import time
from dataclasses import dataclass
from dataclasses import field
from importlib.metadata import version
from typing import TYPE_CHECKING

from plugins.tools.toml import TomlError
from tests.gate.engine import engine_digest
from tests.gate.ledger import SHORT
from tests.gate.ledger import Proof
from tests.gate.ledger import ProofError
from tests.gate.ledger import proof_file
from tests.gate.ledger import read_proof
from tests.gate.ledger import shortened
from tests.gate.mutation import mutate
from tests.gate.proof_key import content_of
from tests.gate.proof_key import key_of
from tests.gate.proof_key import names_of
from tests.gate.proof_key import pinned_torch
from tests.gate.proof_key import text_of
from tests.gate.repeats import repeats
from tests.gate.repeats import times_of
from tests.gate.rules import broken_rules
from tests.gate.wrongrules import broken_answers


if TYPE_CHECKING:
    from collections.abc import Callable

    from plugins.course.model import Kata
    from tests.gate.checks import Checks
    from tests.gate.mutant import Mutant


CHECKS = ("unsolved", "solved", "wrong", "right", "mutants", "flakes")


@dataclass
class Row:
    """The gate's findings about one kata; the cell of a check that did not run is empty."""

    kata: str
    cells: dict[str, str] = field(default_factory=dict)
    problems: list[tuple[str, str]] = field(default_factory=list)
    survivors: tuple[Mutant, ...] = ()
    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    # Why the findings, though none is a problem, are no proof.
    no_proof: str = ""
    proof: Proof | None = None

    def add(self, check: str, cell: str, problems: list[str]) -> None:
        """Fill one cell, and keep the problems under the name of the check."""
        self.cells[check] = cell
        self.problems += [(check, problem) for problem in problems]


@dataclass
class Prover:
    """Puts katas through the gate; `say` is told what is running, and how much of it is done."""

    checks: Checks
    only: tuple[str, ...] = CHECKS
    full: bool = True
    # How often a kata is repeated; None for the number that a proof needs.
    times: int | None = None
    say: Callable[[str, int, int], None] = lambda _check, _done, _wanted: None

    def prove(self, kata: Kata) -> Row:
        """Run the chosen checks; the row has a proof if all of them were run and passed."""
        started = time.monotonic()
        runner, gate = self.checks.runner, self.checks.gate
        runner.seconds, runner.opened = 0.0, set()
        known = names_of(gate, kata)
        content = content_of(gate, kata, known.values())
        row = Row(kata.id)
        self.say("solved", 0, 1)
        solved = self.checks.solved_result(kata)
        row.cells["tests"] = str(len(solved.tests))
        row.add("layout", "", broken_rules(kata) + broken_answers(gate, kata))
        told = [problem for _, problem in row.problems]
        problems = self.checks.solved(kata)
        row.add("solved", "no" if problems else "yes", problems)
        if "unsolved" in self.only:
            self._unsolved(kata, row)
        if absent := self.checks.absent(kata):
            row.cells["solved"] = f"skipped: {absent}"
            row.no_proof = absent
        elif not problems:
            row.no_proof = self.checks.lacks_a_tool(kata)
            try:
                self._answers(kata, row, told)
            except TomlError:
                # The layout has told what is wrong with the file.
                row.add("wrong", "no", [])
            if "flakes" in self.only:
                self._repeats(kata, row)
        row.add("files", "", self._hidden(known))
        row.cells["seconds"] = f"{time.monotonic() - started:.0f}"
        self._conclude(kata, row, known, content)
        return row

    def _unsolved(self, kata: Kata, row: Row) -> None:
        self.say("unsolved", 0, 1)
        result = self.checks.unsolved_result(kata)
        found = self.checks.unsolved(kata)
        row.add("unsolved", "no" if found else "red", found)
        row.counts["tests"] = {
            "all": len(result.tests),
            "red": sum(t.outcome == "failed" and not t.given for t in result.tests),
            "given": sum(t.given for t in result.tests),
            "skipped": sum(t.outcome == "skipped" and not t.given for t in result.tests),
        }

    def _answers(self, kata: Kata, row: Row, told: list[str]) -> None:
        checks = self.checks
        if "wrong" in self.only:
            every = checks.answers(kata).wrong
            self.say("wrong answers", 0, len(every))
            # The cell counts all answers, to show that some were left out.
            reasons = {answer: checks.left_out(kata, answer) for answer in every}
            answers = tuple(answer for answer in every if not reasons[answer])
            tried = checks.wrong(kata, answers)
            pairs = zip(answers, tried, strict=True)
            # An edit that does not fit the solution is told once, by the layout.
            named = [
                f"{answer.because!r}: {line}"
                for answer, lines in pairs
                for line in lines
                if not any(problem.endswith(line) for problem in told)
            ]
            rejected = sum(not lines for lines in tried)
            for answer, reason in reasons.items():
                if reason and not checks.made_right(answer):
                    row.no_proof = f"the wrong answer {answer.because!r} was not tried: {reason}"
            row.add("wrong", f"{rejected}/{len(every)}", named)
            row.counts["wrong"] = {
                "listed": len(every),
                "tried": len(answers),
                "rejected": rejected,
            }
        if "right" in self.only:
            paths = checks.gate.right(kata)
            self.say("right answers", 0, len(paths))
            found = {path: checks.right(kata, path) for path in paths}
            lines = [f"{path.name}: {line}" for path, bad in found.items() for line in bad]
            row.add("right", str(len(paths)) if paths else "", lines)
            accepted = sum(not bad for bad in found.values())
            row.counts["right"] = {"tried": len(paths), "accepted": accepted}
        if "mutants" in self.only and (reason := checks.lacks(kata)):
            # Mutants of code that only skipped tests cover would survive.
            row.cells["mutants"] = f"skipped: {reason}"
            row.no_proof = reason
        elif "mutants" in self.only:
            mutation = mutate(
                checks,
                kata,
                full=self.full,
                progress=lambda done, wanted: self.say("mutants", done, wanted),
            )
            row.add("mutants", f"{mutation.killed}/{mutation.tried}", list(mutation.problems))
            row.survivors = mutation.survivors
            row.counts["mutants"] = {
                "possible": mutation.possible,
                "unbuilt": mutation.unbuilt,
                "tried": mutation.tried,
                "killed": mutation.killed,
                "equivalent": mutation.equivalent,
            }

    def _repeats(self, kata: Kata, row: Row) -> None:
        times = times_of(self.checks, kata) if self.times is None else self.times
        lines = repeats(
            self.checks,
            kata,
            times,
            progress=lambda done, wanted: self.say("repeats", done, wanted),
        )
        row.add("repeats", f"{times - len(lines)}/{times}", lines)
        row.counts["repeats"] = {"run": times, "passed": times - len(lines)}

    def _hidden(self, known: dict[str, str]) -> list[str]:
        """Return a problem for each file of the repository that a run opened and may not open."""
        return [
            f"a run opened {name}, on which the key of the proof does not rest: move it into the "
            f"lecture's folder, under a name without a number, or do without it"
            for name in sorted(self.checks.runner.opened - known.keys())
        ]

    def _conclude(
        self, kata: Kata, row: Row, known: dict[str, str], content: dict[str, str]
    ) -> None:
        gate, runner = self.checks.gate, self.checks.runner
        pinned = pinned_torch(gate.root)
        if set(self.only) != set(CHECKS) or not self.full:
            row.no_proof = row.no_proof or "not all checks were run"
        elif pinned and not version("torch").startswith(f"{pinned}."):
            row.no_proof = f"proofs are made with torch {pinned}, this is {version('torch')}"
        elif self.times is not None and self.times < (due := times_of(self.checks, kata)):
            row.no_proof = row.no_proof or f"it was repeated {self.times} times, expected {due}"
        elif content_of(gate, kata, known.values()) != content:
            row.no_proof = "its files have changed meanwhile"
        if row.problems or row.no_proof:
            return
        # Of the files that its lecture shares, it rests on those that its runs have opened.
        opened = {known[name] for name in runner.opened if name in known}
        content = content_of(gate, kata, opened)
        row.proof = Proof(
            kata=kata.id,
            key=key_of(content),
            proved=dt.datetime.now(tz=dt.UTC).date().isoformat(),
            torch=pinned,
            seconds=round(runner.seconds),
            engine=engine_digest()[:SHORT],
            content=shortened(content),
            blind=self._blind(kata),
            **row.counts,
        )

    def _blind(self, kata: Kata) -> list[dict[str, object]]:
        """Return the blind runs of the entry before with the words of this stub and these tests."""
        try:
            before = read_proof(proof_file(kata))
        except (OSError, ProofError):
            return []
        text = text_of(kata)[:SHORT]
        return [run for run in before.blind if run["text"] == text]
