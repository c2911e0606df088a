"""Imports torch and pytest once, then forks for each run that is asked for on stdin.

The parent never runs a tensor operation and never starts a thread, so that a fork of it
is as good as a fresh process, without the two seconds that importing takes.
"""

from __future__ import annotations

import contextlib
import gc
import os
import selectors
import signal
import socket
import sys
import warnings
from tempfile import TemporaryDirectory

from plugins.warm import Late
from tests.gate.forks import Child
from tests.gate.forks import finish
from tests.gate.forks import kill
from tests.gate.forks import start
from tests.gate.protocol import dump
from tests.gate.protocol import load_run


def warm() -> None:
    """Import what every kata imports; a machine without torch runs what needs none."""
    for name in ("numpy", "torch", "torch.testing", "hypothesis", "expecttest", "xdist"):
        with contextlib.suppress(ImportError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            __import__(name)


def serve() -> None:
    """Answer runs until stdin ends."""
    warm()
    # What is alive now stays so: no child needs to look at it when it collects garbage.
    gc.collect()
    gc.freeze()
    woken, waker = socket.socketpair()
    for end in (woken, waker):
        end.settimeout(0)
    # The end of a child wakes the selector, at no cost while all children run.
    signal.set_wakeup_fd(waker.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    selector = selectors.DefaultSelector()
    selector.register(woken, selectors.EVENT_READ)
    selector.register(sys.stdin.buffer, selectors.EVENT_READ)
    children: list[Child] = []
    late = Late()
    pending = b""
    while True:
        for key, _ in selector.select(0.5):
            if key.fileobj is woken:
                woken.recv(4096)
                continue
            chunk = os.read(sys.stdin.fileno(), 1 << 16)
            if not chunk:
                for child in children:
                    kill(child)
                return
            *lines, pending = (pending + chunk).split(b"\n")
            children += [start(load_run(line.decode()), late) for line in lines]
        children = [child for child in children if not _answered(child)]
        # Or half of the runs of lecture 10 would import what takes longer than their tests.
        late.catch_up()


def _answered(child: Child) -> bool:
    """Kill a child that is late, answer for one that has ended."""
    if child.late:
        kill(child)
    pid, status, usage = os.wait4(child.pid, os.WNOHANG)
    if pid:
        sys.stdout.write(dump(finish(child, status, usage)) + "\n")
        sys.stdout.flush()
    return bool(pid)


if __name__ == "__main__":
    with TemporaryDirectory(prefix="gate-bytecode-") as folder:
        # One child compiles the plugins and rewrites their asserts, the others read the result.
        sys.dont_write_bytecode, sys.pycache_prefix = False, folder
        serve()
