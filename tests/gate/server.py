"""Imports torch and pytest once, then forks for each run requested on stdin.

The parent never runs a tensor operation and never starts a thread, so a fork of it is as
good as a fresh process, without the two seconds that importing takes.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import selectors
import signal
import socket
import sys
import warnings
from importlib import metadata
from tempfile import TemporaryDirectory

from plugins.tools.preload import Preload
from tests.gate.forks import Child
from tests.gate.forks import finish
from tests.gate.forks import kill
from tests.gate.forks import start
from tests.gate.protocol import dump
from tests.gate.protocol import load_run


PACKAGES = (
    *("numpy", "torch", "torch.testing", "expecttest", "xdist", "_hypothesis_pytestplugin"),
    *("hypothesis", "hypothesis.internal.conjecture.optimiser"),
)


def warm() -> None:
    """Import what every run imports; without torch, the others still run."""
    from conftest import VERDICT  # noqa: PLC0415 - of this repository, not of the run's course

    for name in (*PACKAGES, *VERDICT):
        with contextlib.suppress(ImportError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            importlib.import_module(name)
    # The course of a run may have others.
    for name in {"conftest", "katas", "katas.compat"} & {*sys.modules}:
        del sys.modules[name]
    # pytest looks for plugins in every installed distribution, a fifth of a short run.
    installed = metadata.distributions()
    found = [each for each in installed if each.entry_points.select(group="pytest11")]
    setattr(metadata, "distributions", lambda **_: iter(found))  # noqa: B010 - mypy refuses `=`


def serve() -> None:
    """Answer runs until stdin ends."""
    warm()
    freeze()
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
    late = Preload()
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
        # Otherwise half of the runs of lecture 10 would spend longer on imports than on tests.
        if late.catch_up():
            freeze()


def freeze() -> None:
    """Spare each child's garbage collector from scanning the objects that stay alive."""
    gc.collect()
    gc.freeze()


def _answered(child: Child) -> bool:
    """Kill a late child; send the result of one that has ended."""
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
