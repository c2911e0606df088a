"""What a rank does, in a process of its own: it joins the others, calls a function, says the end.

The calls of torch.distributed are noted in a file before they are made, so that they are known of
a rank that hangs or dies; its stack goes to another file, and what it prints to two more.
"""

from __future__ import annotations

import importlib
import os
import socket
import sys
from contextlib import nullcontext
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING
from typing import Any
from urllib.parse import urlsplit

from plugins.journal import Journal
from plugins.raised import Raised
from plugins.raised import raised
from plugins.randomness import sow
from plugins.rankcalls import packed
from plugins.rankcalls import unpacked
from plugins.rankprocess import prepare
from plugins.traffic import line_of
from plugins.traffic import recorded


if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from pathlib import Path


# Gloo shall not give up before the course does.
LONG = timedelta(days=1)


@dataclass(frozen=True)
class Request:
    """A function to be called by the ranks of a world, or by those that one server starts."""

    # The function and its arguments, pickled: what they are is known in the ranks alone.
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
    # The bytes that each rank may take; 0: any number.
    memory: int = 0

    def journal(self, rank: int) -> Journal:
        """Return the files of a rank; its events are its calls."""
        return Journal(self.folder, f"rank{rank}")


@dataclass(frozen=True)
class Said:
    """How a function ended that ended by itself: with a pickled result, or an exception."""

    value: bytes = b""
    raised: Raised | None = None


def live(request: Request, rank: int, server: Connection, parent: int) -> None:
    """Be a rank, in a process that was forked for it, until the server lets it go."""
    journal = request.journal(rank)
    prepare(journal, server, parent)
    end = said(request, rank, journal)
    sys.stdout.flush()
    sys.stderr.flush()
    server.send(end)
    # The others may still read what this rank has sent, so its connections stay open.
    with suppress(EOFError, OSError):
        server.recv()


def said(request: Request, rank: int, journal: Journal) -> Said:
    """Call the function, and return what came of it."""
    calls = os.open(journal.events, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        settle(request, rank)
        function, args = unpacked(request.call)
        watched = recorded(lambda call: os.write(calls, line_of(call)))
        with watched if request.backend else nullcontext():
            value = function(*args)
        return Said(value=packed(value, "What a rank returns"))
    except BaseException as error:  # noqa: BLE001 - whatever it is, the test shall hear of it
        return Said(raised=raised(error, request.root))


def settle(request: Request, rank: int) -> None:
    """Make this process what torchrun makes of a rank, and connect it to the others."""
    os.environ |= {"RANK": str(rank), "WORLD_SIZE": str(request.size)}
    here = request.place.startswith("file:")
    if here:
        # In a job torchrun has said which of its processes on this machine this one is.
        os.environ |= {"LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": str(request.size)}
    import torch  # noqa: PLC0415 - importing a plugin imports no torch

    sow(request.seed)
    # Each rank is one of several on the same cores; and threads do not survive a fork.
    torch.set_num_threads(1)
    if not request.backend:
        return
    if here:
        os.environ.setdefault("GLOO_SOCKET_IFNAME", loopback(socket.if_nameindex()))
    torch.distributed.init_process_group(
        request.backend,
        store=store_of(request.place, request.size),
        rank=rank,
        world_size=request.size,
        timeout=LONG,
    )


def store_of(place: str, size: int) -> Any:
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
