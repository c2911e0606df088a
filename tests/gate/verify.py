"""``python -m tests.gate.verify lecture04 k03_clamp``: the whole gate for a lecture, or a kata."""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING

from plugins.tomltable import TomlError
from tests.gate.cases import read_gate
from tests.gate.checks import Checks
from tests.gate.mutation import mutate
from tests.gate.repeats import repeats
from tests.gate.rules import broken_rules
from tests.gate.runner import HOME
from tests.gate.runner import Runner
from tests.gate.table import Row
from tests.gate.table import merged
from tests.gate.table import report
from tests.gate.wrongrules import broken_answers


if TYPE_CHECKING:
    from plugins.layout import Kata


CHECKS = ("unsolved", "solved", "wrong", "right", "mutants", "flakes")


def main(arguments: list[str]) -> int:
    """Run the chosen checks and print the report; the status says whether all is well."""
    parser = argparse.ArgumentParser(prog="verify", description=__doc__)
    parser.add_argument("lecture", help="lecture04, or all")
    parser.add_argument("kata", nargs="*", help="k03_clamp or k03; all of the lecture by default")
    parser.add_argument("--only", default=",".join(CHECKS), help="a comma between: %(default)s")
    parser.add_argument("--quick", action="store_true", help="a sample of the mutants")
    parser.add_argument("--repeats", type=int, default=20, help="runs in random order: %(default)s")
    parser.add_argument("--jobs", type=int, help="runs at a time; by default one per core, up to 4")
    parser.add_argument("--write", action="store_true", help="put the rows into tests/README.md")
    options = parser.parse_args(arguments)
    only = options.only.split(",")
    if unknown := set(only) - set(CHECKS):
        parser.error(f"--only: expected {', '.join(CHECKS)}; found {', '.join(sorted(unknown))}")
    gate = read_gate(HOME)
    lectures = () if options.lecture == "all" else (options.lecture,)
    katas = gate.chosen(lectures, tuple(options.kata))
    broken = [e for e in gate.course.errors if options.lecture == "all" or options.lecture in e]
    if broken or not katas:
        sys.stdout.write("\n".join(broken or ["no such kata"]) + "\n")
        return 2
    page = gate.tests / "README.md"
    rows: list[Row] = []

    def save() -> None:
        if options.write:
            page.write_text(merged(page.read_text("utf-8"), rows), encoding="utf-8")

    with Runner(options.jobs) as runner:
        checks = Checks(gate, runner)
        for kata in katas:
            rows.append(check(checks, kata, only, full=not options.quick))
            # Kept if somebody ends the run: a lecture takes a quarter of an hour.
            save()
        if "flakes" in only:
            _progress(f"{options.repeats} repeats of {len(katas)} katas in random order")
            lines = repeats(checks, katas, options.repeats)
            for kata, row in zip(katas, rows, strict=True):
                found = lines[kata.id]
                row.add("repeats", f"{options.repeats - len(found)}/{options.repeats}", found)
    _progress("")
    sys.stdout.write(report(rows) + "\n")
    save()
    return int(any(row.problems for row in rows))


def check(checks: Checks, kata: Kata, only: list[str], *, full: bool) -> Row:
    """Put one kata through the gate; what needs a green solution waits for one."""
    started = time.monotonic()
    row = Row(kata.id)
    _progress(f"{kata.id} solved")
    solved = checks.solved_result(kata)
    row.cells["tests"] = str(len(solved.tests))
    row.add("layout", "", broken_rules(kata) + broken_answers(checks.gate, kata))
    problems = checks.solved(kata)
    row.add("solved", "no" if problems else "yes", problems)
    if "unsolved" in only:
        _progress(f"{kata.id} unsolved")
        found = checks.unsolved(kata)
        row.add("unsolved", "no" if found else "red", found)
    if absent := checks.absent(kata):
        row.cells["solved"] = f"skipped: {absent}"
    elif not problems:
        try:
            _answers(checks, kata, only, row, full=full)
        except TomlError as error:
            row.add("wrong", "no", [str(error)])
    row.cells["seconds"] = f"{time.monotonic() - started:.0f}"
    return row


def _answers(checks: Checks, kata: Kata, only: list[str], row: Row, *, full: bool) -> None:
    if "wrong" in only:
        _progress(f"{kata.id} wrong answers")
        every = checks.answers(kata).wrong
        # The cell shows that the others were left out.
        answers = tuple(answer for answer in every if not checks.left_out(kata, answer))
        tried = checks.wrong(kata, answers)
        pairs = zip(answers, tried, strict=True)
        named = [f"{answer.because!r}: {line}" for answer, lines in pairs for line in lines]
        cell = f"{sum(not lines for lines in tried)}/{len(every)}"
        row.add("wrong", cell, named)
    if "right" in only:
        paths = checks.gate.right(kata)
        lines = [f"{path.name}: {line}" for path in paths for line in checks.right(kata, path)]
        row.add("right", str(len(paths)) if paths else "", lines)
    if "mutants" in only and (reason := checks.lacks(kata)):
        # Mutants of what only skipped tests judge would survive.
        row.cells["mutants"] = f"skipped: {reason}"
    elif "mutants" in only:

        def progress(done: int, wanted: int) -> None:
            _progress(f"{kata.id} mutants {'#' * (20 * done // wanted):.<20} {done}/{wanted}")

        mutation = mutate(checks, kata, full=full, progress=progress)
        row.add("mutants", f"{mutation.killed}/{mutation.tried}", list(mutation.problems))
        row.survivors = mutation.survivors


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{text}")
    elif text and not text[-1].isdigit():
        # A log needs no bar.
        sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
