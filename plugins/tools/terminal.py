"""Formats text for a terminal, and writes to one, or to a pipe that may be closed."""

from __future__ import annotations

import atexit
import os
import sys
import textwrap
from contextlib import suppress
from typing import TYPE_CHECKING
from typing import NoReturn


if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO


def format_duration(seconds: float) -> str:
    """Return ``3 h 05 min`` or ``12 min``."""
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min"


def shorten_words(text: str, room: int) -> str:
    """Return `text`, or as many of its words as fit into `room` characters."""
    return textwrap.shorten(text, room, placeholder=" ...") if len(text) > room else text


def shows_blocks() -> bool:
    """Whether the terminal can show block characters, which ASCII lacks."""
    terminal = sys.__stdout__
    return bool(terminal and terminal.encoding.lower().startswith("utf"))


def run_command(main: Callable[[], int]) -> NoReturn:
    """Run `main` and exit with its status; silently on a broken pipe, as in ``| head``."""
    atexit.register(let_go_of_stdout)
    status = 1
    with suppress(BrokenPipeError):
        status = main()
    sys.exit(status)


def let_go_of_stdout() -> None:
    """Write what stdout still holds, or drop it: Python would complain when the process exits."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        drop_output(sys.stdout)


def drop_output(stream: TextIO) -> None:
    """Drop what `stream` holds, and all that is written to it from now on."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
    stream.flush()
