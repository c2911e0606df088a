"""A server that is killed, and loses no answer."""

from __future__ import annotations

import json
import os
from http.server import BaseHTTPRequestHandler
from http.server import ThreadingHTTPServer
from threading import Lock
from typing import TYPE_CHECKING
from typing import Any
from typing import BinaryIO


if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Model = Callable[[list[float]], list[float]]


class ReusedError(ValueError):
    """An id was used again, with a different x."""


class Journal:
    """The answers so far: a line of JSON for each id, with the keys "id", "x" and "answer".

    `known` maps ids to these entries, `file` is open for appending, `lock` is for `answer`.
    """

    known: dict[str, dict[str, Any]]
    file: BinaryIO

    def __init__(self, path: Path) -> None:
        """Read the entries of a file, which need not exist, and cut off an incomplete last line."""
        self.lock = Lock()
        data = path.read_bytes() if path.exists() else b""
        whole = data[: data.rfind(b"\n") + 1]
        self.known = {each["id"]: each for each in map(json.loads, whole.splitlines())}
        self.file = path.open("ab")
        self.size = len(whole)
        self.file.truncate(self.size)

    def record(self, ident: str, x: list[float], answer: list[float]) -> None:
        """Append an entry that survives a kill and a power cut, and only then add it to `known`.

        If the disk is full, let Python's error propagate. The half line that it leaves must not
        spoil the next entry.
        """
        line = json.dumps({"id": ident, "x": x, "answer": answer}).encode() + b"\n"
        self.file.truncate(self.size)
        self.file.write(line)
        self.file.flush()
        os.fsync(self.file.fileno())
        self.size += len(line)
        self.known[ident] = json.loads(line)


def answer(journal: Journal, run: Model, ident: str, x: list[float]) -> list[float]:
    """Return the answer to a request, running the model only if no answer to this id is known.

    An exception from `run` propagates, and nothing is recorded: the client may ask again.
    Simultaneous requests with the same id are one request. `run` may change the list it gets, and
    the caller may change x and the answer: this must not change what is known.

    Raises
    ------
    ReusedError
        If the id is known with a different x. Here NaN equals NaN.
    """
    with journal.lock:
        if ident not in journal.known:
            journal.record(ident, x, run([*x]))
        entry = journal.known[ident]
        if json.dumps(entry["x"]) != json.dumps(x):
            raise ReusedError(f"{ident} was asked before, with {entry['x']}, and now with {x}")
        return [*entry["answer"]]


def server(journal: Journal, run: Model) -> ThreadingHTTPServer:
    """Return a server on a free port of the loopback: POST /id, with x as JSON."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            """Answer with 200, 409 if the id had a different x, or 500 if the model fails."""
            x = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            try:
                status, found = 200, answer(journal, run, self.path[1:], x)
            except ReusedError as error:
                status, found = 409, str(error)
            except Exception as error:  # noqa: BLE001 - the client is told
                status, found = 500, str(error)
            body = json.dumps(found).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    return ThreadingHTTPServer(("127.0.0.1", 0), Handler)
