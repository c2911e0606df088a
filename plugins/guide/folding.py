"""Decides which failures of a session the terminal shows in full: of each kata, the first.

An untouched kata fails every test with the same message. What is not shown in full has a line below
the kata's name, in "where to go on". The tests run all the same, and stand in JUnit XML and in the
progress.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING
from typing import Any
from typing import Literal

from plugins.guide.reading import WIDTH
from plugins.tools.terminal import shorten_words


if TYPE_CHECKING:
    from collections.abc import Collection
    from collections.abc import Iterable
    from collections.abc import Iterator
    from collections.abc import Sequence


# How many different failures of one kata are shown, if no other kata fails, and how many get a
# line otherwise.
SHOWN = 3
LINES = 3
# What an exercise raises where something is to be written, in a rank too: the name of it.
UNWRITTEN = re.compile(
    r"NotImplementedError"
    r"(?::[ ]*(?:rank \d+ of \d+: )?(?:TODO: )?(?P<name>[\w:.~<>]+)(?: is yet to be written)?)?$",
    re.MULTILINE,
)

Kind = Literal["unwritten", "unbuilt", "fails"]


@dataclass(frozen=True)
class Cause:
    """Why a test fails, as far as tests that fail alike need to be shown once.

    Attributes
    ----------
    kata
        The kata's id.
    kind
        ``unwritten``: the test reached what is to be written; ``unbuilt``: it has no library;
        ``fails``: anything else.
    what
        The name of what is unwritten, the source that does not build, or the message.
    """

    kata: str
    kind: Kind
    what: str

    @property
    def key(self) -> tuple[str, str]:
        """What tests that fail alike have in common."""
        return self.kind, "" if self.kind == "unwritten" else self.what


def cause_of(kata: str, message: str, source: str = "") -> Cause:
    """Return the cause of a failure with this message; `source` is what did not build."""
    if source:
        return Cause(kata, "unbuilt", source)
    if found := UNWRITTEN.search(message):
        return Cause(kata, "unwritten", found["name"] or "")
    first, _, rest = message.strip().partition("\n")
    # pytest.fail("\n...") and many messages of PyTorch begin with an empty line.
    plain = first if first.partition(":")[2].strip() or not rest else f"{first} {rest.strip()}"
    return Cause(kata, "fails", " ".join(plain.partition("\n")[0].split()))


@dataclass(frozen=True)
class Failed:
    """A failed report, the name of its test, and the cause."""

    report: Any
    nodeid: str
    cause: Cause


@dataclass(frozen=True)
class Folded:
    """What is shown of a session's failures: reports in full, lines about the others by kata."""

    shown: Sequence[Any]
    notes: dict[str, Sequence[str]]


def fold(failed: Iterable[Failed], given: Collection[str]) -> Folded:
    """Return what to show of these failures, which are in the order of the session.

    `given` are the ids of the katas that are as the learner found them.
    """
    katas = defaultdict[str, list[Failed]](list)
    for each in failed:
        katas[each.cause.kata].append(each)
    shown: list[Any] = []
    notes: dict[str, Sequence[str]] = {}
    for kata, own in katas.items():
        begun = kata not in given and all(each.cause.kind != "unbuilt" for each in own)
        first = choose(own, SHOWN if begun and len(katas) == 1 else 1)
        shown += [each.report for each in first]
        tests = {each.nodeid for each in first}
        others = {each.nodeid: each.cause for each in own if each.nodeid not in tests}
        lines = LINES if kata not in given else 1
        notes[kata] = list(describe_causes(list(others.values()), lines)) if others else []
    return Folded(shown, notes)


def choose(failed: Sequence[Failed], many: int) -> list[Failed]:
    """Return the first failure of each cause, at most `many`; of written code, if many may be."""
    first = {each.cause.key: each for each in reversed(failed)}
    ordered = [each for each in failed if first[each.cause.key] is each]
    written = [each for each in ordered if each.cause.kind != "unwritten"]
    return (written if many > 1 and written else ordered)[:many]


def describe_causes(causes: Sequence[Cause], lines: int) -> Iterator[str]:
    """Summarize the remaining failures in at most `lines` lines."""
    groups: dict[tuple[str, str], list[Cause]] = defaultdict(list)
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


def describe_group(causes: Sequence[Cause]) -> str:
    """Return how many tests have failed alike, and how, in a line of the terminal."""
    return shorten_words(_describe_group(causes), WIDTH - 2)


def _describe_group(causes: Sequence[Cause]) -> str:
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
