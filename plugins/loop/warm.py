"""Imports once what every run needs, and tells when that is out of date."""

from __future__ import annotations

import gc
import importlib
import os
import re
import sys
import warnings
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Mapping


# None of them starts a thread or touches a device when it is imported.
MODULES = ("torch", "torch.testing", "numpy", "expecttest", "hypothesis", "pdb")
# Neither do these, but they take seconds, and only some katas import them: not by name, mostly.
LATE = ("torch._dynamo",)
VERSION = re.compile(r"""^__version__ = ['"]([^'"]+)""", re.MULTILINE)
Stamp = tuple[int, int, int]


def warm_up() -> None:
    """Import what the katas import, and let a fork find it where it is."""
    for name in MODULES:
        # What is missing or broken is for the run to report.
        with suppress(Exception):
            importlib.import_module(name)
    with suppress(Exception):
        draw()
    gc.collect()
    # The collectors of the forks shall not copy its pages.
    gc.freeze()


def draw() -> None:
    """Let hypothesis draw, until it has read all modules of the project.

    It looks there for numbers to try, when it first wants one: by chance, seldom at once.
    """
    import hypothesis  # noqa: PLC0415 - takes half a second
    from hypothesis import strategies  # noqa: PLC0415 - likewise

    @hypothesis.settings(database=None, max_examples=3, derandomize=True)
    @hypothesis.given(strategies.lists(strategies.floats(), min_size=50, max_size=50))
    def take(numbers: list[float]) -> None:
        """Take what was drawn."""

    with warnings.catch_warnings():
        # It warns of plugins that do so when pytest begins, which costs every run.
        warnings.simplefilter("ignore")
        take()


class Late:
    """Tells the process that stays what a run had to import, for the runs after it."""

    def __init__(self) -> None:
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._reader, False)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """Tell, in the run."""
        names = [name for name in LATE if name in sys.modules]
        os.write(self._writer, "".join(f"{name}\n" for name in names).encode())

    def catch_up(self) -> None:
        """Import it, in the process that stays: its next forks have it."""
        with suppress(BlockingIOError):
            told = os.read(self._reader, 1 << 10).decode().splitlines()
            for name in {*told} - {*sys.modules}:
                with suppress(Exception):
                    importlib.import_module(name)


def stamp(file: Path) -> Stamp | None:
    """Return what tells one content of a file from another; None if there is no file."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


class Loaded:
    """The files that this process has read and will not read again."""

    def __init__(self, root: Path, more: Iterable[Path]) -> None:
        self.root = root
        torch = sys.modules.get("torch")
        self.torch = Path(torch.__file__ or "").with_name("version.py") if torch else None
        self.version = str(getattr(torch, "__version__", ""))
        folders = (root, Path(__file__).parent)
        modules = [Path(file) for module in list(sys.modules.values()) if (file := path_of(module))]
        own = [
            file
            for file in modules
            if any(map(file.is_relative_to, folders)) and "site-packages" not in file.parts
        ]
        files = [*own, *more, *([self.torch] if self.torch else [])]
        self.stamps: Mapping[Path, Stamp | None] = {file: stamp(file) for file in files}

    def outdated(self) -> str | None:
        """Return why this process is out of date, in a few words; None if it is not."""
        for file, before in self.stamps.items():
            if stamp(file) != before:
                if file == self.torch:
                    return f"torch {self.version} was replaced by {version_in(file)}"
                shown = file.relative_to(self.root) if file.is_relative_to(self.root) else file
                return f"{shown} has changed"
        return None


def path_of(module: object) -> str | None:
    """Return the file of a module, if it has one."""
    file = getattr(module, "__file__", None)
    return file if isinstance(file, str) else None


def version_in(file: Path) -> str:
    """Return the version that torch's version.py names."""
    with suppress(OSError):
        if found := VERSION.search(file.read_text(encoding="utf-8", errors="replace")):
            return found[1]
    return "another one"
