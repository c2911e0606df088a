"""Notes which files of the repository a run opens, so that a proof knows what it rests on.

`sys.addaudithook` sees every file that Python opens in the run and in the ranks that it forks,
cached bytecode included, and the paths on the command lines of programs that it starts. A file
that such a program opens by itself is not seen.
"""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING
from typing import Any


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Iterator
    from pathlib import Path


# The engine and its settings: a change there is answered by running every kata again.
ENGINE = re.compile(
    r"(plugins|tests/gate|\.[\w.-]+|build)/.*|(.*/)?__pycache__(/.*)?"
    r"|(conftest|tests/__init__)\.py|(tox|pytest)\.ini|setup\.cfg|(\.?pytest|pyproject)\.toml"
    r"|katas/\w+/lecture\.toml"
)


def watch(root: str, journal: Path) -> None:
    """Write the path of each file below `root` that this process and its forks open from now on."""
    writer = os.open(journal, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    inside = os.path.join(os.path.realpath(root), "")  # noqa: PTH118 - runs for every open
    seen: set[str] = set()

    def note(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            found: Iterable[object] = arguments[:1]
        elif event == "subprocess.Popen":
            found = _words(arguments[1])
        else:
            return
        for path in found:
            if isinstance(path, str | bytes) and (name := os.fsdecode(path)) not in seen:
                seen.add(name)
                if file := _below(name, inside):
                    os.write(writer, f"{file}\n".encode())

    sys.addaudithook(note)


def _words(arguments: object) -> Iterator[object]:
    """Yield the arguments of a program that name a file."""
    for word in arguments if isinstance(arguments, list | tuple) else ():
        if isinstance(word, str | bytes | os.PathLike) and os.path.isfile(word):  # noqa: PTH113
            yield os.fspath(word)


def _below(name: str, inside: str) -> str:
    """Return a path relative to the repository, of bytecode its source; "" if it lies outside."""
    path = os.path.abspath(name)  # noqa: PTH100
    prefix = sys.pycache_prefix
    if prefix and path.startswith(prefix):
        folder, _, file = path.removeprefix(prefix).rpartition("/")
        path = f"{folder}/{file.partition('.')[0]}.py"
    # `os.open` with `dir_fd`, as in `shutil.rmtree`, is seen with names of other folders.
    found = path.startswith(inside) and os.path.isfile(path)  # noqa: PTH113
    return path.removeprefix(inside) if found else ""


def read_opened(journal: Path) -> tuple[str, ...]:
    """Return the files that are noted in the journal and are not the engine's."""
    if not journal.exists():
        return ()
    lines = set(journal.read_text("utf-8", "surrogateescape").splitlines())
    return tuple(sorted(line for line in lines if not ENGINE.fullmatch(line)))
