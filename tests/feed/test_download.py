"""Documents come from files and http addresses, within limits, or not at all."""

from __future__ import annotations

import socket
import threading
from typing import TYPE_CHECKING

import pytest

from plugins.download import Document
from plugins.download import Limits
from plugins.download import SourceError
from plugins.download import is_address
from plugins.download import read_document
from tests.webserver import WebServer
from tests.webserver import answer
from tests.webserver import web_server


if TYPE_CHECKING:
    from collections.abc import Iterator
    from http.server import BaseHTTPRequestHandler
    from pathlib import Path


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[WebServer]:
    """A web server that no proxy stands before."""
    monkeypatch.setenv("no_proxy", "*")
    with web_server() as server:
        yield server


def test_a_file(tmp_path: Path) -> None:
    """It is read as it is."""
    file = tmp_path / "feed.xml"
    file.write_bytes(b"\xff\x00 whatever")

    assert Document(b"\xff\x00 whatever", {}) == read_document(str(file), {"ETag": "1"})


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    """Nothing there, a folder, or a name that no file can have."""
    for source in (tmp_path / "none.xml", tmp_path, "a\0b"):
        with pytest.raises(SourceError, match=r"No such file|Is a directory|null byte"):
            read_document(str(source), {})


def test_a_file_that_is_too_large(tmp_path: Path) -> None:
    """The limit is inclusive."""
    file = tmp_path / "feed.xml"
    file.write_bytes(b"12345")

    assert b"12345" == read_document(str(file), {}, Limits(size=5)).body
    with pytest.raises(SourceError, match=r"^expected at most 4 bytes$"):
        read_document(str(file), {}, Limits(size=4))


def test_which_sources_are_addresses() -> None:
    """Http and https in either case; of other kinds none is fetched, least of all a file."""
    assert is_address("http://radio.example/feed")
    assert is_address("HTTPS://radio.example/feed")
    assert not is_address("feed.xml")
    assert not is_address("folder/http.xml")
    for address in ("file:///etc/passwd", "ftp://radio.example/feed", "://", "data://text"):
        with pytest.raises(SourceError, match=r"^expected a file or an http or https address$"):
            is_address(address)


def test_an_address(server: WebServer) -> None:
    """The body comes with the headers that name its version, and we say who asks."""
    server.routes["/feed"] = lambda request: answer(
        request, body=b"<rss/>", ETag='"one"', Last_Modified="yesterday", X_Other="no"
    )

    document = read_document(f"{server.address}/feed", {})

    assert Document(b"<rss/>", {"ETag": '"one"', "Last-Modified": "yesterday"}) == document
    (headers,) = server.requests
    assert "pytorch-internals-katas" == headers["User-Agent"]
    assert "If-None-Match" not in headers
    assert "If-Modified-Since" not in headers


def test_what_is_known_is_not_sent_again(server: WebServer) -> None:
    """Both headers go back to where they came from, and 304 means nothing new."""
    server.routes["/feed"] = lambda request: answer(request, 304)
    known = {"ETag": '"one"', "Last-Modified": "yesterday"}

    assert Document(None, known) == read_document(f"{server.address}/feed", known)
    (headers,) = server.requests
    assert '"one"' == headers["If-None-Match"]
    assert "yesterday" == headers["If-Modified-Since"]


def test_headers_that_cannot_be_sent_back(server: WebServer) -> None:
    """Neither theirs are kept, nor are damaged ones of ours sent."""
    server.routes["/feed"] = lambda request: answer(
        request, body=b"<rss/>", ETag="\xe9\x1b[31m", Last_Modified=""
    )
    known = {"ETag": "a\r\nX-Injected: 1", "Last-Modified": "\xe9", "Host": "evil.example"}

    assert {} == read_document(f"{server.address}/feed", known).validators
    (headers,) = server.requests
    assert {"Accept-Encoding", "Host", "User-Agent", "Connection"} == set(headers)
    assert "evil.example" != headers["Host"]


def test_a_redirection(server: WebServer) -> None:
    """It is followed to another http address."""
    server.routes["/old"] = lambda request: answer(request, 301, Location="/new")
    server.routes["/new"] = lambda request: answer(request, body=b"<rss/>")

    assert b"<rss/>" == read_document(f"{server.address}/old", {}).body


@pytest.mark.parametrize(
    "place", ["file:///etc/hostname", "ftp://127.0.0.1/feed", "data:text/xml,<rss/>", "/loop"]
)
def test_a_redirection_elsewhere(server: WebServer, place: str) -> None:
    """To a file, to another kind of address or in a circle it is refused."""
    server.routes["/loop"] = lambda request: answer(request, 302, Location=place)

    with pytest.raises(SourceError, match=r"not allowed|unknown url type|infinite loop"):
        read_document(f"{server.address}/loop", {})


@pytest.mark.parametrize("code", [404, 500])
def test_an_error_of_the_server(server: WebServer, code: int) -> None:
    """Its code is in the message; its body is not."""
    server.routes["/feed"] = lambda request: answer(request, code, b"<rss>not this</rss>")

    with pytest.raises(SourceError, match=rf"^HTTP Error {code}: "):
        read_document(f"{server.address}/feed", {})


def test_what_a_server_says_is_printable(server: WebServer) -> None:
    """A message of theirs does not reach the terminal as it is."""

    def hostile(request: BaseHTTPRequestHandler) -> None:
        request.wfile.write(b"HTTP/1.0 500 \x1b[31m" + b"x" * 10_000 + b"\r\n\r\n")

    server.routes["/feed"] = hostile
    with pytest.raises(SourceError, match=r"^HTTP Error 500: x+ \.\.\.$"):
        read_document(f"{server.address}/feed", {})


def test_no_server() -> None:
    """A port where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

    with pytest.raises(SourceError, match=r"Connection refused"):
        read_document(f"http://127.0.0.1:{port}/feed", {})


def test_no_http(server: WebServer) -> None:
    """Something else answers at the port."""

    def greet(request: BaseHTTPRequestHandler) -> None:
        request.wfile.write(b"220 mail.example ESMTP\r\n")

    server.routes["/feed"] = greet
    with pytest.raises(SourceError, match=r"^220 mail\.example ESMTP$"):
        read_document(f"{server.address}/feed", {})


def test_an_error_without_words(server: WebServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its name has to do."""

    def refuse(*_: object, **__: object) -> None:
        raise ConnectionAbortedError

    monkeypatch.setattr(socket, "create_connection", refuse)
    with pytest.raises(SourceError, match=r"^<urlopen error >$"):
        read_document(f"{server.address}/feed", {})
    monkeypatch.setattr("pathlib.Path.open", refuse)
    with pytest.raises(SourceError, match=r"^ConnectionAbortedError$"):
        read_document("feed.xml", {})


@pytest.mark.parametrize("address", ["http://[", "http://127.0.0.1/a b", "http://", "http://:x/"])
def test_a_damaged_address(address: str) -> None:
    """It is an error of the source, not of Python."""
    with pytest.raises(SourceError, match=r"\w"):
        read_document(address, {})


def test_silence(server: WebServer) -> None:
    """A server that takes the question and never answers is given up."""
    done = threading.Event()

    def wait(_: BaseHTTPRequestHandler) -> None:
        done.wait(60)

    server.routes["/feed"] = wait
    try:
        with pytest.raises(SourceError, match=r"timed out"):
            read_document(f"{server.address}/feed", {}, Limits(silence=0.1))
    finally:
        done.set()


def drip(request: BaseHTTPRequestHandler) -> None:
    """Answer a byte at a time, for as long as somebody listens."""
    request.send_response(200)
    request.end_headers()
    while True:
        request.wfile.write(b" ")


def test_a_drip(server: WebServer) -> None:
    """Signs of life do not prolong the time for all of it."""
    server.routes["/feed"] = drip

    with pytest.raises(SourceError, match=r"^expected it within 0\.1 seconds$"):
        read_document(f"{server.address}/feed", {}, Limits(total=0.1, size=1 << 40))


def test_a_flood(server: WebServer) -> None:
    """Reading ends at the limit, though the answer does not."""
    server.routes["/feed"] = drip

    with pytest.raises(SourceError, match=r"^expected at most 1000 bytes$"):
        read_document(f"{server.address}/feed", {}, Limits(size=1000))
