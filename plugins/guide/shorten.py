"""Shortens how pytest shows a failure in a kata: short tracebacks, of the learner's and its tests.

The frames of installed packages and of Python itself are left out, and the end of a message
that takes more than a screen. ``-v``, ``--tb=long`` and ``--all-failures`` leave it as pytest does.
"""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

from plugins.course.files import path_from
from plugins.guide.failure import ShownFrame
from plugins.guide.traceback import CALL
from plugins.guide.traceback import read_lines


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Iterator
    from collections.abc import Sequence

    import pytest


# A learner edits no installed package and nothing of Python's own, such as `import`.
FOREIGN = (
    "/site-packages/",
    "/dist-packages/",
    f"{Path(os.__file__).parent.as_posix()}/",
    "<frozen ",
)
# How pytest marks the lines of a message.
MARK = "E"
# What pytest adds below the sentence of an assertion: a value that says nothing, unless the next
# line says where it comes from.
BARE = re.compile(r"E? *assert (?:not )?(?:True|False|None|tensor\((?:True|False)\))")
WHERE = re.compile(r"E? *\+ *where ")
# Nor does where it comes from, if that is an address or does not fit into a row.
SOURCE = re.compile(r"E? *\+ *(?:where|and) .*( at 0x[0-9a-f]+.*|.{80})")
# The first line is such a sentence, and not what pytest makes of the code.
CODE = re.compile(r"E? *(?:AssertionError: )?assert ")
# How many lines of a message are shown.
MOST = 24
CUT = "... {} more lines: -v shows them"


def shows_all(config: pytest.Config) -> bool:
    """Whether to show every failure as pytest itself would."""
    # A session without a terminal lacks pytest's options for it.
    return (
        config.getoption("verbose", 0) > 0
        or config.getoption("tbstyle", "") == "long"
        or bool(config.getoption("all_failures", default=False))
    )


@contextmanager
def short_tracebacks(config: pytest.Config) -> Iterator[None]:
    """Let pytest make short tracebacks during the block, unless another style is asked for."""
    if config.getoption("tbstyle", "") != "auto" or shows_all(config):
        yield
        return
    config.option.tbstyle = "short"
    try:
        yield
    finally:
        config.option.tbstyle = "auto"


def shorten_report(
    report: pytest.TestReport | pytest.CollectReport, start: Path, lecture: Path, *, whole: bool
) -> tuple[tuple[ShownFrame, ...], tuple[str, ...], int]:
    """Take foreign frames, and what is too long of the message, out of a failed report.

    Return the frames and the message that it then shows, and how many lines of the message it does
    not; of a `whole` report, which stays as it is, all. The frames in the folder `lecture` stay: a
    lecture may be an installed package itself. pytest was started in the folder `start`.
    """
    shown: Any = report.longrepr
    if chain := getattr(shown, "chain", None):
        if not whole:
            shown.chain = [(shorten_traceback(each, lecture), *rest) for each, *rest in chain]
            shown.reprtraceback = shown.chain[-1][0]
        frames = [it for each, crash, _ in shown.chain for it in frames_of(each, crash, start)]
        texts = [str(each) for each, *_ in chain]
    else:
        # Of a module that cannot be imported, pytest gives no more than the text.
        whole = not isinstance(getattr(shown, "longrepr", None), str)
        lines = report.longreprtext.splitlines()
        if not whole:
            lines = list(drop_foreign_calls(lines, lecture))
            shown.longrepr = "\n".join(shorten_message(lines))
        frames, texts = read_lines(lines)[0], ["\n".join(lines)]
    message, more = list[str](), 0
    for text in texts:
        _, found = read_lines(text.strip().splitlines())
        found = found if whole else drop_bare(found)
        cut = len(found) if whole else shown_of(found)
        message += found[:cut]
        more += len(found) - cut
    return (*frames,), (*message,), more


def frames_of(traceback: Any, crash: Any, start: Path) -> list[ShownFrame]:
    """Return the calls that pytest's short traceback shows.

    A message without a traceback has a place, `crash`: that of the crash guard is the learner's.
    """
    if traceback.style == "value" and crash:
        return [ShownFrame(path_from(start, Path(crash.path)), crash.lineno)]
    frames = []
    for entry in traceback.reprentries if traceback.style == "short" else ():
        at, code = entry.reprfileloc, [line for line in entry.lines if not line.startswith(MARK)]
        frames.append(
            ShownFrame(at.path, at.lineno, (f"{at.path}:{at.lineno}: {at.message}", *code))
        )
    return frames


def shorten_traceback(traceback: Any, lecture: Path) -> Any:
    """Return pytest's traceback, in its short style, without foreign frames.

    Of the style "value", a message without a traceback, only the end can be cut.
    """
    entries = list(traceback.reprentries)
    if traceback.style == "value":
        cut = [replace(each, lines=shorten_message(each.lines, mark="")) for each in entries]
        return replace(traceback, reprentries=cut)
    if traceback.style != "short" or not entries:
        return traceback
    own = [each for each in entries if not is_foreign(each.reprfileloc.path, lecture)]
    own = own or list(entries[-1:])
    message = [line for line in entries[-1].lines if line.startswith(MARK)]
    code = [line for line in own[-1].lines if not line.startswith(MARK)]
    own[-1] = replace(own[-1], lines=[*code, *shorten_message(drop_bare(message))])
    return replace(traceback, reprentries=own)


def drop_foreign_calls(lines: Iterable[str], lecture: Path) -> Iterator[str]:
    """Return the lines of a short traceback without the calls in foreign files."""
    foreign = False
    for line in lines:
        if found := CALL.fullmatch(line):
            foreign = is_foreign(found["path"], lecture)
        elif not line.startswith(" "):
            foreign = False
        if not foreign:
            yield line


def drop_bare(message: Sequence[str]) -> list[str]:
    """Return the lines of a message without bare values below its first line.

    Below a sentence of the test, what takes long to say where a value comes from goes, too.
    """
    if message and not CODE.match(message[0]):
        message = [line for line in message if not SOURCE.fullmatch(line)]
    return [
        line
        for at, (line, below) in enumerate(zip_longest(message, message[1:], fillvalue=""))
        if not at or not BARE.fullmatch(line) or WHERE.match(below)
    ]


def shown_of(message: Sequence[object]) -> int:
    """Return how many lines of a message are shown; another one says how many are not."""
    return len(message) if len(message) <= MOST else MOST - 1


def shorten_message(lines: Iterable[str], mark: str = MARK) -> Sequence[str]:
    """Return the lines with at most `MOST` of those that begin with `mark`."""
    lines = list(lines)
    message = [number for number, line in enumerate(lines) if line.startswith(mark)]
    rest = set(message[shown_of(message) :])
    if not rest:
        return lines
    kept = [line for number, line in enumerate(lines) if number not in rest]
    return [*kept, f"{mark:4}{CUT.format(len(rest))}".lstrip()]


def is_foreign(path: str, lecture: Path) -> bool:
    """Whether a file is part of another installed package than the lecture, or of Python itself.

    pytest shows paths from the folder that it was started in.
    """
    return (
        any(each in f"/{path}" for each in FOREIGN) and lecture not in Path(path).absolute().parents
    )
