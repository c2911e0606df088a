"""Makes one verdict of the outcomes of all ranks: first the one that failed first."""

from __future__ import annotations

import re
import sys
from itertools import zip_longest
from typing import TYPE_CHECKING

from plugins.crash.crash_reports import Crashed
from plugins.ranks.messages import AFTER
from plugins.ranks.messages import LATE
from plugins.ranks.messages import make_twin
from plugins.ranks.messages import unpack
from plugins.ranks.traffic import RankResults


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Sequence

    from plugins.ranks.messages import Raised
    from plugins.ranks.messages import RankOutcome


# What gloo says in a rank whose partner is gone.
LOST = re.compile(r"Connection (?:closed by peer|reset by peer)|Broken pipe|Socket closed")
# Not collectives: the partner makes another call.
BETWEEN_TWO = {"send", "recv"}
RULE = "All ranks of a group must make the same calls of collectives in the same order."


def collect_results(
    outcomes: Sequence[RankOutcome], size: int, seconds: float | None
) -> RankResults:
    """Return what the ranks returned, or raise what the first one that failed raised."""
    __tracebackhide__ = True
    ranks = sorted(outcomes, key=lambda outcome: outcome.rank)
    for outcome in ranks:
        for text, stream in ((outcome.out, sys.stdout), (outcome.err, sys.stderr)):
            for line in text.splitlines():
                print(f"[rank {outcome.rank}] {line}", file=stream)
    if failed := failures_by_cause(outcomes):
        text = format_report(outcomes, size, seconds)
        raised = failed[0].raised
        raise make_twin(raised, text) if raised else Crashed(text)
    values = [unpack(outcome.value) for outcome in ranks]
    uncounted = next((outcome.uncounted for outcome in ranks if outcome.uncounted), "")
    return RankResults(values, [outcome.calls for outcome in ranks], uncounted)


def failures_by_cause(outcomes: Sequence[RankOutcome]) -> list[RankOutcome]:
    """Return the ranks that failed, causes before consequences, else in the order of arrival."""
    return sorted((each for each in outcomes if each.failed), key=distance_from_cause)


def distance_from_cause(outcome: RankOutcome) -> int:
    """Return 0 for what failed by itself, more for what may only follow from another failure."""
    if outcome.stopped == AFTER:
        return 3
    if outcome.raised:
        return 2 if lost_connection(outcome.raised) else 0
    return 1 if outcome.stopped == LATE else 0


def lost_connection(raised: Raised) -> bool:
    """Whether a rank only noticed that another one is gone."""
    return bool(LOST.search(raised.message))


def format_report(outcomes: Sequence[RankOutcome], size: int, seconds: float | None) -> str:
    """Return the verdict: a summary in one line, then rank by rank."""
    first = failures_by_cause(outcomes)[0]
    head = summarize(first, outcomes, size, seconds)
    parts = [head, *describe_groups(outcomes, first)]
    suspect = first.stopped == LATE or "gloo" in head
    if suspect and (found := first_difference(outcomes)):
        parts.append(f"{found}\n{RULE}")
    return "\n\n".join(parts)


def summarize(
    first: RankOutcome, outcomes: Sequence[RankOutcome], size: int, seconds: float | None
) -> str:
    """Return the verdict in one line."""
    if first.stopped == LATE:
        waits: dict[str, list[int]] = {}
        for each in sorted(outcomes, key=lambda each: each.rank):
            what = each.place.splitlines()[0] if each.place else "returned"
            waits.setdefault(what.partition(",")[0], []).append(each.rank)
        parts = [f"{name_ranks(ranks)} {conjugate(what, ranks)}" for what, ranks in waits.items()]
        return f"still running after {seconds:g} s: {'; '.join(parts)}"
    text = first.raised.message if first.raised else first.death
    line = next(iter(text.strip().splitlines()), "")
    return f"rank {first.rank} of {size}: {line}".rstrip(": ")


def describe_groups(outcomes: Sequence[RankOutcome], first: RankOutcome) -> Iterable[str]:
    """Yield how the ranks ended, one text for all that ended alike."""
    alike: dict[str, list[int]] = {}
    failed = [first, *(each for each in failures_by_cause(outcomes) if each is not first)]
    for each in [*failed, *(each for each in outcomes if not each.failed)]:
        alike.setdefault(describe_outcome(each, first), []).append(each.rank)
    for text, ranks in alike.items():
        verb, _, rest = text.partition("\n")
        head = f"{name_ranks(sorted(ranks))} {conjugate(verb, ranks)}"
        yield "\n".join(filter(None, (head, rest)))


def describe_outcome(outcome: RankOutcome, first: RankOutcome) -> str:
    """Return how a rank ended: a phrase to follow its name, and further lines."""
    if outcome.raised:
        only_lost = first.raised and lost_connection(first.raised)
        if outcome is not first and lost_connection(outcome.raised) and not only_lost:
            return "lost the connection to a rank that is gone"
        return f"raised {outcome.raised.name}\n{outcome.raised.text}"
    if outcome.death:
        return f"died: {outcome.death}"
    if outcome.place:
        if outcome.stopped == AFTER:
            return re.sub(r"^waits", "waited", outcome.place)
        return outcome.place
    return "returned"


def first_difference(outcomes: Sequence[RankOutcome]) -> str:
    """Return the first collective in which two ranks differ, or an empty string."""
    ranks = sorted(outcomes, key=lambda each: each.rank)
    made = [[call.name for call in each.calls if call.name not in BETWEEN_TWO] for each in ranks]
    for number, names in enumerate(zip_longest(*made, fillvalue="not made"), 1):
        if len(set(names)) > 1:
            callers: dict[str, list[int]] = {}
            for each, name in zip(ranks, names, strict=True):
                callers.setdefault(name, []).append(each.rank)
            parts = [f"{name} in {name_ranks(found)}" for name, found in callers.items()]
            return f"Collective number {number} is {', '.join(parts)}."
    return ""


def name_ranks(ranks: Sequence[int]) -> str:
    """Return ``rank 2``, or ``ranks 0, 1, 3``."""
    return f"rank{'s' if len(ranks) > 1 else ''} {', '.join(map(str, ranks))}"


def conjugate(phrase: str, ranks: Sequence[int]) -> str:
    """Put the verb of a phrase about one rank into the plural if there are several."""
    return re.sub(r"^(wait|run)s\b", r"\1", phrase) if len(ranks) > 1 else phrase
