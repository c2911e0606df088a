"""A web server on this machine with the answers that a test gives it."""

from __future__ import annotations

import contextlib
import threading
from dataclasses import dataclass
from dataclasses import field
from http.server import BaseHTTPRequestHandler
from http.server import ThreadingHTTPServer
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterator
    from email.message import Message


@dataclass
class WebServer:
    """Its address, the handler of each path, and the headers of each request so far."""

    address: str
    routes: dict[str, Callable[[BaseHTTPRequestHandler], None]] = field(default_factory=dict)
    requests: list[Message] = field(default_factory=list)


def answer(
    handler: BaseHTTPRequestHandler, code: int = 200, body: bytes = b"", **headers: str
) -> None:
    """Answer a request; an underscore in the name of a header is a dash."""
    handler.send_response(code)
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(body)


@contextlib.contextmanager
def web_server() -> Iterator[WebServer]:
    """Serve until the end of the block."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            server.requests.append(self.headers)
            # The client may be gone before the answer is complete.
            with contextlib.suppress(ConnectionError):
                server.routes[self.path](self)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        http.daemon_threads = True
        server = WebServer(f"http://127.0.0.1:{http.server_port}")
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            http.shutdown()
            thread.join()
