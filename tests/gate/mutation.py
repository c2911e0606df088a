"""Runs a kata's mutants and says which survived and which are listed as equivalent."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from tests.gate import outcome
from tests.gate.cases import solution_files
from tests.gate.cases import solution_text
from tests.gate.cases import stub_text
from tests.gate.cxxmutants import cxx_mutants
from tests.gate.mutant import matches
from tests.gate.mutant import sampled
from tests.gate.outcome import Fate
from tests.gate.overlay import laid_over
from tests.gate.pymutants import python_mutants


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterable
    from collections.abc import Iterator

    from plugins.layout import Kata
    from tests.gate.answers import Equivalent
    from tests.gate.checks import Checks
    from tests.gate.mutant import Mutant


SHARE = 0.95
LEAST_CXX = 10
# Seconds that a mutant may take above what the solution takes: late is killed.
SLACK = 3
# How many mutants of a kata a run tries: of Python a sample or all, of C++ always a sample.
QUICK = {True: LEAST_CXX, False: 40}
FULL = {True: 30, False: 10_000}


@dataclass(frozen=True)
class Mutation:
    """What became of a kata's mutants."""

    tried: int
    killed: int
    survivors: tuple[Mutant, ...]
    problems: tuple[str, ...]


def mutants_of(kata: Kata) -> list[Mutant]:
    """Return the mutants of everything the learner edits, in a stable mixed order."""
    found: list[Mutant] = []
    for file in solution_files(kata):
        make = python_mutants if file.endswith(".py") else cxx_mutants
        found += make(solution_text(kata, file), stub_text(kata, file), file)
    return sampled(found, kata.id)


def mutate(
    checks: Checks, kata: Kata, *, full: bool, progress: Callable[[int, int], None] | None = None
) -> Mutation:
    """Run the mutants, and check the list of equivalent ones against what was seen."""
    mutants = mutants_of(kata)
    wanted = min((FULL if full else QUICK)[bool(kata.csrc)], len(mutants))
    listed = checks.answers(kata).equivalent
    equivalent = {m for m in mutants if any(matches(m, entry) for entry in listed)}
    fates: dict[Mutant, Fate] = {}
    rest = iter(mutants)

    def valid() -> int:
        return sum(fate is not Fate.INVALID for m, fate in fates.items() if m not in equivalent)

    # A mutant that does not build, or that is equivalent, proves nothing: another one takes
    # its place.
    while missing := list(islice(rest, wanted - valid())):
        for mutant, fate in _fates(checks, kata, missing):
            fates[mutant] = fate
            if progress:
                progress(valid(), wanted)
    # The list is checked whole, whatever the sample holds.
    fates.update(_fates(checks, kata, [m for m in mutants if m in equivalent - fates.keys()]))
    survived = [mutant for mutant in mutants if fates.get(mutant) is Fate.SURVIVED]
    open_ = [mutant for mutant in survived if mutant not in equivalent]
    count = valid()
    problems = [line for entry in listed for line in _check(entry, mutants, fates)]
    if kata.csrc and count < LEAST_CXX:
        problems.append(f"only {count} C++ mutants could be built, expected {LEAST_CXX}")
    if count and (count - len(open_)) / count < SHARE:
        problems.append(
            f"{count - len(open_)} of {count} mutants killed, expected {SHARE:.0%}: strengthen "
            f"the tests, simplify the solution, or list those that no test can tell apart "
            f"with [[equivalent]] and a reason\n\n" + "\n\n".join(shown(m) for m in open_)
        )
    return Mutation(count, count - len(open_), tuple(open_), tuple(problems))


def _fates(checks: Checks, kata: Kata, mutants: Iterable[Mutant]) -> Iterator[tuple[Mutant, Fate]]:
    limits = checks.limits(kata, SLACK)
    with ExitStack() as stack:
        by_run = {}
        for mutant in mutants:
            folder = stack.enter_context(laid_over(kata, {mutant.file: mutant.text}))
            by_run[checks.run_of(kata, folder, **limits)] = mutant
        for run, result in checks.runner.each(by_run):
            yield by_run[run], outcome.fate(result)


def _check(entry: Equivalent, mutants: list[Mutant], fates: dict[Mutant, Fate]) -> list[str]:
    found = [mutant for mutant in mutants if matches(mutant, entry)]
    named = f"[[equivalent]] {entry.file} {entry.function} {entry.operator}\n{entry.diff.strip()}\n"
    if not found:
        return [f"{named}is no mutant of the solution as it is now: copy it anew or delete it"]
    if len(found) > 1:
        return [f"{named}names {len(found)} mutants: add nth = 1 to {len(found)} to say which"]
    if fates[found[0]] is not Fate.SURVIVED:
        return [f"{named}is listed as equivalent but {fates[found[0]].value}: delete the entry"]
    return []


def shown(mutant: Mutant) -> str:
    """Return a survivor as the TOML table that would list it as equivalent."""
    nth = f"nth = {mutant.nth}\n" if mutant.nth > 1 else ""
    return (
        f"# line {mutant.line}\n[[equivalent]]\nfile = {mutant.file!r}\n"
        f"function = {mutant.function!r}\noperator = {mutant.operator!r}\n{nth}"
        f"diff = '''\n{mutant.diff}\n'''\nreason = \"\""
    )
