"""Builds the C++ katas of a run in a process beside it, while the run imports torch.

The process only fills the build folder. A test that needs a library builds it or waits for it,
so nothing depends on this process: it may fail or be killed.
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
from typing import Any

from katas import overlay
from plugins import ROOT
from plugins.native.builder import Builder
from plugins.native.builder import BuildError
from plugins.native.compile import BrokenToolError
from plugins.native.languages import find_languages
from plugins.native.sources import SourceError
from plugins.native.sources import library_sources
from plugins.native.sources import read_unit
from plugins.native.toolchain import ToolchainError
from plugins.native.toolchain import find_toolchain
from plugins.tools.processes import usable_processors


if TYPE_CHECKING:
    from collections.abc import Iterable

    from plugins.course.model import Kata
    from plugins.native.compile import WaitingCompiler
    from plugins.native.sources import Unit


# Builds at a time: g++ takes a gigabyte for all of PyTorch's headers.
MOST = 4


def start_build(request: str) -> subprocess.Popen[bytes]:
    """Start building what `request` asks for, in order, and return the process that does it."""
    return subprocess.Popen(  # noqa: S603 - this module
        [sys.executable, "-m", "plugins.native.prebuild", request],
        cwd=ROOT,
        # A pipe that closes with this process, however it ends: see `end_with_the_run`.
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        # A group of its own, so `stop_build` ends its compilers too.
        start_new_session=True,
    )


def write_request(katas: Iterable[Kata], folder: Path, root: Path, languages: list[str]) -> str:
    """Return what `main` is to build: `katas` into `folder`. `languages` are named."""
    found = find_languages(languages)
    units = [
        [name, str(kata.folder), files]
        for kata in katas
        for name, files in library_sources(kata, found).items()
    ]
    plan = {"folder": str(folder), "root": str(root), "languages": languages, "units": units}
    return json.dumps(plan)


def stop_build(process: subprocess.Popen[bytes]) -> None:
    """End the process and its compilers, if they still run."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def main(request: str, waiting: WaitingCompiler | None = None) -> None:
    """Build what `write_request` asks for; errors are left to the tests, which meet them again."""
    plan = json.loads(request)
    with suppress(ToolchainError):
        builder = Builder(find_toolchain(), Path(plan["folder"]), waiting)
        with ThreadPoolExecutor(min(usable_processors(), MOST)) as pool:
            for number in range(len(plan["units"])):
                pool.submit(_build, builder, plan, number)


def _build(builder: Builder, plan: dict[str, Any], number: int) -> None:
    with suppress(BuildError, BrokenToolError, SourceError, OSError):
        builder.build(_read(plan, number))


def _read(plan: dict[str, Any], number: int) -> Unit:
    name, folder, sources = plan["units"][number]
    # The same files as `katas.source` finds, which would import the lecture.
    places = [Path(place) for place in overlay([folder])]
    found = [
        next((place / file for place in places if (place / file).is_file()), Path(folder))
        for file in sources
    ]
    languages = find_languages(plan["languages"])
    return read_unit(name, found, Path(plan["root"]), Path(folder) / "csrc", languages)


def wait_for_source(request: str, folder: Path) -> WaitingCompiler | None:
    """Start a compiler for the next content of the first source: the exercise."""
    plan = json.loads(request)
    with suppress(ToolchainError, BrokenToolError, SourceError, OSError):
        builder = Builder(find_toolchain(), Path(plan["folder"]))
        return builder.wait_for(_read(plan, 0), folder / "waits")
    return None


def end_with_the_run() -> None:
    """Wait for the end of standard input, then end this process and its compilers."""
    os.read(0, 1)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    Thread(target=end_with_the_run, daemon=True).start()
    main(sys.argv[1])
