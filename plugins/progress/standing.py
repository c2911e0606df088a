"""Where a learner stands with a kata, by the content of its files: no pytest, no torch."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from dataclasses import field
from dataclasses import replace
from typing import TYPE_CHECKING
from typing import Literal


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Mapping
    from datetime import datetime
    from pathlib import Path

    from plugins.layout import Kata


# Contents of one exercise whose state is remembered, the newest ones.
CONTENTS = 50
# After so many seconds without a run nobody was at work.
PAUSE = 900.0
LONGEST = 500

Verdict = Literal["passed", "failed", "skipped"]
State = Literal["new", "open", "failing", "solved", "unavailable"]


@dataclass(frozen=True)
class Outcome:
    """How one test ended; `message` is why, if it did not pass."""

    verdict: Verdict
    message: str = ""


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
        How many tests the module holds, or None if the session did not collect it whole.
    """

    content: str
    tests: Mapping[str, Outcome]
    total: int | None = None

    @property
    def state(self) -> State:
        """Solved only if every test of the module has run, and none has failed."""
        verdicts = [outcome.verdict for outcome in self.tests.values()]
        if "failed" in verdicts:
            return "failing"
        if self.total is None or len(verdicts) < self.total or not verdicts:
            return "open"
        return "solved" if "passed" in verdicts else "unavailable"

    def count(self, verdict: Verdict) -> int:
        """Return how many tests ended so."""
        return sum(outcome.verdict == verdict for outcome in self.tests.values())


@dataclass(frozen=True)
class Standing:
    """All that is remembered about a kata.

    Attributes
    ----------
    seconds
        The time spent: in the tests, and between two runs of less than 15 minutes' distance if
        the exercise was edited meanwhile.
    last
        When the kata was last run, in ISO 8601 with the time zone, or "".
    states
        The state of each content that was tested, the newest last.
    results
        What the last run found out, with what runs of the same content did before.
    solved
        When a run first found the kata solved, as `last`, or "". Memories of before this was
        noted lack it.
    """

    seconds: float = 0.0
    last: str = ""
    states: Mapping[str, State] = field(default_factory=dict)
    results: Results = field(default_factory=lambda: Results("", {}))
    solved: str = ""

    def state(self, content: str) -> State:
        """Return the state of the exercise as it is now, of which `content` is the digest."""
        return self.states.get(content, "open" if self.states else "new")

    def after(self, run: Results, seconds: float, now: datetime) -> Standing:
        """Return what is to be remembered after a run whose tests took so many seconds."""
        known = self.results
        spent = self.seconds + seconds
        if self.last and known.content != run.content:
            spent += pause_between(now.fromisoformat(self.last), now, seconds)
        if known.content == run.content and (run.total is None or run.total == known.total):
            # Another total means that the tests have changed: what they said no longer holds.
            run = replace(run, tests={**known.tests, **run.tests}, total=known.total)
        states = {key: state for key, state in self.states.items() if key != run.content}
        states[run.content] = run.state
        newest = dict(list(states.items())[-CONTENTS:])
        last = now.isoformat(timespec="seconds")
        # A run that passes again is not a second solution, and says nothing of the first one.
        solved = self.solved_at or (last if run.state == "solved" else "")
        return Standing(spent, last, newest, run, solved)

    @property
    def solved_at(self) -> str:
        """When it was first solved as far as is known; it need not be solved any more."""
        return self.solved or (self.last if self.results.state == "solved" else "")


def pause_between(last: datetime, now: datetime, seconds: float) -> float:
    """Return the seconds of work before a run of so many seconds; 0 if nobody can have worked."""
    pause = (now - last).total_seconds() - seconds
    return pause if 0 < pause <= PAUSE else 0.0


def content_of(kata: Kata) -> str:
    """Return a digest of the files that the learner edits, whatever their line ends."""
    digest = hashlib.sha256()
    for file in learners_files(kata):
        if file.is_file():
            text = file.read_bytes().replace(b"\r\n", b"\n")
            digest.update(f"{file.name} {len(text)}\n".encode() + text)
    return digest.hexdigest()[:16]


def learners_files(kata: Kata) -> Iterable[Path]:
    """Return the exercise's files: the Python module, if it has one, and its sources."""
    return (kata.folder / name for name in dict.fromkeys((f"{kata.name}.py", *kata.csrc)))
