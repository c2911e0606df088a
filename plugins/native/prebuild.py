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

from katas import overlay
from plugins import ROOT
from plugins.native.builder import Builder
from plugins.native.builder import BuildError
from plugins.native.compile import BrokenToolError
from plugins.native.sources import SourceError
from plugins.native.sources import library_sources
from plugins.native.sources import read_unit
from plugins.native.toolchain import ToolchainError
from plugins.native.toolchain import find_toolchain
from plugins.tools.processes import usable_processors


if TYPE_CHECKING:
    from collections.abc import Iterable

    from plugins.course.model import Kata


# Builds at a time: g++ takes a gigabyte for all of PyTorch's headers.
MOST = 4


def start_build(katas: Iterable[Kata], folder: Path, root: Path) -> subprocess.Popen[bytes]:
    """Start building `katas` into `folder`, in order, and return the process that does it."""
    plan = [
        [name, str(kata.folder), files]
        for kata in katas
        for name, files in library_sources(kata).items()
    ]
    request = json.dumps({"folder": str(folder), "root": str(root), "units": plan})
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


def stop_build(process: subprocess.Popen[bytes]) -> None:
    """End the process and its compilers, if they still run."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def main(request: str) -> None:
    """Build what `start_build` asks for; errors are left to the tests, which meet them again."""
    plan = json.loads(request)
    with suppress(ToolchainError):
        builder = Builder(find_toolchain(), Path(plan["folder"]))
        with ThreadPoolExecutor(min(usable_processors(), MOST)) as pool:
            for name, folder, sources in plan["units"]:
                pool.submit(_build, builder, name, Path(folder), sources, Path(plan["root"]))


def _build(builder: Builder, name: str, folder: Path, sources: list[str], root: Path) -> None:
    # The same files as `katas.source` finds, which would import the lecture.
    places = [Path(place) for place in overlay([str(folder)])]
    found = [next((p / name for p in places if (p / name).is_file()), folder) for name in sources]
    with suppress(BuildError, BrokenToolError, SourceError, OSError):
        builder.build(read_unit(name, found, root, folder / "csrc"))


def end_with_the_run() -> None:
    """Wait for the end of standard input, then end this process and its compilers."""
    os.read(0, 1)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    Thread(target=end_with_the_run, daemon=True).start()
    main(sys.argv[1])
