"""Decides which failures of a session the terminal shows in full: of each kata, the first.

An untouched kata fails every test with the same message. What is not shown in full has a line below
the kata's name, in "where to go on". The tests run all the same, and stand in JUnit XML and in the
progress. Of a lab, the tests of the first unfinished step have one line, and all others another.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from plugins.guide.failure import Failure
from plugins.guide.reading import WIDTH
from plugins.tools.terminal import shorten_words


if TYPE_CHECKING:
    from collections.abc import Collection
    from collections.abc import Iterable
    from collections.abc import Iterator
    from collections.abc import Sequence

    from plugins.guide.steps import LabStep


# How many different failures of one kata are shown, if no other kata fails, and how many get a
# line otherwise.
SHOWN = 3
LINES = 3
# Of so many katas that are as the learner found them, the first failure is shown; of those after
# them it is named in the short summary. A whole lecture of them should fit on a few screens.
FOUND = 8


@dataclass(frozen=True)
class Folded:
    """What is shown of a session's failures.

    Attributes
    ----------
    shown
        The failures that are printed in full.
    notes
        Lines about the other failures, by the kata's id.
    named
        If there are brief katas: the failures with a line in the short summary, those shown and one
        of each brief kata.
    brief
        The ids of the katas of which less is told: there are many, and all are as they were found.
    """

    shown: Sequence[Failure]
    notes: dict[str, Sequence[str]]
    named: Sequence[Failure] = ()
    brief: frozenset[str] = frozenset()


def fold(
    failed: Iterable[Failure],
    given: Collection[str],
    unknown: Collection[str] = (),
) -> Folded:
    """Return what to show of these failures, which are in the order of the session.

    `given` are the ids of the katas that are as the learner found them, `unknown` those of which
    nobody knows.
    """
    katas = defaultdict[str, list[Failure]](list)
    for each in failed:
        katas[each.kata].append(each)
    # What does not build, or cannot be loaded, is no matter of being begun.
    found = [
        kata
        for kata, own in katas.items()
        if kata in given and all(each.kind != "unbuilt" for each in own)
    ]
    brief = frozenset(found[FOUND:])
    shown: list[Failure] = []
    named: list[Failure] = []
    notes: dict[str, Sequence[str]] = {}
    for kata, own in katas.items():
        # Where the smallest case waits, so may all that is tested by another way than a call.
        waits = kata in unknown and own[0].kind == "unwritten"
        alone = len(katas) == 1 and not waits
        first, notes[kata] = fold_kata(own, found=kata in given, alone=alone)
        named += first
        shown += () if kata in brief else first
    return Folded(shown, notes, named if brief else (), brief)


def fold_kata(
    failed: Sequence[Failure], *, found: bool, alone: bool
) -> tuple[list[Failure], list[str]]:
    """Return the failures of a kata to show, and the lines about its others.

    `found` is whether it is as the learner found it, `alone` whether no other kata fails.
    """
    if stepped := fold_steps(failed, whole=found):
        return stepped
    begun = not found and all(each.kind != "unbuilt" for each in failed)
    first = choose(failed, SHOWN if begun and alone else 1)
    tests = {each.test for each in first}
    others = {each.test: each for each in failed if each.test not in tests}
    lines = 1 if found else LINES
    return first, list(describe_causes(list(others.values()), lines)) if others else []


def fold_steps(failed: Sequence[Failure], *, whole: bool) -> tuple[list[Failure], list[str]] | None:
    """Return the first failure of the first unfinished step, and a line about this step.

    A second line is about the steps after it and the tests in no step; with `whole`, as of an
    untouched kata, the one line is about them too. None if no step is unfinished.
    """
    now = min((each.step for each in failed if each.step), default=None)
    if now is None:
        return None
    name = next(each.test for each in failed if each.step == now)
    first = [each for each in failed if each.test == name]
    others = {each.test: each for each in failed if each.test != name}
    here = [each for each in others.values() if whole or each.step == now]
    line = "; ".join([str(now), *(describe_causes(here, 1) if here else ())])
    later = [] if whole else [each.step for each in others.values() if each.step != now]
    lines = [line, *([describe_later(later)] if later else [])]
    return first, [shorten_words(line, WIDTH - 2) for line in lines]


def describe_later(steps: Sequence[LabStep | None]) -> str:
    """Return how many tests wait for an earlier step, by the step of each, or None."""
    numbers = sorted({step.number for step in steps if step})
    named = [f"step {number}" for number in numbers]
    if len(numbers) > 2 and len(numbers) == numbers[-1] - numbers[0] + 1:  # noqa: PLR2004
        named = [f"steps {numbers[0]} to {numbers[-1]}"]
    named += [] if all(steps) else ["the tests after the steps"]
    return f"{join_names(named)}: {count_more(len(steps))} {'waits' if len(steps) == 1 else 'wait'}"


def choose(failed: Sequence[Failure], many: int) -> list[Failure]:
    """Return the first failure of each cause, at most `many`; of written code, if many may be."""
    first = {each.key: each for each in reversed(failed)}
    ordered = [each for each in failed if first[each.key] is each]
    written = [each for each in ordered if each.kind != "unwritten"]
    return (written if many > 1 and written else ordered)[:many]


def describe_causes(causes: Sequence[Failure], lines: int) -> Iterator[str]:
    """Summarize the remaining failures in at most `lines` lines."""
    groups: dict[tuple[str, str], list[Failure]] = defaultdict(list)
    for cause in causes:
        groups[cause.key].append(cause)
    if lines == 1 and (waiting := groups.get(("unwritten", ""))):
        # Untouched kata: count other failures as waiting too.
        yield describe_group([*waiting, *([waiting[0]] * (len(causes) - len(waiting)))])
        return
    if len(groups) <= lines:
        yield from map(describe_group, groups.values())
        return
    *most, _ = islice(groups.values(), lines)
    yield from map(describe_group, most)
    rest = len(causes) - sum(map(len, most))
    ways = "in other ways" if most else "too"
    yield f"{count_more(rest)} {'fails' if rest == 1 else 'fail'} {ways}"


def describe_group(causes: Sequence[Failure]) -> str:
    """Return how many tests have failed alike, and how, in a line of the terminal."""
    return shorten_words(_describe_group(causes), WIDTH - 2)


def _describe_group(causes: Sequence[Failure]) -> str:
    more = count_more(len(causes))
    one = len(causes) == 1
    names = list(dict.fromkeys(cause.what for cause in causes))
    match causes[0].kind:
        case "unwritten":
            named = [name for name in names if name]
            what = join_names(named) if named else "what is still to write"
            return f"{more} {'waits' if one else 'wait'} for {what}"
        case "unbuilt":
            return f"{more} {'waits' if one else 'wait'} for {names[0]} to compile"
        case _:
            return f"{more} {'fails' if one else 'fail'}: {names[0]}"


def count_more(number: int) -> str:
    """Return ``1 more test`` or ``21 more tests``."""
    return f"{number} more {'test' if number == 1 else 'tests'}"


def join_names(names: Sequence[str]) -> str:
    """Return ``a``, ``a and b``, or ``a, b and c``."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
