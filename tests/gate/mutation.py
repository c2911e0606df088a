"""Runs a kata's mutants: reports the survivors and the stale entries of equivalent ones."""

from __future__ import annotations

from collections import Counter
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

    from plugins.course.model import Kata
    from tests.gate.answers import Equivalent
    from tests.gate.checks import Checks
    from tests.gate.mutant import Mutant
    from tests.gate.protocol import Run


SHARE = 0.95
LEAST_CXX = 10
# At most this share of a kata's mutants may be listed as equivalent, and always two.
EQUIVALENT = 0.1
# Seconds that a mutant may take beyond the solution's time; a late one counts as killed.
SLACK = 3
# How many mutants to try of a kata with (True) and without C++, which always gets a sample.
QUICK = {True: LEAST_CXX, False: 40}
FULL = {True: 30, False: 10_000}


@dataclass(frozen=True)
class Mutation:
    """The results of a kata's mutants: how many there are, were tried, and were killed."""

    possible: int
    # Drawn, but it does not compile, so it proves nothing.
    unbuilt: int
    tried: int
    killed: int
    equivalent: int
    survivors: tuple[Mutant, ...]
    problems: tuple[str, ...]


def mutants_of(kata: Kata) -> list[Mutant]:
    """Return the mutants of all files that the learner edits, in a stable shuffled order."""
    found: list[Mutant] = []
    for file in solution_files(kata):
        make = python_mutants if file.endswith(".py") else cxx_mutants
        found += make(solution_text(kata, file), stub_text(kata, file), file)
    return sampled(found, kata.id)


def mutate(
    checks: Checks, kata: Kata, *, full: bool, progress: Callable[[int, int], None] | None = None
) -> Mutation:
    """Run the mutants, and check the list of equivalent ones against the results."""
    mutants = mutants_of(kata)
    wanted = min((FULL if full else QUICK)[bool(kata.csrc)], len(mutants))
    listed = checks.answers(kata).equivalent
    equivalent = {m for m in mutants if any(matches(m, entry) for entry in listed)}
    fates: dict[Mutant, Fate] = {}
    killers: Counter[str] = Counter()
    rest = iter(mutants)

    def valid() -> int:
        return sum(fate is not Fate.INVALID for m, fate in fates.items() if m not in equivalent)

    # A mutant that does not build, or that is equivalent, proves nothing: another one takes
    # its place.
    while missing := list(islice(rest, wanted - valid())):
        for mutant, fate in _fates(checks, kata, missing, killers):
            fates[mutant] = fate
            if progress:
                progress(valid(), wanted)
    # Every listed mutant is run, in the sample or not.
    others = [m for m in mutants if m in equivalent - fates.keys()]
    fates.update(_fates(checks, kata, others, killers))
    survived = [mutant for mutant in mutants if fates.get(mutant) is Fate.SURVIVED]
    open_ = [mutant for mutant in survived if mutant not in equivalent]
    count = valid()
    problems = [line for entry in listed for line in _check(entry, mutants, fates)]
    if kata.csrc and count < LEAST_CXX:
        problems.append(f"only {count} C++ mutants could be built, expected {LEAST_CXX}")
    if too_many_equivalent(len(equivalent), len(mutants)):
        problems.append(
            f"{len(equivalent)} of {len(mutants)} mutants are listed as equivalent, expected at "
            f"most {EQUIVALENT:.0%}: simplify the solution until the tests can tell more of them"
        )
    if too_few_killed(count - len(open_), count):
        problems.append(
            f"{count - len(open_)} of {count} mutants killed, expected {SHARE:.0%}: strengthen "
            f"the tests, simplify the solution, or list mutants that no test can kill under "
            f"[[equivalent]] with a reason\n\n" + "\n\n".join(shown(m) for m in open_)
        )
    return Mutation(
        possible=len(mutants),
        unbuilt=sum(fate is Fate.INVALID for m, fate in fates.items() if m not in equivalent),
        tried=count,
        killed=count - len(open_),
        equivalent=len(equivalent),
        survivors=tuple(open_),
        problems=tuple(problems),
    )


def too_few_killed(killed: int, tried: int) -> bool:
    """Whether the tests let too many mutants pass."""
    return killed < SHARE * tried


def too_many_equivalent(equivalent: int, possible: int) -> bool:
    """Whether so many mutants are listed as equivalent that the list proves nothing."""
    return equivalent > max(2, EQUIVALENT * possible)


def _fates(
    checks: Checks, kata: Kata, mutants: Iterable[Mutant], killers: Counter[str]
) -> Iterator[tuple[Mutant, Fate]]:
    """Yield each mutant with its fate; tests that have killed the most run first."""
    limits = checks.limits(kata, SLACK)
    by_run = {}
    with ExitStack() as stack:

        def runs() -> Iterator[Run]:
            for mutant in mutants:
                folder = stack.enter_context(laid_over(kata, {mutant.file: mutant.text}))
                first = tuple(name for name, _ in killers.most_common())
                run = checks.run_of(kata, folder, first=first, **limits)
                by_run[run] = mutant
                yield run

        for run, result in checks.runner.each(runs()):
            killers.update(test.name for test in result.failed[:1])
            yield by_run[run], outcome.fate(result)


def _check(entry: Equivalent, mutants: list[Mutant], fates: dict[Mutant, Fate]) -> list[str]:
    found = [mutant for mutant in mutants if matches(mutant, entry)]
    named = f"[[equivalent]] {entry.file} {entry.function} {entry.operator}\n{entry.diff.strip()}\n"
    if not found:
        return [f"{named}is not a mutant of the current solution: copy it again or delete it"]
    if len(found) > 1:
        return [f"{named}matches {len(found)} mutants: add nth, 1 to {len(found)}, to pick one"]
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
