"""Notes which files of the repository a run opens, so that a proof knows what it rests on.

`sys.addaudithook` sees every file that Python opens in the run and in the ranks that it forks,
cached bytecode included, and the paths on the command lines of programs that it starts. What
stays unseen: a file that such a program, or a library in C++, opens by itself; the names of files
in a folder that is listed; and whether a file is there.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
import sysconfig
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

import pytest


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Iterator
    from types import CodeType
    from types import FrameType


# Modules of the engine, which tracebacks quote too: a change there is answered by running every
# kata again. And what runs leave behind, which is not in the repository.
ENGINE = re.compile(
    r"(plugins|tests/gate)/.*\.py|(conftest|tests/__init__)\.py|\.(katas|hypothesis)/.*"
)
# What pytest and the plugins read beside. A test that reads it by itself rests on it.
SETTINGS = re.compile(
    r"(tox|\.?pytest)\.ini|setup\.cfg|(\.?pytest|pyproject)\.toml|katas/\w+/lecture\.toml"
    r"|plugins/(cuda/csrc/[\w.]+|native/faults\.cpp)"
)
HOME = Path(__file__).parents[2]
READERS = tuple(
    str(path)
    for path in (
        *(HOME / "plugins", HOME / "tests/gate", HOME / "conftest.py"),
        Path(pytest.__file__).parent.with_name("_pytest"),
    )
)
# Whoever calls these is the one who reads.
LIBRARIES = ("<frozen ", *{sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")})
# The programs that an event tells of: the places of the command line and of its folder.
PROGRAMS = {
    "subprocess.Popen": (1, 2),
    "os.posix_spawn": (1, None),
    "os.exec": (1, None),
    "os.system": (0, None),
}


def watch(root: str, journal: Path) -> None:
    """Write the path of each file below `root` that this process and its forks open from now on."""
    writer = os.open(journal, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    inside = os.path.join(os.path.realpath(root), "")  # noqa: PTH118 - runs for every open
    seen: set[str] = set()

    def note(event: str, arguments: tuple[Any, ...]) -> None:
        if event in {"open", "ctypes.dlopen"}:
            found: Iterable[object] = arguments[:1]
        elif event in PROGRAMS:
            line, folder = PROGRAMS[event]
            found = _words(arguments[line], arguments[folder] if folder else None)
        else:
            return
        for path in found:
            if not isinstance(path, str | bytes | os.PathLike):
                continue
            # A folder that is gone, or a name that no file can have.
            with suppress(OSError, ValueError):
                name = os.path.abspath(os.fsdecode(path))  # noqa: PTH100
                if name not in seen and (file := _below(name, inside, seen)):
                    seen.add(name)
                    os.write(writer, f"{file}\n".encode("utf-8", "surrogateescape"))

    sys.addaudithook(note)


def _below(name: str, inside: str, seen: set[str]) -> str:
    """Return the path of a file relative to the repository, of bytecode its source.

    It is empty for what lies outside, is no file or is the engine's.
    """
    path = _source(name)
    if not path.startswith(inside):
        path = os.path.realpath(path)
        if not path.startswith(inside):
            seen.add(name)
            return ""
    file = path.removeprefix(inside)
    if ENGINE.fullmatch(file) or not os.path.isfile(path):  # noqa: PTH113
        return ""
    if _deleted() or (SETTINGS.fullmatch(file) and _read_by_the_engine()):
        return ""
    return file


def _source(path: str) -> str:
    """Return the path of the source of cached bytecode, and any other as it is."""
    prefix = sys.pycache_prefix
    cached = path.removeprefix(prefix) if prefix and path.startswith(f"{prefix}/") else ""
    folder, _, file = (cached or path).rpartition("/")
    if not cached and not folder.endswith("/__pycache__"):
        return path
    return f"{folder.removesuffix('/__pycache__')}/{file.partition('.')[0]}.py"


def _callers() -> Iterator[CodeType]:
    """Yield who has caused an event, the innermost first."""
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - the stack is the question
    while frame:
        if frame.f_code.co_filename != __file__:
            yield frame.f_code
        frame = frame.f_back


def _read_by_the_engine() -> bool:
    """Whether pytest or a plugin has called what opens the file, and not a test."""
    for code in _callers():
        if code.co_filename.startswith(READERS):
            return True
        if not code.co_filename.startswith(LIBRARIES):
            return False
    return False


def _deleted() -> bool:
    """Whether `shutil.rmtree` opens it, by a name in another folder, which the event lacks.

    Pytest deletes the temporary folders of earlier sessions, and any name may be in them.
    """
    return next(_callers()).co_name.startswith("_rmtree_safe_fd")


def _words(line: object, folder: object) -> Iterator[str]:
    """Yield the paths of a command line that may name a file, in the folder where it runs."""
    words = line if isinstance(line, list | tuple) else [line]
    for word in words:
        if isinstance(word, str | bytes | os.PathLike):
            for part in _parts(os.fsdecode(word)):
                yield os.path.join(os.fsdecode(folder or ""), part)  # type: ignore[arg-type]  # noqa: PTH118


def _parts(word: str) -> Iterator[str]:
    """Yield a word, and those in it: a shell's command, and what an option is set to."""
    yield word
    split = shlex.shlex(word, posix=True, punctuation_chars=True)
    split.whitespace_split = True
    # Brackets and quotes without an end.
    with suppress(ValueError):
        for part in split:
            yield part
            yield from part.split("=")[1:]


def read_opened(journal: Path) -> tuple[str, ...]:
    """Return the files that are noted in the journal."""
    if not journal.exists():
        return ()
    return tuple(sorted(set(journal.read_text("utf-8", "surrogateescape").splitlines())))
