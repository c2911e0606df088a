"""Makes one readable verdict of what became of the ranks: the one that failed first comes first."""

from __future__ import annotations

import re
import sys
from itertools import zip_longest
from typing import TYPE_CHECKING

from plugins.crashed import Crashed
from plugins.outcomes import AFTER
from plugins.outcomes import LATE
from plugins.raised import twin
from plugins.rankcalls import unpacked
from plugins.traffic import Results


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Sequence

    from plugins.outcomes import Outcome
    from plugins.raised import Raised


# What gloo says in the ranks that talked to one that is gone.
LOST = re.compile(r"Connection (?:closed by peer|reset by peer)|Broken pipe|Socket closed")
# What is no collective: its partner makes another call.
BETWEEN_TWO = {"send", "recv"}
RULE = "All ranks of a group must make the same calls of collectives in the same order."


def results(outcomes: Sequence[Outcome], size: int, seconds: float | None) -> Results:
    """Return what the ranks returned, or raise what the first that failed did."""
    __tracebackhide__ = True
    ranks = sorted(outcomes, key=lambda outcome: outcome.rank)
    for outcome in ranks:
        for text, stream in ((outcome.out, sys.stdout), (outcome.err, sys.stderr)):
            for line in text.splitlines():
                print(f"[rank {outcome.rank}] {line}", file=stream)
    if failed := by_time(outcomes):
        text = report(outcomes, size, seconds)
        raised = failed[0].raised
        raise twin(raised, text) if raised else Crashed(text)
    values = [unpacked(outcome.value) for outcome in ranks]
    return Results(values, [outcome.calls for outcome in ranks])


def by_time(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Return those that failed, causes before consequences; each as they came to be known."""
    failed = [each for each in outcomes if each.failed]
    return sorted(failed, key=weight)


def weight(outcome: Outcome) -> int:
    """Return 0 for what failed by itself, more for what may only follow from another failure."""
    if outcome.stopped == AFTER:
        return 3
    if outcome.raised:
        return 2 if lost(outcome.raised) else 0
    return 1 if outcome.stopped == LATE else 0


def lost(raised: Raised) -> bool:
    """Whether a rank only noticed that another one is gone."""
    return bool(LOST.search(raised.message))


def report(outcomes: Sequence[Outcome], size: int, seconds: float | None) -> str:
    """Return the verdict: a line that says it, and then rank by rank."""
    first = by_time(outcomes)[0]
    head = summary(first, outcomes, size, seconds)
    parts = [head, *(f"{text}" for text in groups(outcomes, first))]
    suspect = first.stopped == LATE or "gloo" in parts[0]
    if suspect and (found := difference(outcomes)):
        parts.append(f"{found}\n{RULE}")
    return "\n\n".join(parts)


def summary(first: Outcome, outcomes: Sequence[Outcome], size: int, seconds: float | None) -> str:
    """Return the verdict in one line."""
    if first.stopped == LATE:
        waits: dict[str, list[int]] = {}
        for each in sorted(outcomes, key=lambda each: each.rank):
            what = each.place.splitlines()[0] if each.place else "returned"
            waits.setdefault(what.partition(",")[0], []).append(each.rank)
        told = "; ".join(f"{named(ranks)} {plural(what, ranks)}" for what, ranks in waits.items())
        return f"still running after {seconds:g} s: {told}"
    text = first.raised.message if first.raised else first.death
    line = next(iter(text.strip().splitlines()), "")
    return f"rank {first.rank} of {size}: {line}".rstrip(": ")


def groups(outcomes: Sequence[Outcome], first: Outcome) -> Iterable[str]:
    """Return what became of the ranks, those to which the same happened in one text."""
    same: dict[str, list[int]] = {}
    failed = [first, *(each for each in by_time(outcomes) if each is not first)]
    for each in [*failed, *(each for each in outcomes if not each.failed)]:
        same.setdefault(told(each, first), []).append(each.rank)
    for text, ranks in same.items():
        verb, _, rest = text.partition("\n")
        yield "\n".join(filter(None, (f"{named(sorted(ranks))} {plural(verb, ranks)}", rest)))


def told(outcome: Outcome, first: Outcome) -> str:
    """Return what became of a rank: a phrase after its name, and further lines."""
    if outcome.raised:
        if outcome is not first and lost(outcome.raised) and not first_lost(first):
            return "lost the connection to a rank that is gone"
        return f"raised {outcome.raised.name}\n{outcome.raised.text}"
    if outcome.death:
        return f"died: {outcome.death}"
    if outcome.place:
        return (
            re.sub(r"^waits", "waited", outcome.place)
            if outcome.stopped == AFTER
            else outcome.place
        )
    return "returned"


def first_lost(first: Outcome) -> bool:
    """Whether nothing but a lost connection is known."""
    return bool(first.raised and lost(first.raised))


def difference(outcomes: Sequence[Outcome]) -> str:
    """Return the first collective in which two ranks differ, if they do."""
    ranks = sorted(outcomes, key=lambda each: each.rank)
    made = [[call.name for call in each.calls if call.name not in BETWEEN_TWO] for each in ranks]
    for number, names in enumerate(zip_longest(*made, fillvalue="not made"), 1):
        if len(set(names)) > 1:
            who: dict[str, list[int]] = {}
            for each, name in zip(ranks, names, strict=True):
                who.setdefault(name, []).append(each.rank)
            told = ", ".join(f"{name} in {named(found)}" for name, found in who.items())
            return f"Collective number {number} is {told}."
    return ""


def named(ranks: Sequence[int]) -> str:
    """Return ``rank 2``, or ``ranks 0, 1, 3``."""
    return f"rank{'s' if len(ranks) > 1 else ''} {', '.join(map(str, ranks))}"


def plural(phrase: str, ranks: Sequence[int]) -> str:
    """Return what one rank does as what many do."""
    return re.sub(r"^(wait|run)s\b", r"\1", phrase) if len(ranks) > 1 else phrase
