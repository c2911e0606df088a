"""Imports the modules that every run needs once, and detects when they are out of date."""

from __future__ import annotations

import gc
import importlib
import inspect
import re
import sys
import warnings
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from plugins import HERE


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Mapping

    from plugins.course.model import Course


# None of these starts a thread or touches a device when it is imported. The last two are for the
# tests of katas, and for the crash guard.
MODULES = (
    *("torch", "torch.testing", "numpy", "expecttest", "hypothesis", "pdb"),
    *("plugins.kit", "resource"),
)
VERSION = re.compile(r"""^__version__ = ['"]([^'"]+)""", re.MULTILINE)
Stamp = tuple[int, int, int]


def warm_up(course: Course) -> None:
    """Import the modules that katas import, in memory that the forks share."""
    for name in MODULES:
        # A run reports a module that is missing or broken.
        with suppress(Exception):
            importlib.import_module(name)
    with suppress(Exception):
        draw_examples()
    know_files()
    # A run looks for its kata among the test modules of all.
    course.kata_of(HERE)
    gc.collect()
    # Frozen objects keep the forks' garbage collectors from copying their pages.
    gc.freeze()


def know_files() -> None:
    """Let `inspect` read the files of all modules, and remember them.

    For the source of a failing test pytest looks for its module among those of all.
    """
    with suppress(Exception):
        inspect.getmodule(compile("", "of no module", "exec"))


def draw_examples() -> None:
    """Draw from hypothesis until it has read all modules of the project.

    It searches them for constants to try when it first wants one, which is seldom the first draw.
    """
    import hypothesis  # noqa: PLC0415 - takes half a second
    from hypothesis import strategies  # noqa: PLC0415 - takes half a second

    @hypothesis.settings(database=None, max_examples=3, derandomize=True)
    @hypothesis.given(strategies.lists(strategies.floats(), min_size=50, max_size=50))
    def take(numbers: list[float]) -> None:
        """Draw, and check nothing."""

    with warnings.catch_warnings():
        # hypothesis warns about plugins that draw while pytest starts, as that slows every run.
        warnings.simplefilter("ignore")
        take()


def stamp_file(file: Path) -> Stamp | None:
    """Return a file's modification time, size and inode; None if there is no file."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


class Loaded:
    """The files that this process has read and does not read again."""

    def __init__(self, root: Path, more: Iterable[Path]) -> None:
        self.root = root
        torch = sys.modules.get("torch")
        self.torch = Path(torch.__file__ or "").with_name("version.py") if torch else None
        self.version = str(getattr(torch, "__version__", ""))
        folders = (root, HERE)
        modules = [
            Path(file) for module in list(sys.modules.values()) if (file := find_file(module))
        ]
        own = [
            file
            for file in modules
            if any(map(file.is_relative_to, folders)) and "site-packages" not in file.parts
        ]
        files = [*own, *more, *([self.torch] if self.torch else [])]
        self.stamps: Mapping[Path, Stamp | None] = {file: stamp_file(file) for file in files}

    def outdated(self) -> str | None:
        """Return why this process is out of date, in a few words; None if it is not."""
        for file, before in self.stamps.items():
            if stamp_file(file) != before:
                if file == self.torch:
                    return f"torch {self.version} was replaced by {read_version(file)}"
                shown = file.relative_to(self.root) if file.is_relative_to(self.root) else file
                return f"{shown} has changed"
        return None


def find_file(module: object) -> str | None:
    """Return the file of a module, if it has one."""
    file = getattr(module, "__file__", None)
    return file if isinstance(file, str) else None


def read_version(file: Path) -> str:
    """Return the version in torch's version.py."""
    with suppress(OSError):
        if found := VERSION.search(file.read_text(encoding="utf-8", errors="replace")):
            return found[1]
    return "another one"
