"""Starts the process that ranks are forked from.

It is a fork of the process that runs the tests, which has imported what they need; or a fresh
process that collects the tests again, where a fork would inherit what does not survive it. The
ranks are forked from either, on macOS too, where nobody has tried it yet.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING
from typing import Any

from plugins.rankprocess import spawned
from plugins.rankserver import Server


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Mapping
    from collections.abc import Sequence
    from pathlib import Path


# Tells a fresh process by which file, and for which process, it serves.
VARIABLE = "KATAS_RANK_SERVER"
# What a fresh process shall not do besides.
OPTIONS = ("--no-crashguard", "-p", "no:cacheprovider", "-p", "no:xdist", "-q")


def why_fresh(platform: str, *, context: bool, engine: bool) -> str | None:
    """Return why a fork of the process that runs the tests would not do, or None if it would."""
    reasons = (
        (platform == "darwin", "the frameworks of macOS do not survive a fork"),
        (context, "CUDA does not survive a fork"),
        (engine, "the threads of autograd do not survive a fork"),
    )
    return next((reason for applies, reason in reasons if applies), None)


def reason_here() -> str | None:
    """Return why a fork of this process would not do."""
    torch = sys.modules.get("torch")
    context = bool(torch and torch.cuda.is_initialized())
    return why_fresh(sys.platform, context=context, engine=not context and broken_engine(torch))


def broken_engine(torch: Any) -> bool:
    """Whether backward() fails in a fork of this process: only a fork can tell."""
    if torch is None:
        return False
    process = spawned(lambda: torch.ones(1, requires_grad=True).sum().backward())
    return os.waitpid(process, 0)[1] != 0


def fresh(tests: Sequence[str], root: Path) -> tuple[Connection, int]:
    """Start a fresh server that has collected these tests; return its connection and process."""
    ours, its = Pipe()
    with its:
        process = subprocess.Popen(  # noqa: S603 - this Python
            [sys.executable, "-m", "pytest", f"--rootdir={root}", *OPTIONS, *tests],
            cwd=root,
            env={**os.environ, VARIABLE: f"{its.fileno()} {os.getpid()}"},
            pass_fds=[its.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    return ours, process.pid


def serve_here(environ: Mapping[str, str], explain: Callable[[str], object]) -> bool:
    """Serve, if this process was started for it; return whether it was."""
    if VARIABLE not in environ:
        return False
    file, parent = map(int, environ[VARIABLE].split())
    warm()
    Server(Connection(file), explain).serve(parent)
    return True


def warm() -> None:
    """Import what a rank needs, and see to it that no thread is started for it."""
    import torch  # noqa: PLC0415 - importing a plugin imports no torch
    import torch.distributed  # noqa: PLC0415 - likewise

    torch.set_num_threads(1)
    # What is there now stays where it is: the collectors of the ranks shall not copy its pages.
    gc.collect()
    gc.freeze()


def forked(explain: Callable[[str], object]) -> tuple[Connection, int]:
    """Fork a server; return the connection to it, and its process."""
    ours, its = Pipe()
    parent = os.getpid()

    def serve() -> None:
        os.setsid()
        ours.close()
        # Whoever reads what pytest prints shall not wait for this process.
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(nothing, number)
        warm()
        Server(its, explain).serve(parent)

    sys.stdout.flush()
    sys.stderr.flush()
    with its:
        return ours, spawned(serve)
