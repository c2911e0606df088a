"""A failure of a kata as data, from the process of its test to what shows it.

`plugins.guide.failures` makes it beside pytest's report, in whose ``user_properties`` it crosses
pytest-xdist, the crash guard and JUnit XML as JSON. `plugins.guide.summary`, `plugins.loop.screen`
and `plugins.fork.practice` turn it into text. Imports neither pytest nor torch.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from dataclasses import dataclass
from typing import TYPE_CHECKING
from typing import Literal

from plugins.guide.reading import Pointer
from plugins.guide.reading import Reading
from plugins.guide.steps import LabStep


if TYPE_CHECKING:
    from collections.abc import Iterable


# The name of the property.
PROPERTY = "kata_failure"
# What an exercise raises where something is to be written, in a rank too: the name of it.
UNWRITTEN = re.compile(
    r"NotImplementedError"
    r"(?::[ ]*(?:rank \d+ of \d+: )?(?:TODO: )?(?P<name>[\w:.~<>]+)(?: is yet to be written)?)?$",
    re.MULTILINE,
)

Kind = Literal["unwritten", "unbuilt", "fails"]


@dataclass(frozen=True)
class ShownFrame:
    """A call in a traceback: its file, its line, and the lines of text that show it, if any."""

    path: str
    line: int
    lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class Failure:
    """A failed test of a kata, or a test module that cannot be imported.

    Attributes
    ----------
    test
        The node ID.
    kind
        ``unwritten``: the test reached what is to be written; ``unbuilt``: it has no library;
        ``fails``: anything else.
    what
        The name of what is unwritten, the source that does not build, or the message in a line.
    step
        The step of a lab that the test is in.
    frames
        The calls that are shown, outermost first.
    message, more
        The lines of the message that are shown, and how many lines are not.
    rows
        The tests of all rows of a prediction, if this test is one of them.
    """

    test: str
    kind: Kind
    what: str
    reading: Reading
    step: LabStep | None = None
    frames: tuple[ShownFrame, ...] = ()
    message: tuple[str, ...] = ()
    more: int = 0
    rows: tuple[str, ...] = ()

    @property
    def kata(self) -> str:
        """The kata's id."""
        return self.reading.kata

    @property
    def key(self) -> tuple[str, str]:
        """What tests that fail alike have in common."""
        return self.kind, "" if self.kind == "unwritten" else self.what

    def to_property(self) -> tuple[str, str]:
        """Return this as a property of a report."""
        return PROPERTY, json.dumps(asdict(self))


def failure_among(properties: Iterable[tuple[str, str]]) -> Failure | None:
    """Return the failure among the properties of a report, or of a test case in JUnit XML."""
    text = dict(properties).get(PROPERTY)
    if text is None:
        return None
    data = json.loads(text)
    reading = data.pop("reading")
    for kind in ("sources", "episodes"):
        reading[kind] = tuple(Pointer(**each) for each in reading[kind])
    step = data.pop("step")
    return Failure(
        reading=Reading(earlier=tuple(reading.pop("earlier")), **reading),
        step=step and LabStep(**step),
        frames=tuple(
            ShownFrame(**each | {"lines": (*each["lines"],)}) for each in data.pop("frames")
        ),
        message=tuple(data.pop("message")),
        rows=tuple(data.pop("rows")),
        **data,
    )


def cause_of(message: str, source: str = "") -> tuple[Kind, str]:
    """Return the kind of a failure with this message, and what; `source` did not build."""
    if source:
        return "unbuilt", source
    if found := UNWRITTEN.search(message):
        return "unwritten", found["name"] or ""
    first, _, rest = message.strip().partition("\n")
    # pytest.fail("\n...") and many messages of PyTorch begin with an empty line.
    plain = first if first.partition(":")[2].strip() or not rest else f"{first} {rest.strip()}"
    return "fails", " ".join(plain.partition("\n")[0].split())
