"""Open a file for ExecuTorch with ``struct``."""

from __future__ import annotations

import struct
from typing import NamedTuple


class Sections(NamedTuple):
    """The kind of a file, its program, and its segments: the weights."""

    kind: str
    program: bytes
    segments: bytes


def sections(data: bytes) -> Sections:
    """Take a file apart; raise ValueError if bytes 4 and 5 are not ``ET``.

    A file without ``eh00`` is all program. A header of fewer than 32 bytes gives no size for the
    segments: they extend to the end. An offset of 0 means that there are no segments.
    """
    if data[4:6] != b"ET":
        raise ValueError(f"no ExecuTorch file: bytes 4 and 5 are {data[4:6]!r}")
    kind = data[4:8].decode()
    if data[8:12] != b"eh00":
        return Sections(kind, data, b"")
    length, program, start = struct.unpack_from("<IQQ", data, 12)
    size = struct.unpack_from("<Q", data, 32)[0] if length >= 32 else len(data)
    return Sections(kind, data[:program], data[start : start + size] if start else b"")
