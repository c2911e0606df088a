"""Writes what GitHub's runner reads from a step: an error at a line, where to stop, a summary.

Messages are untrusted: they are escaped so that they cannot end or start a workflow command.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING

from plugins.tools.files import write_whole
from plugins.tools.text import cut_printable


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterator
    from collections.abc import Mapping


# The percent sign comes first: the others are written with it.
DATA = {"%": "%25", "\r": "%0D", "\n": "%0A"}
PROPERTY = {**DATA, ":": "%3A", ",": "%2C"}
# What a runner tells its steps: files that later steps read, and tokens.
PRIVATE = ("GITHUB_", "ACTIONS_", "RUNNER_")
# The file of the job's summary.
JOB_SUMMARY = "GITHUB_STEP_SUMMARY"


def on_a_runner(environment: Mapping[str, str]) -> bool:
    """Whether GitHub's runner reads stdout."""
    return environment.get("GITHUB_ACTIONS") == "true"


def error_command(path: str, line: int, title: str, message: str) -> str:
    """Return the command that shows an error at a line of a file."""
    file, title = escape_text(path, PROPERTY), escape_text(cut_printable(title), PROPERTY)
    text = escape_text(cut_printable(message), DATA)
    return f"::error file={file},line={line},title={title}::{text}"


def escape_text(text: str, marks: Mapping[str, str]) -> str:
    """Return a text so written that the runner reads it back unchanged."""
    for mark, written in marks.items():
        text = text.replace(mark, written)
    return text


@contextmanager
def stop_commands(environment: Mapping[str, str], say: Callable[[str], object]) -> Iterator[None]:
    """Let the runner read no commands in what is printed meanwhile, by a kata for example."""
    if not on_a_runner(environment):
        yield
        return
    token = token_hex(16)
    say(f"::stop-commands::{token}\n")
    try:
        yield
    finally:
        # What was printed before may have no line end.
        say(f"\n::{token}::\n")


def hide_runner(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which a process cannot reach the runner."""
    return {name: text for name, text in environment.items() if not name.startswith(PRIVATE)}


def write_summary(text: str, file: Path | None) -> None:
    """Write a summary to a file, else to the job's, which other steps add to, or else to stdout."""
    job = os.environ.get(JOB_SUMMARY)
    if file:
        write_whole(file, text.encode(), file.resolve().parent)
    elif job:
        with Path(job).open("a", encoding="utf-8") as stream:
            stream.write(text)
    else:
        print_now(f"\n{text}")


def print_now(text: str) -> None:
    """Print at once: pytest's output comes from another process."""
    sys.stdout.write(text)
    sys.stdout.flush()
