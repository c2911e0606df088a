"""Downloads a feed, or reads it from a file, within limits and only if it has changed.

The client is Python's own. The timeouts of urllib3 and httpx begin anew with each byte too, so
`deadline` would be ours all the same, and what they do beyond it takes a dozen lines here.

Which version of a feed ``episodes.toml`` was last made equal to is remembered below ``.katas``.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import json
import signal
import urllib.error
import urllib.parse
import urllib.request
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any
from typing import NoReturn

from plugins.tools.files import state_folder
from plugins.tools.text import cut_printable


if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Mapping


AGENT = "pytorch-internals-katas"
# By the response header that names a version: the request header that asks for a newer one
# (RFC 9110, section 13.1).
VALIDATORS = {"ETag": "If-None-Match", "Last-Modified": "If-Modified-Since"}
# No header asks for gzip, but some servers send nothing else. zlib reads its header with this bit.
GZIP = {"gzip", "x-gzip"}
GZIP_FORMAT = 16 + zlib.MAX_WBITS
# The memory: for each source its validators, and the digest of the file as it was then.
MEMORY = "feed.json"
DIGEST = "file"


class DownloadError(Exception):
    """The source cannot be reached, takes too long or is too large."""


@dataclass(frozen=True)
class Limits:
    """Seconds without a byte, seconds for the whole download, and bytes."""

    silence: float = 20
    total: float = 120
    size: int = 8 << 20


@dataclass(frozen=True)
class Document:
    """A downloaded document and the headers that name its version; no `body`: unchanged."""

    body: bytes | None
    validators: Mapping[str, str]


def is_address(source: str) -> bool:
    """Whether `source` is an http or https address, not a file.

    Raises
    ------
    DownloadError
        If it is an address of another kind.
    """
    scheme, separator, _ = source.partition("://")
    if separator and scheme.lower() not in {"http", "https"}:
        raise DownloadError("expected a file or an http or https address")
    return bool(separator)


def read_document(source: str, known: Mapping[str, str], limits: Limits | None = None) -> Document:
    """Read a file or an address, without a body if an address still has the version `known`.

    Raises
    ------
    DownloadError
        If it cannot be read within the limits.
    """
    limits = limits or Limits()
    try:
        with deadline(limits.total):
            if is_address(source):
                return _fetch(source, known, limits)
            with Path(source).open("rb") as file:
                body = file.read(limits.size + 1)
        _check_size(body, limits)
    # ValueError: an address that http.client or the operating system refuses to take.
    except (OSError, http.client.HTTPException, ValueError, zlib.error) as error:
        raise DownloadError(cut_printable(str(error)) or type(error).__name__) from None
    return Document(body, {})


@contextlib.contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Leave the block when the deadline of `seconds` passes, whatever it waits for.

    A timeout of a socket begins anew with each byte, and a FIFO has none.

    Raises
    ------
    DownloadError
        If the block did not end in time.
    """

    def expire(*_: object) -> NoReturn:
        raise DownloadError(f"expected it within {seconds:g} seconds")

    before = signal.signal(signal.SIGALRM, expire)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _fetch(address: str, known: Mapping[str, str], limits: Limits) -> Document:
    headers = {
        VALIDATORS[name]: value
        for name, value in known.items()
        if name in VALIDATORS and _is_safe_header(value)
    }
    request = urllib.request.Request(address, headers={"User-Agent": AGENT, **headers})  # noqa: S310
    try:
        answer = _make_opener().open(request, timeout=limits.silence)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == http.client.NOT_MODIFIED:
            return Document(None, known)
        raise
    with answer:
        body = answer.read(limits.size + 1)
        _check_size(body, limits)
        # What is left of its Content-Length; None if the answer names none.
        if answer.length:
            raise DownloadError(f"the answer ended {answer.length} bytes early")
    given = {name: answer.headers.get(name, "") for name in VALIDATORS}
    validators = {name: value for name, value in given.items() if _is_safe_header(value)}
    return Document(_decode(body, answer.headers, limits), validators)


def _decode(body: bytes, headers: Mapping[str, str], limits: Limits) -> bytes:
    """Undo the encoding that the server has chosen, up to the limit of bytes."""
    encoding = headers.get("Content-Encoding", "").strip().lower()
    if encoding in {"", "identity"}:
        return body
    if encoding not in GZIP:
        raise DownloadError(f"expected no encoding but gzip, found {cut_printable(encoding)!r}")
    unzip = zlib.decompressobj(GZIP_FORMAT)
    found = unzip.decompress(body, limits.size + 1)
    _check_size(found, limits)
    if not unzip.eof or unzip.unused_data:
        raise DownloadError("expected one whole gzip file")
    return found


def _is_safe_header(value: str) -> bool:
    """Whether a header value of the server's can be stored and sent back."""
    return bool(value) and value.isascii() and value.isprintable()


def _make_opener() -> urllib.request.OpenerDirector:
    # Not urllib's default opener: it follows redirections to ftp, and opens file addresses.
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler,
        urllib.request.HTTPHandler,
        urllib.request.HTTPSHandler,
        urllib.request.HTTPRedirectHandler,
        urllib.request.HTTPErrorProcessor,
        urllib.request.HTTPDefaultErrorHandler,
        urllib.request.UnknownHandler,
    ):
        opener.add_handler(handler())
    return opener


def _check_size(body: bytes, limits: Limits) -> None:
    if len(body) > limits.size:
        raise DownloadError(f"expected at most {limits.size} bytes")


def recall_version(source: str, file: Path) -> dict[str, str]:
    """Return the headers that name the version of `source` which `file` is equal to."""
    entry = _read_memory(file).get(source)
    # A file edited or restored since then needs the whole feed again.
    if not isinstance(entry, dict) or entry.pop(DIGEST, None) != _hash_file(file):
        return {}
    return {name: value for name, value in entry.items() if isinstance(value, str)}


def remember_version(source: str, file: Path, validators: Mapping[str, str]) -> None:
    """Store the headers of the version that `file` is now equal to, if the disk allows it."""
    memory = state_folder(file.parent) / MEMORY
    state = {**_read_memory(file), source: {DIGEST: _hash_file(file), **validators}}
    with contextlib.suppress(OSError):
        memory.parent.mkdir(exist_ok=True)
        memory.write_text(json.dumps(state, indent=2), encoding="utf-8")


def _read_memory(file: Path) -> dict[str, Any]:
    """Return the memory of all sources; empty if it is damaged."""
    try:
        memory = json.loads((state_folder(file.parent) / MEMORY).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return memory if isinstance(memory, dict) else {}


def _hash_file(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.exists() else ""
