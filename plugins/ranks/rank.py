"""Runs one rank in a forked process: joins the others, calls the function, sends the result.

Calls of torch.distributed are written to a file before they are made, so they are known even of
a rank that hangs or dies. Its stack goes to a second file, and its output to two more.
"""

from __future__ import annotations

import faulthandler
import importlib
import os
import signal
import socket
import sys
from contextlib import suppress
from dataclasses import dataclass
from dataclasses import replace
from datetime import timedelta
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING
from typing import Any
from urllib.parse import urlsplit

from plugins.course.seeds import set_seeds
from plugins.crash.journal import Journal
from plugins.crash.recorder import dump_and_exit
from plugins.crash.verdict import ROOM
from plugins.ranks.messages import Raised
from plugins.ranks.messages import apply_filters
from plugins.ranks.messages import describe_exception
from plugins.ranks.messages import pack
from plugins.ranks.messages import unpack
from plugins.ranks.traffic import format_call
from plugins.ranks.traffic import record_calls
from plugins.ranks.traffic import why_uncounted
from plugins.tools.files import describe_os_error
from plugins.tools.processes import dump_no_core
from plugins.tools.processes import end_with_parent
from plugins.tools.processes import offer_to_oom_killer


if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection
    from pathlib import Path

    from plugins.ranks.traffic import Call


# Gloo must not give up before the course does.
LONG = timedelta(days=1)


@dataclass(frozen=True)
class Request:
    """A function to call in the ranks of a world, or in those that one server starts."""

    # The function and its arguments, pickled: only the ranks look inside.
    call: bytes
    size: int
    ranks: tuple[int, ...]
    # Where the ranks meet: file:PATH, or tcp://HOST:PORT/PREFIX.
    place: str
    # The folder for the files of the ranks, and the one that shown paths start from.
    folder: Path
    root: Path
    backend: str | None = "gloo"
    test: str = ""
    seed: int = 0
    seconds: float | None = None
    # The bytes of memory that each rank may take; 0: any number.
    memory: int = 0
    # The filters of warnings, as `pack_filters` returns them.
    filters: tuple[bytes, ...] = ()

    def journal(self, rank: int) -> Journal:
        """Return the files of a rank; its events are its calls."""
        return Journal(self.folder, f"rank{rank}")


@dataclass(frozen=True)
class CallResult:
    """How a function ended in a rank that lived on: a pickled result, or an exception."""

    value: bytes = b""
    raised: Raised | None = None
    # Why the calls of torch.distributed could not be counted.
    uncounted: str = ""


def run_rank(request: Request, rank: int, server: Connection, parent: int) -> None:
    """Be a rank, in a process that was forked for it, until the server releases it."""
    journal = request.journal(rank)
    prepare_process(journal, server, parent)
    result = call_function(request, rank, journal)
    sys.stdout.flush()
    sys.stderr.flush()
    server.send(result)
    # The others may still read what this rank has sent, so its connections stay open.
    with suppress(EOFError, OSError):
        server.recv()


def prepare_process(journal: Journal, server: Connection, parent: int) -> None:
    """Cut this process off from the terminal, bind it to its parent, and keep its last words."""
    # A group of its own, so that what it starts can be ended with it.
    os.setsid()
    follow_parent(parent, server, os._exit)
    offer_to_oom_killer()
    dump_no_core()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    redirect_streams(journal.out, journal.err)
    stack = os.open(journal.stack, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    faulthandler.enable(file=stack)
    os._exit = partial(dump_and_exit, os._exit, os.getpid(), stack)


def follow_parent(parent: int, server: Connection, leave: Callable[[int], object]) -> None:
    """End this process with its parent, however that ends."""
    if not end_with_parent():
        # The server sends nothing, so the connection is ready only when it or the rank ends.
        Thread(target=wait_for_end, args=(server, leave), daemon=True).start()
    if os.getppid() != parent:
        leave(1)


def wait_for_end(server: Connection, leave: Callable[[int], object]) -> None:
    """Leave as soon as the other side of a connection is gone."""
    with suppress(EOFError, OSError):
        server.recv()
    leave(1)


def redirect_streams(out: Path, err: Path) -> None:
    """Read nothing, and write to files; pytest's own capturing ended with the fork."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    files = [os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND) for file in (out, err)]
    for number, file in enumerate((nothing, *files)):
        os.dup2(file, number)
        os.close(file)
    sys.stdin = open(0, closefd=False, encoding="utf-8")  # noqa: SIM115 - as long as the process
    for name, number in (("stdout", 1), ("stderr", 2)):
        # By line, so that output is not lost with the process.
        stream = open(number, "w", buffering=1, closefd=False, encoding="utf-8")  # noqa: SIM115
        setattr(sys, name, stream)


def call_function(request: Request, rank: int, journal: Journal) -> CallResult:
    """Join the other ranks, call the function, and return its result."""
    try:
        apply_filters(request.filters)
        join_world(request, rank)
        function, args = unpack(request.call)
        result = CallResult(uncounted=why_uncounted() if request.backend else "")
        if result.uncounted:
            sys.stderr.write(f"{result.uncounted}\n")
        if not request.backend or result.uncounted:
            value = function(*args)
        else:
            notes = Notes(journal.events)
            with record_calls(notes.add):
                value = function(*args)
            result = replace(result, uncounted=notes.lost)
        return replace(result, value=pack(value, "What a rank returns"))
    except BaseException as error:  # noqa: BLE001 - the test reports any of them
        return CallResult(raised=describe_exception(error, request.root))


class Notes:
    """The file of a rank's calls; a disk that takes no more is no fault of the call."""

    def __init__(self, file: Path) -> None:
        # Why calls could not be written down, or "".
        self.lost = ""
        self._file = file
        self._descriptor: int | None = None

    def add(self, call: Call) -> None:
        """Write a call down, before it is made."""
        if self.lost:
            return
        try:
            if self._descriptor is None:
                flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
                self._descriptor = os.open(self._file, flags, 0o600)
            os.write(self._descriptor, format_call(call))
        except OSError as error:
            self.lost = f"calls could not be written down: {describe_os_error(error)}. {ROOM}"


def join_world(request: Request, rank: int) -> None:
    """Make this process what torchrun makes of a rank, and connect it to the others."""
    os.environ |= {"RANK": str(rank), "WORLD_SIZE": str(request.size)}
    here = request.place.startswith("file:")
    if here:
        # In a job, torchrun has set them: only it knows which processes share this machine.
        os.environ |= {"LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": str(request.size)}
    import torch  # noqa: PLC0415 - importing a plugin imports no torch

    set_seeds(request.seed)
    # The ranks share the same cores, and threads do not survive a fork.
    torch.set_num_threads(1)
    if not request.backend:
        return
    if here:
        os.environ.setdefault("GLOO_SOCKET_IFNAME", loopback(socket.if_nameindex()))
    torch.distributed.init_process_group(
        request.backend,
        store=connect_store(request.place, request.size),
        rank=rank,
        world_size=request.size,
        timeout=LONG,
    )


def connect_store(place: str, size: int) -> Any:
    """Return the store through which the ranks find each other."""
    distributed: Any = importlib.import_module("torch.distributed")
    if place.startswith("file:"):
        return distributed.FileStore(place.removeprefix("file:"), size)
    parts = urlsplit(place)
    store = distributed.TCPStore(parts.hostname, parts.port or 0, is_master=False)
    return distributed.PrefixStore(parts.path.strip("/"), store)


def loopback(interfaces: list[tuple[int, str]]) -> str:
    """Return the interface over which a machine talks to itself: lo, or lo0 on macOS."""
    return next(name for _, name in interfaces if name.startswith("lo"))
