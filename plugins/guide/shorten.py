"""Shortens how pytest shows a failure in a kata: short tracebacks, of the learner's and its tests.

The frames of installed packages and of Python itself are left out, and the end of a message
that takes more than a screen. ``-v``, ``--tb=long`` and ``--all-failures`` leave it as pytest does.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

from plugins.guide.traceback import CALL


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


def shorten_report(report: pytest.TestReport | pytest.CollectReport, lecture: Path) -> None:
    """Take foreign frames, and what is too long of the message, out of a failed report.

    The frames in the folder `lecture` stay: a lecture may be an installed package itself.
    """
    shown: Any = report.longrepr
    if chain := getattr(shown, "chain", None):
        shown.chain = [(shorten_traceback(each, lecture), *rest) for each, *rest in chain]
        shown.reprtraceback = shown.chain[-1][0]
    elif isinstance(text := getattr(shown, "longrepr", None), str):
        # A module that cannot be imported.
        lines = drop_foreign_calls(text.splitlines(), lecture)
        shown.longrepr = "\n".join(shorten_message(lines))


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
    own[-1] = replace(own[-1], lines=[*code, *shorten_message(message)])
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


def shorten_message(lines: Iterable[str], mark: str = MARK) -> Sequence[str]:
    """Return the lines with at most `MOST` of those that begin with `mark`."""
    lines = list(lines)
    message = [number for number, line in enumerate(lines) if line.startswith(mark)]
    if len(message) <= MOST:
        return lines
    rest = set(message[MOST - 1 :])
    kept = [line for number, line in enumerate(lines) if number not in rest]
    return [*kept, f"{mark:4}{CUT.format(len(rest))}".lstrip()]


def take_rest(message: Sequence[str]) -> tuple[Sequence[str], int]:
    """Return a message without the line that says how many were cut from its end, and how many."""
    before, _, after = CUT.partition("{}")
    last = message[-1] if message else ""
    number = last.removeprefix(before).removesuffix(after)
    if last == CUT.format(number) and number.isdecimal():
        return message[:-1], int(number)
    return message, 0


def is_foreign(path: str, lecture: Path) -> bool:
    """Whether a file is part of another installed package than the lecture, or of Python itself.

    pytest shows paths from the folder that it was started in.
    """
    return (
        any(each in f"/{path}" for each in FOREIGN) and lecture not in Path(path).absolute().parents
    )
