"""Gets a document from a file or an http address, within limits, and only if it is new."""

from __future__ import annotations

import http.client
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from plugins.plaintext import shortened


if TYPE_CHECKING:
    from collections.abc import Mapping


AGENT = "pytorch-internals-katas"
PIECE = 1 << 16
# The answer header that names a version, and the question header that says "newer than this".
VALIDATORS = {"ETag": "If-None-Match", "Last-Modified": "If-Modified-Since"}


class SourceError(Exception):
    """The source cannot be reached, takes too long or is too large."""


@dataclass(frozen=True)
class Limits:
    """Seconds to wait for a sign of life, seconds for all of it, and bytes."""

    silence: float = 20
    total: float = 120
    size: int = 8 << 20


@dataclass(frozen=True)
class Document:
    """What came, and by which headers to ask next time; no `body` means nothing new."""

    body: bytes | None
    validators: Mapping[str, str]


def is_address(source: str) -> bool:
    """Whether `source` is an http address, and not a file.

    Raises
    ------
    SourceError
        If it is an address of another kind.
    """
    scheme, separator, _ = source.partition("://")
    if separator and scheme.lower() not in {"http", "https"}:
        raise SourceError("expected a file or an http or https address")
    return bool(separator)


def read_document(source: str, known: Mapping[str, str], limits: Limits | None = None) -> Document:
    """Return what stands in the file or at the address, unless it is what `known` validates.

    Raises
    ------
    SourceError
        If it cannot be had within the limits.
    """
    limits = limits or Limits()
    try:
        if is_address(source):
            return _fetched(source, known, limits)
        with Path(source).open("rb") as file:
            return Document(_within(file.read(limits.size + 1), limits), {})
    # ValueError: an address that http.client or the operating system refuses to take.
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise SourceError(shortened(str(error)) or type(error).__name__) from None


def _fetched(address: str, known: Mapping[str, str], limits: Limits) -> Document:
    headers = {
        VALIDATORS[name]: value
        for name, value in known.items()
        if name in VALIDATORS and _usable(value)
    }
    request = urllib.request.Request(address, headers={"User-Agent": AGENT, **headers})  # noqa: S310
    deadline = time.monotonic() + limits.total
    try:
        answer = _opener().open(request, timeout=limits.silence)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == http.client.NOT_MODIFIED:
            return Document(None, known)
        raise
    with answer:
        body = bytearray()
        while piece := answer.read1(PIECE):
            body += piece
            _within(body, limits)
            if time.monotonic() > deadline:
                raise SourceError(f"expected it within {limits.total:g} seconds")
    given = {name: answer.headers.get(name, "") for name in VALIDATORS}
    return Document(bytes(body), {name: value for name, value in given.items() if _usable(value)})


def _usable(value: str) -> bool:
    """Whether a header of theirs can be sent back."""
    return bool(value) and value.isascii() and value.isprintable()


def _opener() -> urllib.request.OpenerDirector:
    # urllib's default opener also reads files and ftp, to which a redirection could lead.
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


def _within(body: bytes | bytearray, limits: Limits) -> bytes:
    if len(body) > limits.size:
        raise SourceError(f"expected at most {limits.size} bytes")
    return bytes(body)
