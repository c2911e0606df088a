"""What GitHub's runner reads from the output of a step: errors at a line, and where to stop.

Messages are a stranger's: nothing in them may end the command that they stand in, or begin one.
"""

from __future__ import annotations

from contextlib import contextmanager
from secrets import token_hex
from typing import TYPE_CHECKING

from plugins.plaintext import shortened


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterator
    from collections.abc import Mapping


# In this order: the percent sign is what the others are written with.
DATA = {"%": "%25", "\r": "%0D", "\n": "%0A"}
PROPERTY = {**DATA, ":": "%3A", ",": "%2C"}
# What a runner tells its steps: files that later steps read, and tokens.
PRIVATE = ("GITHUB_", "ACTIONS_", "RUNNER_")


def on_a_runner(environment: Mapping[str, str]) -> bool:
    """Whether someone reads what is written here."""
    return environment.get("GITHUB_ACTIONS") == "true"


def error(path: str, line: int, title: str, message: str) -> str:
    """Return the command that shows an error at a line of a file."""
    file, title = escaped(path, PROPERTY), escaped(shortened(title), PROPERTY)
    text = escaped(shortened(message), DATA)
    return f"::error file={file},line={line},title={title}::{text}"


def escaped(text: str, marks: Mapping[str, str]) -> str:
    """Return a text as the runner reads it back."""
    for mark, written in marks.items():
        text = text.replace(mark, written)
    return text


@contextmanager
def unread(environment: Mapping[str, str], say: Callable[[str], object]) -> Iterator[None]:
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


def without_runner(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which a process cannot reach the runner."""
    return {name: text for name, text in environment.items() if not name.startswith(PRIVATE)}
