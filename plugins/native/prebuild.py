"""Builds the C++ katas of a run in a process beside it, from the start, while torch is imported.

It does no more than fill the build folder. A test that needs a library builds it or waits
for it in the same way, so nothing depends on this process: it may fail, or be killed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from katas import overlay
from plugins.builder import Builder
from plugins.builder import BuildError
from plugins.compiling import BrokenToolError
from plugins.sources import SourceError
from plugins.sources import read_unit
from plugins.toolchain import ToolchainError
from plugins.toolchain import find_toolchain


if TYPE_CHECKING:
    from collections.abc import Iterable

    import pytest

    from plugins.layout import Course
    from plugins.layout import Kata


# g++ takes a gigabyte for all of PyTorch's headers.
MOST = 4
# Options that show something and run no test: pytest's, and the course's own.
SHOW = (
    *("help", "version", "markers", "collectonly", "showfixtures", "show_fixtures_per_test"),
    *("hint", "solution", "progress_json", "page"),
)


def wanted(config: pytest.Config) -> bool:
    """Whether this process runs tests itself, and is the first of those that do."""
    if any(config.getoption(name, None) for name in SHOW):
        return False
    if workerinput := getattr(config, "workerinput", None):
        return bool(workerinput["workerid"] == "gw0")
    return bool(config.getoption("dist", "no") == "no")


def selected(course: Course, args: Iterable[str], start: Path) -> list[Kata]:
    """Return the katas with C++ or CUDA sources among the arguments of the command line."""
    paths = [(start / arg.partition("::")[0]).resolve() for arg in args]
    katas = [kata for lecture in course.lectures for kata in lecture.katas if units(kata)]
    return [kata for kata in katas if any(kata.test.is_relative_to(path) for path in paths)]


def units(kata: Kata) -> dict[str, list[str]]:
    """Return the sources of each library of `kata`: its kernels, and what is around them."""
    name = unit_name(kata)
    found = {
        f"{name}_cuda": kata.cuda,
        name: [file for file in kata.csrc if file.endswith(".cpp")],
    }
    return {name: files for name, files in found.items() if files}


def start(katas: Iterable[Kata], folder: Path, root: Path) -> subprocess.Popen[bytes]:
    """Start building `katas` into `folder`, in order, and return the process that does it."""
    plan = [
        [name, str(kata.folder), files] for kata in katas for name, files in units(kata).items()
    ]
    request = json.dumps({"folder": str(folder), "root": str(root), "units": plan})
    return subprocess.Popen(  # noqa: S603 - this module
        [sys.executable, "-m", "plugins.prebuild", request],
        cwd=Path(__file__).parents[1],
        # It ends with whoever holds the other end, even if that is killed.
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        # A group of its own: `stop` ends its compilers with it.
        start_new_session=True,
    )


def unit_name(kata: Kata) -> str:
    """Return ``lecture04_k03``: the namespace of a kata's operators, and its library's name."""
    return f"{kata.lecture}_{kata.name.partition('_')[0]}"


def stop(process: subprocess.Popen[bytes]) -> None:
    """End the process and its compilers, if they have not ended."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def main(request: str) -> None:
    """Build what `start` asked for; what fails here fails again where somebody reads it."""
    plan = json.loads(request)
    with suppress(ToolchainError):
        builder = Builder(find_toolchain(), Path(plan["folder"]))
        with ThreadPoolExecutor(min(os.cpu_count() or 1, MOST)) as pool:
            for name, folder, sources in plan["units"]:
                pool.submit(_build, builder, name, Path(folder), sources, Path(plan["root"]))


def _build(builder: Builder, name: str, folder: Path, sources: list[str], root: Path) -> None:
    # As `katas.source` finds them, which needs the lecture to be imported.
    places = [Path(place) for place in overlay([str(folder)])]
    found = [next((p / name for p in places if (p / name).is_file()), folder) for name in sources]
    with suppress(BuildError, BrokenToolError, SourceError, OSError):
        builder.build(read_unit(name, found, root, folder / "csrc"))


def end_with_the_run() -> None:
    """Wait until the process at the other end of standard input is gone, then end all."""
    os.read(0, 1)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    Thread(target=end_with_the_run, daemon=True).start()
    main(sys.argv[1])
