"""A virtual environment for one version of torch: made, used and removed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Sequence
    from pathlib import Path

    from tests.matrix.versions import Version


# PyTorch's own wheels for the CPU, a tenth of the CUDA builds that PyPI has for Linux.
INDEX = "https://download.pytorch.org/whl/cpu"
# A CUDA build: 3 GB of wheels, 6 GB when they are unpacked, and what the katas build.
GIGABYTES = 12
# One lecture takes minutes; whatever takes so long hangs.
SECONDS = 3600
# What a shell may have set and must not reach the runs.
FOREIGN = ("KATAS_", "TORCH", "CUDA_", "PYTEST_", "PYTHON", "TRITON_", "VIRTUAL_ENV", "TOX_")


class PlaceError(Exception):
    """The version cannot be tried here; the message says why and what to do."""


@dataclass(frozen=True)
class Place:
    """The folder of an environment, which holds everything that its runs leave behind too."""

    folder: Path
    root: Path

    @property
    def python(self) -> str:
        """The interpreter of the environment."""
        return str(self.folder / "bin/python")

    def make(self, version: Version, index: str) -> None:
        """Install torch for the CPU from `index`, or where there is none, pip's own choice.

        Raises
        ------
        PlaceError
            If the disk is too full, or something cannot be installed.
        """
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        if refusal := too_full(self.folder.parent):
            raise PlaceError(refusal)
        pip = [self.python, "-m", "pip", "install", "--quiet"]
        # What is removed in an hour need not stay in pip's cache.
        large = [*pip, "--no-cache-dir"]
        self.must([sys.executable, "-m", "venv", "--clear", str(self.folder)])
        self.must([*pip, "pip>=25.1"])  # the first one that knows --group
        # It may be out of reach: a second line would say what the next command says anyway.
        self.call([*large, "--retries=1", f"--index-url={index}", "--group", version.name])
        self.must([*large, *(f"--group={group}" for group in version.groups)])

    def must(self, command: Sequence[str]) -> None:
        """Run a command of the installation."""
        status, output = self.call(command)
        if status:
            tail = "\n".join(output.strip().splitlines()[-5:])
            raise PlaceError(f"{' '.join(command)} ended with status {status}:\n{tail}")

    def call(self, command: Sequence[str], log: Path | None = None) -> tuple[int, str]:
        """Run a command in the root and return its status and, unless it goes to `log`, output.

        Whatever ends the tour ends the command, and the processes that it has started.
        """
        with (log or self.folder.parent / "install.txt").open("w+b") as stream:
            process = subprocess.Popen(
                command,
                cwd=self.root,
                env=self.environment(os.environ),
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                status = process.wait(SECONDS)
            except subprocess.TimeoutExpired:
                return -1, f"{command[0]} did not end in {SECONDS} seconds"
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
            stream.seek(0)
            return status, "" if log else stream.read().decode(errors="replace")

    def environment(self, inherited: Mapping[str, str]) -> dict[str, str]:
        """Return the variables of a run: those of tox, and builds in a folder that goes too."""
        kept = {key: value for key, value in inherited.items() if not key.startswith(FOREIGN)}
        path = os.pathsep.join((str(self.folder / "bin"), kept.get("PATH", os.defpath)))
        builds = str(self.folder / "builds")
        return kept | {"PATH": path, "KATAS_BUILD": builds, "PYTHONHASHSEED": "0", "COLUMNS": "80"}

    def torch(self) -> str:
        """Return which build of torch was found: 2.15.0+cpu."""
        ask = "from importlib.metadata import version; print(version('torch'))"
        return self.call([self.python, "-c", ask])[1].strip()

    def remove(self) -> None:
        """Leave nothing behind."""
        shutil.rmtree(self.folder, ignore_errors=True)


def too_full(folder: Path) -> str | None:
    """Return why a CUDA build would not fit on the disk of `folder`, or None if it would."""
    free = shutil.disk_usage(folder).free / 1e9
    if free >= GIGABYTES:
        return None
    return (
        f"{free:.0f} GB are free at {folder}, and a version of torch may need {GIGABYTES}:"
        " make room, and say the same command again; what has been run is kept"
    )
