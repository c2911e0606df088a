"""What is known about a kata, by the content of its files, and its form in JSON.

Imports neither pytest nor torch.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict
from dataclasses import dataclass
from dataclasses import field
from dataclasses import replace
from typing import TYPE_CHECKING
from typing import Any
from typing import ClassVar
from typing import Literal
from typing import Self


if TYPE_CHECKING:
    from collections.abc import Collection
    from collections.abc import Iterable
    from collections.abc import Mapping
    from datetime import datetime

    from plugins.guide.steps import LabStep


# Raised when older code could misread what is written; an additional field is no reason.
VERSION = 1
# How many contents of one exercise have their state remembered: the newest ones.
CONTENTS = 50
# A longer pause between two runs, in seconds, does not count as work.
PAUSE = 900.0
# Characters of a message that are kept.
LONGEST = 500
# The name under which a test module that cannot be imported stands among its tests.
MODULE = ""

Verdict = Literal["passed", "failed", "skipped"]
State = Literal["new", "open", "failing", "solved", "unavailable"]
# The states in which nothing is left to do in a kata, on this machine.
DONE: frozenset[State] = frozenset({"solved", "unavailable"})


@dataclass(frozen=True)
class TestOutcome:
    """How one test ended; `message` is why, if it did not pass."""

    __test__: ClassVar = False  # for pytest, which collects classes by their name

    verdict: Verdict
    message: str = ""

    @property
    def lacked(self) -> str:
        """The device or backend for whose lack the test was skipped, as its reason names it."""
        return self.message.partition(":")[0] if self.verdict == "skipped" else ""


@dataclass(frozen=True)
class Results:
    """What a session found out about one kata.

    Attributes
    ----------
    content
        The digest of the exercise's files that were tested.
    tests
        The outcomes, by the name of the test within its module.
    total
        How many tests the module has, or None if the session did not collect all of it.
    extra
        Tests that decide nothing, as the kata's table names them.
    """

    content: str
    tests: Mapping[str, TestOutcome]
    total: int | None = None
    extra: tuple[str, ...] = ()

    @property
    def state(self) -> State:
        """The state of the content: solved only if each test that decides has run, and passed.

        It is unavailable if one of them was skipped and no test has failed: an answer that all
        others accept may be wrong.
        """
        verdicts = [outcome.verdict for outcome in self.tests.values()]
        if "failed" in verdicts:
            return "failing"
        if self.total is None or len(verdicts) < self.total or not verdicts:
            return "open"
        return "solved" if "passed" in verdicts and not self.undecided else "unavailable"

    @property
    def undecided(self) -> dict[str, str]:
        """The skipped tests without which the kata is not decided, and why they were skipped."""
        from plugins.course.model import undecided  # noqa: PLC0415 - few katas skip

        if not self.count("skipped"):
            return {}
        skips = {
            name: outcome.message if outcome.verdict == "skipped" else None
            for name, outcome in self.tests.items()
        }
        return undecided(skips, self.extra)

    def count(self, verdict: Verdict) -> int:
        """Return how many tests ended with `verdict`."""
        return sum(outcome.verdict == verdict for outcome in self.tests.values())

    @property
    def passing(self) -> str:
        """``3 of 20``: how many of the kata's tests pass, of those that can run here.

        A run may have stopped at the first failure; the others count all the same. It is "" if no
        test has run, as where the module cannot be imported.
        """
        passed, failed = self.count("passed"), self.count("failed")
        if MODULE in self.tests or not passed + failed:
            return ""
        return f"{passed} of {max((self.total or 0) - self.count('skipped'), passed + failed)}"

    def joined_by(self, run: Results, *, solved: bool) -> Results:
        """Return these results and those of a later run of the same content, which may be partial.

        Where one test has run that was skipped before, the reason is gone: the others that were
        skipped for it have no result until they run again. A skip says nothing about an answer:
        of a kata that is `solved` the tests that have passed still count as passed.
        """
        gone = {
            outcome
            for name, outcome in self.tests.items()
            if outcome.verdict == "skipped" != run.tests.get(name, outcome).verdict
        }
        kept = {name: outcome for name, outcome in self.tests.items() if outcome not in gone}
        passed = {name: outcome for name, outcome in kept.items() if outcome.verdict == "passed"}
        new = {
            name: passed.get(name, outcome) if solved and outcome.verdict == "skipped" else outcome
            for name, outcome in run.tests.items()
        }
        return replace(run, tests={**kept, **new}, total=self.total)


@dataclass(frozen=True)
class Standing:
    """Everything that is remembered about a kata.

    Attributes
    ----------
    seconds
        The time spent: in tests, and in the pause before a run, from the last run of any kata on,
        if it was not longer than 15 minutes and the exercise was edited since its own last run.
    last
        When the kata was last run, in ISO 8601 with the time zone, or "".
    states
        The state of each content that was tested, the newest last.
    results
        What the last run found out, merged with earlier runs of the same content.
    solved
        When a run first found the kata solved, as `last`, or "". Older files lack it.
    """

    seconds: float = 0.0
    last: str = ""
    states: Mapping[str, State] = field(default_factory=dict)
    results: Results = field(default_factory=lambda: Results("", {}))
    solved: str = ""

    def state(self, content: str) -> State:
        """Return the state of the exercise whose current content has the digest `content`."""
        return self.states.get(content, "open" if self.states else "new")

    @property
    def solved_at(self) -> str:
        """When it was first solved, as far as is known; it may have been unsolved since."""
        return self.solved or (self.last if self.results.state == "solved" else "")

    def step(self, state: State, steps: Mapping[str, LabStep]) -> LabStep | None:
        """Return the first unfinished of the kata's `steps`, if the kata is in progress."""
        if state not in {"open", "failing"}:
            return None
        from plugins.guide.steps import current_step  # noqa: PLC0415 - only some katas have steps

        verdicts = {name: outcome.verdict for name, outcome in self.results.tests.items()}
        return current_step(steps, verdicts)

    def edited(self, run: Results) -> bool:
        """Whether the kata has run before, and was edited between that and `run`."""
        return bool(self.last) and self.results.content != run.content

    def after(self, run: Results, seconds: float, now: datetime) -> Self:
        """Return the standing after a run for which `seconds` were spent."""
        known = self.results
        # With another total the tests have changed, and earlier outcomes no longer hold.
        again = known.content == run.content and run.total in {None, known.total}
        solved = again and self.states.get(run.content) == "solved"
        if again:
            run = known.joined_by(run, solved=solved)
        # What can run here only now has not run yet, and does not open a solved kata.
        state = "solved" if solved and run.state == "open" else run.state
        away = state == "unavailable" or run.count("skipped") == len(run.tests)
        others = self.states if away else available(self.states)
        states = {key: value for key, value in others.items() if key != run.content}
        states[run.content] = state
        newest = dict(list(states.items())[-CONTENTS:])
        last = now.isoformat(timespec="seconds")
        # The first solution keeps its date when a later run passes again.
        first = self.solved_at or (last if state == "solved" else "")
        return type(self)(self.seconds + seconds, last, newest, run, first)

    def judged(self, extra: tuple[str, ...]) -> Self:
        """Return the standing of a kata whose table has these `extra` tests.

        An older version called a kata solved if any test had passed, and those of its tests that
        decide were skipped.
        """
        results = replace(self.results, extra=extra)
        current = results.content
        if self.states.get(current) == "solved" and results.state == "unavailable":
            states: dict[str, State] = {**self.states, current: "unavailable"}
            return replace(self, results=results, states=states, solved="")
        return replace(self, results=results)

    def without(self, found: Collection[str]) -> Self:
        """Return the standing without the skips for a lack of what was found here since."""
        known = self.results.tests
        tests = {name: outcome for name, outcome in known.items() if outcome.lacked not in found}
        if len(tests) == len(known):
            return self
        results = replace(self.results, tests=tests)
        return replace(self, results=results, states=available(self.states))

    def to_data(self) -> dict[str, Any]:
        """Return what JSON can hold; which tests are extra is the kata's, and may change."""
        data = asdict(self)
        del data["results"]["extra"]
        return {"version": VERSION, **data}

    @classmethod
    def from_data(cls, data: Any) -> Self:
        """Return the standing that `to_data` was called on.

        Raises
        ------
        ValueError, TypeError, KeyError, AttributeError
            If `data` is something else.
        """
        if data["version"] != VERSION:
            raise ValueError(data["version"])
        found = data["results"]
        tests = {str(name): TestOutcome(**outcome) for name, outcome in found["tests"].items()}
        results = Results(str(found["content"]), tests, found["total"])
        seconds, last = float(data["seconds"]), str(data["last"])
        solved = str(data.get("solved", ""))
        return cls(seconds, last, dict(data["states"]), results, solved)


def available(states: Mapping[str, State]) -> dict[str, State]:
    """Return the states for a machine on which the kata can run."""
    return {key: "open" if state == "unavailable" else state for key, state in states.items()}


def pause_between(last: float, begin: float) -> float:
    """Return the seconds from the last run to the begin of this one; 0 if they are too many."""
    pause = begin - last
    return pause if 0 < pause <= PAUSE else 0.0


def share_time(spans: Iterable[tuple[str, float, float]], last: float) -> dict[str, float]:
    """Return the seconds that each kata took, of spans of a kata, its begin and its length.

    What ran at once, in workers or in two terminals, counts once: there is one learner. Until
    `last` the time has been counted already.
    """
    shares = defaultdict[str, float](float)
    for kata, begin, seconds in sorted(spans, key=lambda span: span[1]):
        end = begin + seconds
        shares[kata] += max(0.0, end - max(begin, last))
        last = max(last, end)
    return shares
