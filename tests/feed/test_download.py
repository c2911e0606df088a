"""Feeds are read from files and http addresses, within limits, and versions remembered."""

from __future__ import annotations

import gzip
import os
import signal
import socket
import threading
import time
from typing import TYPE_CHECKING

import pytest

from plugins.feed.download import Document
from plugins.feed.download import DownloadError
from plugins.feed.download import Limits
from plugins.feed.download import is_address
from plugins.feed.download import read_document
from plugins.feed.download import recall_version
from plugins.feed.download import remember_version
from tests.support.webserver import WebServer
from tests.support.webserver import answer
from tests.support.webserver import web_server


if TYPE_CHECKING:
    from collections.abc import Iterator
    from http.server import BaseHTTPRequestHandler
    from pathlib import Path


FEED = "https://radio.example/feed"
VERSION = {"ETag": '"one"', "Last-Modified": "yesterday"}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[WebServer]:
    """Yield a web server, past any proxy."""
    monkeypatch.setenv("no_proxy", "*")
    with web_server() as server:
        yield server


def test_a_file(tmp_path: Path) -> None:
    """Its bytes are returned unchanged."""
    file = tmp_path / "feed.xml"
    file.write_bytes(b"\xff\x00 whatever")

    assert Document(b"\xff\x00 whatever", {}) == read_document(str(file), {"ETag": "1"})


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    """It is missing, a folder, or has a name that no file can have."""
    for source in (tmp_path / "none.xml", tmp_path, "a\0b"):
        with pytest.raises(DownloadError, match=r"No such file|Is a directory|null byte"):
            read_document(str(source), {})


def test_a_file_that_is_too_large(tmp_path: Path) -> None:
    """The limit is inclusive."""
    file = tmp_path / "feed.xml"
    file.write_bytes(b"12345")

    assert b"12345" == read_document(str(file), {}, Limits(size=5)).body
    with pytest.raises(DownloadError, match=r"^expected at most 4 bytes$"):
        read_document(str(file), {}, Limits(size=4))


def test_which_sources_are_addresses() -> None:
    """Http and https in either case; addresses of other kinds are refused."""
    assert is_address("http://radio.example/feed")
    assert is_address("HTTPS://radio.example/feed")
    assert not is_address("feed.xml")
    assert not is_address("folder/http.xml")
    for address in ("file:///etc/passwd", "ftp://radio.example/feed", "://", "data://text"):
        with pytest.raises(DownloadError, match=r"^expected a file or an http or https address$"):
            is_address(address)


def test_an_address(server: WebServer) -> None:
    """The body comes with the headers that name its version; ours name the course."""
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
    """Both validators are sent, and status 304 means that nothing is new."""
    server.routes["/feed"] = lambda request: answer(request, 304)
    known = {"ETag": '"one"', "Last-Modified": "yesterday"}

    assert Document(None, known) == read_document(f"{server.address}/feed", known)
    (headers,) = server.requests
    assert '"one"' == headers["If-None-Match"]
    assert "yesterday" == headers["If-Modified-Since"]


def test_headers_that_cannot_be_sent_back(server: WebServer) -> None:
    """The server's are not kept, and damaged ones from the memory are not sent."""
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
    """To a file, to another kind of address or in a circle, it is refused."""
    server.routes["/loop"] = lambda request: answer(request, 302, Location=place)

    with pytest.raises(DownloadError, match=r"not allowed|unknown url type|infinite loop"):
        read_document(f"{server.address}/loop", {})


@pytest.mark.parametrize("code", [404, 500])
def test_an_error_of_the_server(server: WebServer, code: int) -> None:
    """Its code is in the message; its body is not."""
    server.routes["/feed"] = lambda request: answer(request, code, b"<rss>not this</rss>")

    with pytest.raises(DownloadError, match=rf"^HTTP Error {code}: "):
        read_document(f"{server.address}/feed", {})


def test_what_a_server_says_is_printable(server: WebServer) -> None:
    """Escape sequences in its status line do not reach the terminal."""

    def hostile(request: BaseHTTPRequestHandler) -> None:
        request.wfile.write(b"HTTP/1.0 500 \x1b[31m" + b"x" * 10_000 + b"\r\n\r\n")

    server.routes["/feed"] = hostile
    with pytest.raises(DownloadError, match=r"^HTTP Error 500: x+ \.\.\.$"):
        read_document(f"{server.address}/feed", {})


def test_no_server() -> None:
    """Nothing listens at the port."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

    with pytest.raises(DownloadError, match=r"Connection refused"):
        read_document(f"http://127.0.0.1:{port}/feed", {})


def test_no_http(server: WebServer) -> None:
    """The server speaks another protocol."""

    def greet(request: BaseHTTPRequestHandler) -> None:
        request.wfile.write(b"220 mail.example ESMTP\r\n")

    server.routes["/feed"] = greet
    with pytest.raises(DownloadError, match=r"^220 mail\.example ESMTP$"):
        read_document(f"{server.address}/feed", {})


def test_an_error_without_words(server: WebServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message is the exception's name."""

    def refuse(*_: object, **__: object) -> None:
        raise ConnectionAbortedError

    monkeypatch.setattr(socket, "create_connection", refuse)
    with pytest.raises(DownloadError, match=r"^<urlopen error >$"):
        read_document(f"{server.address}/feed", {})
    monkeypatch.setattr("pathlib.Path.open", refuse)
    with pytest.raises(DownloadError, match=r"^ConnectionAbortedError$"):
        read_document("feed.xml", {})


@pytest.mark.parametrize("address", ["http://[", "http://127.0.0.1/a b", "http://", "http://:x/"])
def test_a_damaged_address(address: str) -> None:
    """It is a DownloadError with a message."""
    with pytest.raises(DownloadError, match=r"\w"):
        read_document(address, {})


def test_silence(server: WebServer) -> None:
    """A server that accepts a request and never answers is given up."""
    done = threading.Event()

    def wait(_: BaseHTTPRequestHandler) -> None:
        done.wait(60)

    server.routes["/feed"] = wait
    try:
        with pytest.raises(DownloadError, match=r"timed out"):
            read_document(f"{server.address}/feed", {}, Limits(silence=0.1))
    finally:
        done.set()


def drip(request: BaseHTTPRequestHandler) -> None:
    """Answer a byte at a time, until the client hangs up."""
    request.send_response(200)
    request.end_headers()
    while True:
        request.wfile.write(b" ")


def test_a_drip(server: WebServer) -> None:
    """Bytes that trickle in do not extend the total time."""
    server.routes["/feed"] = drip

    with pytest.raises(DownloadError, match=r"^expected it within 0\.1 seconds$"):
        read_document(f"{server.address}/feed", {}, Limits(total=0.1))


def drip_headers(request: BaseHTTPRequestHandler) -> None:
    """Answer with headers that never end, a byte at a time."""
    request.wfile.write(b"HTTP/1.0 200 OK\r\nX-Drip: ")
    while True:
        request.wfile.write(b"x")
        time.sleep(0.01)


def test_a_drip_of_headers(server: WebServer) -> None:
    """The total time counts from the beginning, not from the body on."""
    server.routes["/feed"] = drip_headers

    with pytest.raises(DownloadError, match=r"^expected it within 0\.1 seconds$"):
        read_document(f"{server.address}/feed", {}, Limits(total=0.1))


@pytest.mark.parametrize("opened", [False, True])
def test_a_pipe(tmp_path: Path, *, opened: bool) -> None:
    """A FIFO that nobody writes to, or not to its end, is given up too."""
    pipe = tmp_path / "feed.xml"
    os.mkfifo(pipe)
    writer = os.open(pipe, os.O_RDWR) if opened else None
    try:
        with pytest.raises(DownloadError, match=r"^expected it within 0\.1 seconds$"):
            read_document(str(pipe), {}, Limits(total=0.1))
    finally:
        if writer:
            os.close(writer)


def test_the_deadline_ends_with_the_download(tmp_path: Path) -> None:
    """What comes after it has all the time."""
    file = tmp_path / "feed.xml"
    file.write_bytes(b"<rss/>")
    before = signal.getsignal(signal.SIGALRM)
    read_document(str(file), {})

    assert (0, 0) == signal.getitimer(signal.ITIMER_REAL)
    assert before == signal.getsignal(signal.SIGALRM)


@pytest.mark.parametrize("name", ["gzip", "GZip", "x-gzip"])
def test_a_compressed_answer(server: WebServer, name: str) -> None:
    """Some servers send one that nobody has asked for."""
    server.routes["/feed"] = lambda request: answer(
        request, body=gzip.compress(b"<rss/>"), Content_Encoding=name
    )

    assert b"<rss/>" == read_document(f"{server.address}/feed", {}).body
    assert "identity" == server.requests[0]["Accept-Encoding"]


@pytest.mark.parametrize(
    ("encoding", "body", "message"),
    [
        ("gzip", gzip.compress(b"<rss/>")[:-1], "expected one whole gzip file"),
        ("gzip", gzip.compress(b"<rss/>") * 2, "expected one whole gzip file"),
        ("gzip", b"<rss/>", "Error -3 while decompressing data: incorrect header check"),
        ("gzip", gzip.compress(b" " * 2000), "expected at most 1000 bytes"),
        ("br", b"<rss/>", "expected no encoding but gzip, found 'br'"),
        ("gzip, gzip", b"<rss/>", "expected no encoding but gzip, found 'gzip, gzip'"),
    ],
    ids=["cut", "two", "damaged", "bomb", "other", "twice"],
)
def test_a_compressed_answer_is_not_trusted(
    server: WebServer, encoding: str, body: bytes, message: str
) -> None:
    """It may be damaged, of a kind that Python cannot read, or small only until it is unpacked."""
    server.routes["/feed"] = lambda request: answer(request, body=body, Content_Encoding=encoding)

    with pytest.raises(DownloadError) as caught:
        read_document(f"{server.address}/feed", {}, Limits(size=1000))
    assert message == str(caught.value)


@pytest.mark.parametrize("length", [7, 1 << 20])
def test_an_answer_that_ends_early(server: WebServer, length: int) -> None:
    """It is shorter than the server has announced; a feed may be well-formed all the same."""
    server.routes["/feed"] = lambda request: answer(
        request, body=b"<rss/>", Content_Length=str(length)
    )

    with pytest.raises(DownloadError, match=rf"^the answer ended {length - 6} bytes early$"):
        read_document(f"{server.address}/feed", {})


def test_an_answer_in_pieces_that_ends_early(server: WebServer) -> None:
    """Its last piece, which is empty, is missing."""

    def break_off(request: BaseHTTPRequestHandler) -> None:
        request.protocol_version = "HTTP/1.1"
        answer(request, body=b"6\r\n<rss/>\r\n", Transfer_Encoding="chunked")

    server.routes["/feed"] = break_off
    with pytest.raises(DownloadError, match=r"^IncompleteRead"):
        read_document(f"{server.address}/feed", {})


def test_a_flood(server: WebServer) -> None:
    """Reading ends at the limit of bytes."""
    server.routes["/feed"] = drip

    with pytest.raises(DownloadError, match=r"^expected at most 1000 bytes$"):
        read_document(f"{server.address}/feed", {}, Limits(size=1000))


def test_a_version_is_remembered(tmp_path: Path) -> None:
    """For its source, beside those of other sources."""
    file = tmp_path / "episodes.toml"
    file.write_text("one")
    remember_version(FEED, file, VERSION)
    remember_version("https://other.example", file, {})

    assert VERSION == recall_version(FEED, file)
    assert {} == recall_version("https://other.example", file)
    assert {} == recall_version("https://unknown.example", file)


def test_an_edited_file_wants_the_feed_again(tmp_path: Path) -> None:
    """So does a missing one; restored, it has the remembered version again."""
    file = tmp_path / "episodes.toml"
    file.write_text("one")
    remember_version(FEED, file, VERSION)
    file.write_text("two")
    assert {} == recall_version(FEED, file)
    file.unlink()
    assert {} == recall_version(FEED, file)
    file.write_text("one")

    assert VERSION == recall_version(FEED, file)


@pytest.mark.parametrize(
    "damage", [b"", b"[]", b"\xff", b'{"https://radio.example/feed": 1}', b'{"https://radio.']
)
def test_a_damaged_memory_is_none(tmp_path: Path, damage: bytes) -> None:
    """The feed is read again, and its version remembered."""
    file = tmp_path / "episodes.toml"
    (tmp_path / ".katas").mkdir()
    (tmp_path / ".katas/feed.json").write_bytes(damage)
    assert {} == recall_version(FEED, file)
    remember_version(FEED, file, VERSION)

    assert VERSION == recall_version(FEED, file)


def test_a_value_of_another_kind_is_left_out(tmp_path: Path) -> None:
    """Validators are strings."""
    file = tmp_path / "episodes.toml"
    memory = tmp_path / ".katas/feed.json"
    remember_version(FEED, file, VERSION)
    memory.write_text(memory.read_text().replace('"yesterday"', "7"))

    assert {"ETag": '"one"'} == recall_version(FEED, file)


def test_a_memory_that_cannot_be_written(tmp_path: Path) -> None:
    """The version is forgotten without an error."""
    (tmp_path / ".katas").write_text("in the way")
    remember_version(FEED, tmp_path / "episodes.toml", VERSION)

    assert {} == recall_version(FEED, tmp_path / "episodes.toml")
