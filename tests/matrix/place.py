"""Makes, uses and removes a virtual environment for one version of torch."""

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
# A CUDA build: 3 GB of wheels, 6 GB unpacked, and the libraries that the katas build.
GIGABYTES = 12
# A lecture takes minutes; a run that takes this long hangs.
SECONDS = 3600
# Variables of the shell that must not reach the runs.
FOREIGN = ("KATAS_", "TORCH", "CUDA_", "PYTEST_", "PYTHON", "TRITON_", "VIRTUAL_ENV", "TOX_")


class PlaceError(Exception):
    """The version cannot be tried here; the message has the reason and the remedy."""


@dataclass(frozen=True)
class Place:
    """The folder of an environment, which also holds all that its runs leave behind."""

    folder: Path
    root: Path

    @property
    def python(self) -> str:
        """The interpreter of the environment."""
        return str(self.folder / "bin/python")

    def make(self, version: Version, index: str) -> None:
        """Install torch for the CPU from `index`, or pip's choice if it has none.

        Raises
        ------
        PlaceError
            If the disk is too full, or a package cannot be installed.
        """
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        if refusal := too_full(self.folder.parent):
            raise PlaceError(refusal)
        pip = [self.python, "-m", "pip", "install", "--quiet"]
        # It is removed in an hour: pip need not cache it.
        large = [*pip, "--no-cache-dir"]
        self.must([sys.executable, "-m", "venv", "--clear", str(self.folder)])
        self.must([*pip, "pip>=25.1"])  # the first one that knows --group
        # The index may be unreachable: the next command then installs torch, or fails.
        self.call([*large, "--retries=1", f"--index-url={index}", "--group", version.name])
        self.must([*large, *(f"--group={group}" for group in version.groups)])

    def must(self, command: Sequence[str]) -> None:
        """Run a command of the installation, which must succeed."""
        status, output = self.call(command)
        if status:
            tail = "\n".join(output.strip().splitlines()[-5:])
            raise PlaceError(f"{' '.join(command)} ended with status {status}:\n{tail}")

    def call(self, command: Sequence[str], log: Path | None = None) -> tuple[int, str]:
        """Run a command in the root and return its status and, unless it goes to `log`, output.

        If the tour ends, so do the command and the processes that it has started.
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
        """Return the variables of a run: tox's, and a folder for builds that is removed too."""
        kept = {key: value for key, value in inherited.items() if not key.startswith(FOREIGN)}
        path = os.pathsep.join((str(self.folder / "bin"), kept.get("PATH", os.defpath)))
        builds = str(self.folder / "builds")
        return kept | {"PATH": path, "KATAS_BUILD": builds, "PYTHONHASHSEED": "0", "COLUMNS": "80"}

    def torch(self) -> str:
        """Return the installed build of torch, such as 2.15.0+cpu."""
        ask = "from importlib.metadata import version; print(version('torch'))"
        return self.call([self.python, "-c", ask])[1].strip()

    def remove(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)


def too_full(folder: Path) -> str | None:
    """Return why a CUDA build would not fit on the disk of `folder`, or None if it would."""
    free = shutil.disk_usage(folder).free / 1e9
    if free >= GIGABYTES:
        return None
    return (
        f"{free:.0f} GB are free at {folder}, and a version of torch may need {GIGABYTES}:"
        " make room and repeat the command; finished runs are kept"
    )
