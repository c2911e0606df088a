"""Puts a kata through the gate: each check runs tests and returns the problems it found."""

from __future__ import annotations

import re
from contextlib import ExitStack
from dataclasses import dataclass
from dataclasses import field
from importlib.metadata import version
from typing import TYPE_CHECKING

from plugins.machine.torchversion import explain_mismatch
from tests.gate import outcome
from tests.gate.answers import Answers
from tests.gate.answers import answers_file
from tests.gate.answers import read_answers
from tests.gate.cases import solution_text
from tests.gate.overlay import EditError
from tests.gate.overlay import edited
from tests.gate.overlay import laid_over
from tests.gate.overlay import right_laid_over
from tests.gate.protocol import Run


if TYPE_CHECKING:
    from pathlib import Path

    from plugins.course.model import Kata
    from tests.gate.answers import Wrong
    from tests.gate.cases import Gate
    from tests.gate.protocol import Result
    from tests.gate.protocol import Test
    from tests.gate.runner import Runner


# Of a skip, the missing device or backend: "nvcc: nvcc is not installed; ...".
NAMED = re.compile(r"(\w+): ")
# What a machine has or has not, with the backend that talks between GPUs.
DEVICES = {"cuda", "mps", "nccl"}


@dataclass
class Checks:
    """The checks of one gate, in one warm process; solved runs are kept for all checks."""

    gate: Gate
    runner: Runner
    # Seconds: a wrong answer may make hypothesis search long for the smallest example.
    slack: int = 30
    kept: dict[str, Result] = field(default_factory=dict)
    kept_unsolved: dict[str, Result] = field(default_factory=dict)
    # By kata and test, what wrong answers were rejected by: see `Test.via`.
    rejected: dict[str, dict[str, set[str]]] = field(default_factory=dict)

    def run_of(self, kata: Kata, overlay: Path | None = None, **options: object) -> Run:
        """Return the run of a kata's tests with the solutions, and `overlay` over them."""
        return Run(
            root=str(self.gate.root),
            tests=(self.gate.name_of(kata.test),),
            overlay=str(overlay or ""),
            **{"solutions": True, **options},  # type: ignore[arg-type]
        )

    def unsolved_result(self, kata: Kata) -> Result:
        """Run the kata as the learner finds it, once."""
        if kata.id not in self.kept_unsolved:
            self.kept_unsolved[kata.id] = self.runner.one(self.run_of(kata, solutions=False))
        return self.kept_unsolved[kata.id]

    def unsolved(self, kata: Kata) -> list[str]:
        """Return what is wrong with the run of the kata as the learner finds it."""
        return outcome.unsolved(self.unsolved_result(kata))

    def solved_result(self, kata: Kata) -> Result:
        """Run the kata with its solution, once."""
        if kata.id not in self.kept:
            self.kept[kata.id] = self.runner.one(self.run_of(kata))
        return self.kept[kata.id]

    def solved(self, kata: Kata) -> list[str]:
        """Run the kata with its solution."""
        return outcome.solved(self.solved_result(kata))

    def absent(self, kata: Kata, name: str = "") -> str:
        """Return why this machine cannot run the kata, or its test `name`; empty if it can."""
        tests = self.solved_result(kata).tests
        tests = tuple(test for test in tests if not name or outcome.named(test.name, name))
        skipped = [test for test in tests if test.outcome == "skipped"]
        return tests[0].message if tests and len(skipped) == len(tests) else ""

    def made_right(self, answer: Wrong) -> str:
        """Return why a wrong answer is right with this torch; empty if it is wrong."""
        return explain_mismatch(answer.torch, version("torch")) or "" if answer.torch else ""

    def left_out(self, kata: Kata, answer: Wrong) -> str:
        """Return why a wrong answer is left out: torch makes it right, or its test is skipped."""
        return self.made_right(answer) or self.absent(kata, answer.rejected_by)

    def lacks_a_tool(self, kata: Kata) -> str:
        """Return why a test is skipped here, if an installation would let it run.

        A GPU cannot be installed, and its tests are not what a proof rests on. What a test has in
        brackets is a device too, of a package.
        """
        for test in self.solved_result(kata).tests:
            reason = NAMED.match(test.message) if test.outcome == "skipped" else None
            variant = set(test.name.partition("[")[2].removesuffix("]").split("-"))
            if reason and reason[1] not in variant and not DEVICES & {*variant, reason[1]}:
                return test.message
        return ""

    def lacks(self, kata: Kata) -> str:
        """Return why a test is skipped here, if for something that the kata's table `needs`."""
        variants: dict[str, list[Test]] = {}
        for test in self.solved_result(kata).tests:
            variants.setdefault(test.name.partition("[")[0], []).append(test)
        for tests in variants.values():
            reasons = [test.message for test in tests if test.outcome == "skipped"]
            if len(reasons) == len(tests) and reasons[0].partition(":")[0] in kata.needs:
                return reasons[0]
        return ""

    def limits(self, kata: Kata, slack: int) -> dict[str, object]:
        """Return the time limits of an altered solution, derived from the solution's times."""
        solved = self.solved_result(kata)
        return {
            "stop": True,
            "cpu_seconds": int(slack + 2 * solved.cpu),
            "wall_seconds": 30 + slack + 10 * solved.seconds,
        }

    def names(self, kata: Kata) -> tuple[str, ...]:
        """Return the names of the kata's tests."""
        return tuple(test.name for test in self.solved_result(kata).tests)

    def answers(self, kata: Kata) -> Answers:
        """Read the kata's file of wrong answers, if there is one; raises TomlError."""
        file = answers_file(kata)
        return read_answers(file) if file.exists() else Answers((), ())

    def edited(self, kata: Kata, answer: Wrong) -> str:
        """Return the solution with the wrong answer in it; raises EditError."""
        try:
            text = solution_text(kata, answer.file)
        except FileNotFoundError:
            raise EditError(f"file = {answer.file!r} is not in {kata.lecture}/solutions") from None
        return edited(text, answer)

    def wrong(self, kata: Kata, answers: tuple[Wrong, ...]) -> list[list[str]]:
        """Lay each wrong answer over the kata, as many at a time as the runner takes."""
        problems: list[list[str]] = [[] for _ in answers]
        limits, names = self.limits(kata, self.slack), self.names(kata)
        with ExitStack() as stack:
            places = {}
            for place, answer in enumerate(answers):
                try:
                    text = self.edited(kata, answer)
                except EditError as error:
                    problems[place] = [str(error)]
                else:
                    folder = stack.enter_context(laid_over(kata, {answer.file: text}))
                    places[self.run_of(kata, folder, **limits)] = place
            for run, result in self.runner.each(places):
                place = places[run]
                problems[place] = outcome.rejected(result, answers[place], names)
                for test in result.failed[:1]:
                    by = self.rejected.setdefault(kata.id, {})
                    by.setdefault(test.name.partition("[")[0], set()).update(test.via)
        return problems

    def right(self, kata: Kata, answer: Path) -> list[str]:
        """Lay an alternative solution over the kata: every test must accept it."""
        with right_laid_over(kata, answer) as folder:
            return outcome.solved(self.runner.one(self.run_of(kata, folder)))
