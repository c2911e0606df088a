"""Imports pytest and the modules of its command line, then forks for each run it is asked for.

A fork becomes ``python -m pytest`` in all that a run can notice: its variables, folder, path,
arguments, standard streams and random numbers. Nothing of the project is imported before, so each
run rewrites the asserts of its own plugins and measures their lines. The parent runs no tensor
operation and starts no thread. Where what is imported already would not do, the fork is replaced
by a new ``python -m pytest``.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import runpy
import signal
import socket
import sys
import tempfile
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any


if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Sequence


# How variables begin that Python, torch, NumPy or hypothesis read when they start.
EARLY = (
    *("PYTHON", "LANG", "LC_", "PYTORCH_", "TORCH", "OMP_", "MKL_", "OPENBLAS_"),
    *("CI", "HYPOTHESIS"),
)
# Those among them that `enter` follows, and one that torch reads when it is asked.
FOLLOWED = ("PYTHONPATH", "PYTHONSAFEPATH", "PYTORCH_NVML_BASED_CUDA_CHECK")
# The status of a run that has ended.
ENDED: list[int] = []


class Imports:
    """Imports modules while a session of pytest rewrites asserts, as a run does."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names

    def pytest_sessionstart(self) -> None:
        """Import them; a run that needs a missing one reports it."""
        for name in self.names:
            with suppress(ImportError):
                importlib.import_module(name)


def warm_up(names: Sequence[str]) -> None:
    """Run a session without tests, which imports pytest's own modules, its plugins and `names`."""
    import pytest  # noqa: PLC0415 - after the folder of this file has left sys.path

    with tempfile.TemporaryDirectory(prefix="warm-") as folder:
        settings = Path(folder, "pytest.ini")
        settings.write_text("[pytest]\n")
        plugins = ["-p", "pytester", "-p", "no:anyio", "-p", "no:cacheprovider"]
        options = ["--rootdir", folder, "-c", str(settings), *plugins, folder]
        pytest.main(options, plugins=[Imports(names)])
    remember_entry_points()
    # What is left in the buffer would be written once more by each fork.
    sys.stdout.flush()
    tempfile.tempdir = None
    gc.collect()
    # Frozen objects keep the forks' garbage collectors from copying their pages.
    gc.freeze()


def remember_entry_points() -> None:
    """Read once what the installed packages announce.

    For each plugin that a run names, pytest 9.2 reads it from the files of all of them, which
    would be half of a fork's time. A fork reads it of packages that are not installed here.
    """
    known = {vars(found)["_path"]: found.entry_points for found in metadata.distributions()}
    read: Any = metadata.Distribution.entry_points

    def entry_points(found: metadata.PathDistribution) -> metadata.EntryPoints:
        path = vars(found)["_path"]
        entries: metadata.EntryPoints = known[path] if path in known else read.fget(found)
        return entries

    setattr(metadata.PathDistribution, "entry_points", property(entry_points))  # noqa: B010


def serve(channel: socket.socket) -> dict[str, Any] | None:
    """Fork for each request: return it in the fork; return None in the parent, at the end."""
    lines = channel.makefile(encoding="utf-8")
    while True:
        _, files, _, _ = socket.recv_fds(channel, 1, 3)
        if not files:
            return None
        request: dict[str, Any] = json.loads(lines.readline())
        pid = os.fork()
        # Whichever of the two comes first; an ended run has no group any more.
        with suppress(PermissionError, ProcessLookupError):
            os.setpgid(pid, pid)
        if pid == 0:
            become(channel.detach(), *files)
            return request
        for file in files[1:]:
            os.close(file)
        with socket.socket(fileno=files[0]) as answers, suppress(BrokenPipeError):
            answers.sendall(str(pid).encode())
            _, status = os.waitpid(pid, 0)
            answers.sendall(str(os.waitstatus_to_exitcode(status)).encode())


def become(channel: int, answers: int, output: int, errors: int) -> None:
    """Exchange the files of the parent for those of a run."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    for number, file in enumerate((nothing, output, errors)):
        os.dup2(file, number)
    for file in (channel, answers, output, errors, nothing):
        os.close(file)


def enter(
    command: Sequence[str], folder: str, environment: Mapping[str, str], *, deaf: bool
) -> None:
    """Make this process what `command`, ``python -m pytest`` with its arguments, starts as.

    A `deaf` one ignores Ctrl-C.
    """
    names = {*os.environ, *environment} - {*FOLLOWED}
    stale = any(
        os.environ.get(name) != environment.get(name) for name in names if name.startswith(EARLY)
    )
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    signal.signal(signal.SIGINT, signal.SIG_IGN if deaf else signal.default_int_handler)
    path = environment["PYTHONPATH"].split(os.pathsep)
    first = [*dict.fromkeys(map(os.path.abspath, path))]
    if not environment.get("PYTHONSAFEPATH"):
        first.insert(0, folder)
    if stale or any(map(has_another, first)):
        os.execv(sys.executable, [*command])  # noqa: S606 - the command that was asked for
    sys.path[:0] = first
    # A terminal shows each line at once.
    output: Any = sys.stdout
    output.reconfigure(line_buffering=output.isatty())
    sys.orig_argv = [*command]
    sys.argv = [*command[1:]]
    # What they have read of this process when they were imported; xdist's plugin is soon loaded.
    for name in [name for name in sys.modules if name.partition(".")[0] == "xdist"]:
        del sys.modules[name]
    if hypothesis := sys.modules.get("hypothesis.configuration"):
        hypothesis.set_hypothesis_home_dir(Path(folder, ".hypothesis"))
    # Python's own numbers differ in each fork.
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed()
    importlib.invalidate_caches()


def has_another(folder: str) -> bool:
    """Whether a folder of the path has another module of a name that is imported already.

    So may a package that torch loads when it is imported.
    """
    entries = [*Path(folder).glob("*")]
    names = {entry.name.partition(".")[0] for entry in entries}
    adds = "torch" in sys.modules and any(entry.suffix == ".dist-info" for entry in entries)
    return adds or not names.isdisjoint(sys.modules)


def leave() -> None:
    """End a run, after all else that happens when Python ends but the removal of each object.

    That takes twice as long as the run.
    """
    if ENDED:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(ENDED[0])


if __name__ == "__main__":
    # The first one to be registered is called last.
    atexit.register(leave)
    # The folder of this file, where modules have names that others may look for.
    del sys.path[0]
    warm_up(sys.argv[2:])
    if run := serve(socket.socket(fileno=int(sys.argv[1]))):
        enter(**run)
        try:
            runpy.run_module("pytest", run_name="__main__", alter_sys=True)
        except SystemExit as ended:
            ENDED.append(int(ended.code or 0))
            raise
    ENDED.append(0)
