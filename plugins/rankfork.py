"""Forks the process that ranks are forked from."""

from __future__ import annotations

import gc
import os
import sys
from multiprocessing import Pipe
from typing import TYPE_CHECKING

from plugins.rankserver import Server


if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection


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
    sys.stdout.flush()
    sys.stderr.flush()
    process = os.fork()
    if process:
        its.close()
        return ours, process
    leave = os._exit
    status = 1
    try:
        os.setsid()
        ours.close()
        # Whoever reads what pytest prints shall not wait for this process.
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(nothing, number)
        warm()
        Server(its, explain).serve(parent)
        status = 0
    finally:
        leave(status)
    raise AssertionError("it has left")
