"""Formats text for a terminal, and the commands that learners copy; writes to a closed pipe too."""

from __future__ import annotations

import atexit
import os
import shlex
import shutil
import sys
import textwrap
from contextlib import suppress
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path
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


def install_group(name: str, options: str = "") -> str:
    """Return the command that installs a group of pyproject.toml.

    A new virtual environment of Python 3.11 has pip 23, and ``--group`` came with 25.1.
    """
    return install_command(f"{options} --group {name}".strip(), newest_pip=True)


def install_command(what: str, *, newest_pip: bool = False) -> str:
    """Return the command that installs `what`, packages or options, for the Python that runs.

    An environment that uv has made has no pip.
    """
    upgrade = "python -m pip install -U pip && " if newest_pip else ""
    command = f"{upgrade}python -m pip install {what}"
    if has_pip():
        return command
    if has_uv():
        return f"uv pip install {uv_options()}{what}"
    if find_spec("ensurepip"):
        return f"python -m ensurepip && {command}"
    return f"{command} (this Python has no pip: https://pip.pypa.io/en/stable/installation)"


def has_pip() -> bool:
    """Whether this Python has pip.

    Asked past the other finders: setuptools' own takes the question for pip at work, and gives no
    distutils from then on (`_distutils_hack: DistutilsMetaFinder.spec_for_pip`).
    """
    return PathFinder.find_spec("pip") is not None


def has_uv() -> bool:
    """Whether uv is on PATH, or has made this environment."""
    with suppress(OSError):
        lines = Path(sys.prefix, "pyvenv.cfg").read_text(encoding="utf-8").splitlines()
        if any(line.partition("=")[0].strip() == "uv" for line in lines):
            return True
    return shutil.which("uv") is not None


def uv_options() -> str:
    """Return what uv has to be told to find this Python; "" if it finds it by itself.

    It takes the active environment, or else the next .venv in the folder or above.
    """
    here = Path.cwd()
    near = (folder / ".venv" for folder in (here, *here.parents) if (folder / ".venv").is_dir())
    found = os.environ.get("VIRTUAL_ENV") or next(near, None)
    if found and Path(found).resolve() == Path(sys.prefix).resolve():
        return ""
    return f"--python {shlex.quote(sys.executable)} "


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
