"""Tests of k03_file: files that the tests write, and one that ExecuTorch wrote."""

from __future__ import annotations

import importlib
import struct
from typing import Any

import pytest

from katas.lecture15.k03_file import sections


# Stand-ins for a program, after its header, and for weights.
CODE, WEIGHTS = struct.pack("<Q", 256) + b"a program of some length", bytes(range(256)) * 3


def written(
    *,
    length: int = 32,
    kind: bytes = b"ET12",
    magic: bytes = b"eh00",
    gap: int = 40,
    weights: bytes = WEIGHTS,
    after: bytes = b"signature",
) -> bytes:
    """Return a file: header, program, padding, weights, and something after them."""
    start = 8 + length + len(CODE)
    fields = struct.pack("<IQQ", length, start, start + gap if weights else 0)
    fields += struct.pack("<Q", len(weights)) if length >= 32 else b""
    # A header that is longer than today's.
    fields += bytes(length - 4 - len(fields))
    head = struct.pack("<I", 48) + kind + magic + fields
    return head + CODE + (bytes(gap) + weights + after if weights else b"")


def compare(data: bytes, program: bytes, segments: bytes, why: str) -> None:
    """Compare what you found, by lengths and by bytes."""
    yours = sections(data)

    assert program == yours.program, (
        f"program: yours has {len(yours.program)} bytes, expected {len(program)}. {why}"
    )
    assert segments == yours.segments, (
        f"segments: yours has {len(yours.segments)} bytes, expected {len(segments)}. {why}; read"
        " their size at byte 32 if the header has 32 bytes or more"
    )


def test_a_file_with_weights() -> None:
    """The program is as long as the header says, from byte 0; weights begin after padding."""
    data = written()
    program = data[: 8 + 32 + len(CODE)]

    compare(data, program, WEIGHTS, "offsets count from the beginning of the file")
    yours = sections(data).kind
    assert "ET12" == yours, f"kind: yours {yours!r}, expected 'ET12', a str"
    later = sections(written(kind=b"ET13")).kind
    assert "ET13" == later, f"kind: yours {later!r}, expected 'ET13': only the ET is fixed"


def test_what_is_behind_the_weights_is_none() -> None:
    """The header gives the size of the weights, so bytes after them are not weights."""
    compare(
        written(after=bytes(999)), written()[: 40 + len(CODE)], WEIGHTS, "bytes 32 to 39: the size"
    )


def test_an_older_header_has_no_size() -> None:
    """A shorter header has no size, so the segments end with the file."""
    for length in (24, 31):
        data, program = written(length=length, after=b""), 8 + length + len(CODE)
        why = f"a header of {length} bytes, as the length at 12 says, has no size in full"

        compare(data, data[:program], WEIGHTS, why)


def test_a_newer_header_is_longer() -> None:
    """In a longer header, unknown fields come after the known ones."""
    data = written(length=40)

    compare(data, data[: 48 + len(CODE)], WEIGHTS, "a header of 40 bytes has a size, too")


def test_a_program_without_weights() -> None:
    """A program without weights has segment offset 0, with or without a size."""
    for length in (24, 32):
        data = written(length=length, weights=b"")

        compare(data, data, b"", f"a header of {length} bytes, offset 0: there are no segments")


def test_a_file_without_a_header() -> None:
    """Without a header the whole file is program, and byte 12 begins no header field."""
    for magic in (b"\x10\0\0\0", b"eh\0\0"):
        data = written(magic=magic, after=b"and eh00 later")

        compare(data, data, b"", "bytes 8 to 11 are not eh00")


@pytest.mark.parametrize("data", [b"", b"PK\3\4a zip of torch.save", written(kind=b"PT01")])
def test_what_is_no_file_of_executorch(data: bytes) -> None:
    """A file that is something else, or empty, raises ValueError."""
    with pytest.raises(ValueError, match=r"."):
        sections(data)


@pytest.mark.backend("executorch")
def test_a_file_that_executorch_has_written() -> None:
    """The weights in a file from ExecuTorch are in its segments, byte by byte."""
    import torch  # noqa: PLC0415 - the other tests need none

    exir: Any = importlib.import_module("executorch.exir")

    layer = torch.nn.Linear(64, 64)
    program = exir.to_edge(torch.export.export(layer, (torch.randn(2, 64),)))
    config = exir.ExecutorchBackendConfig(external_constants=False)
    data = program.to_executorch(config).buffer
    yours = sections(data)
    weight = layer.weight.detach().numpy().tobytes()

    assert weight in yours.segments, (
        f"the weights, {len(weight)} bytes, are not in your segments: {len(yours.segments)} bytes"
        f" of a file of {len(data)}"
    )
    assert weight not in yours.program, "yours has the weights in the program"
