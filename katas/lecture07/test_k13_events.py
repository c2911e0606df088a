"""Tests of k13_events: given code writes the files, and so does TensorBoard if it is installed."""

from __future__ import annotations

import math
from collections import defaultdict
from importlib.util import find_spec
from itertools import accumulate
from struct import pack
from struct import unpack
from typing import TYPE_CHECKING

import pytest
from hypothesis import example
from hypothesis import given
from hypothesis import strategies as st

from katas.lecture07 import k13_events as kata
from katas.lecture07.k13_events import fields
from katas.lecture07.k13_events import masked_crc
from katas.lecture07.k13_events import records
from katas.lecture07.k13_events import scalars
from katas.lecture07.k13_events import varint
from plugins.kit import forbids
from plugins.kit import install_group


if TYPE_CHECKING:
    from pathlib import Path

    Curves = dict[str, list[tuple[int, float]]]

VARINT, EIGHT, LENGTH, FOUR = 0, 1, 2, 5
# Its numbers are not exact in float32, one step is omitted, and one takes two bytes.
POINTS = [("loss/train", 0, 0.7), ("loss/train", 1, 0.1), ("lr", 1, 1e-3), ("loss/train", 300, 0.0)]
# To be skipped: an empty summary, a histogram's value, a text with its metadata.
OTHERS = (b"", b"\x0a\x05\x0a\x01h\x2a\x00", b"\x0a\x0a\x0a\x01t\x4a\x02\x0a\x00\x42\x01\x08")


def number(value: int) -> bytes:
    """Return a varint."""
    low, rest = value & 127, value >> 7
    return bytes([low | 128]) + number(rest) if rest else bytes([low])


def field(place: int, kind: int, value: int | bytes) -> bytes:
    """Return a field of a message."""
    key = number(place << 3 | kind)
    if isinstance(value, int):
        return key + number(value)
    return key + (number(len(value)) if kind == LENGTH else b"") + value


def record(message: bytes) -> bytes:
    """Return a record of a file."""
    length = pack("<Q", len(message))
    return b"".join(part + pack("<I", masked_crc(part)) for part in (length, message))


def value(tag: str, number: float) -> bytes:
    """Return field 1 of a Summary: a scalar."""
    return field(1, LENGTH, field(1, LENGTH, tag.encode()) + field(2, FOUR, pack("<f", number)))


def event(summary: bytes | None, step: int, *more: bytes) -> bytes:
    """Return an Event as SummaryWriter writes it: a step of 0 is omitted."""
    parts = [field(1, EIGHT, pack("<d", 1.5e9)), field(2, VARINT, step) if step else b"", *more]
    return b"".join(parts) + (b"" if summary is None else field(5, LENGTH, summary))


def written(points: list[tuple[str, int, float]]) -> bytes:
    """Return a file with these points, beginning with the version and the name of its writer."""
    version = field(3, LENGTH, b"brain.Event:2"), field(10, LENGTH, field(1, LENGTH, b"writer"))
    events = [event(None, 0, *version), *(event(value(t, x), step) for t, step, x in points)]
    return b"".join(map(record, events))


def as_float32(points: list[tuple[str, int, float]]) -> Curves:
    """Return the points, with their numbers rounded to 32 bits."""
    found: Curves = defaultdict(list)
    for tag, step, x in points:
        found[tag].append((step, unpack("<f", pack("<f", x))[0]))
    return dict(found)


def compare(data: bytes, expected: Curves) -> None:
    """Compare the points in the bytes of a file; NaN equals NaN."""
    __tracebackhide__ = True
    yours = scalars(data)
    assert repr(expected) == repr(yours), f"{data!r}\nyours     {yours}\nexpected  {expected}"


def test_one_record() -> None:
    """A record has a message of three bytes."""
    yours = list(records(record(b"abc")))
    assert [b"abc"] == yours, f"yours {yours}, expected [b'abc']: 12 bytes, then the message"


@example([b"ab" * 200, b"", b"abc"])
@given(st.lists(st.binary(max_size=9), max_size=3))
def test_a_file_that_grows(messages: list[bytes]) -> None:
    """Messages may be empty or long; a truncated file gives the complete ones."""
    parts = [record(message) for message in messages]
    data = b"".join(parts)
    ends = list(accumulate(map(len, parts)))
    for end in sorted({*range(40), *ends, len(data) - 1, len(data) - 4, len(data) - 5}):
        expected = messages[: sum(each <= end for each in ends)]
        yours = list(records(data[: max(0, end)]))
        assert expected == yours, (
            f"the first {end} bytes of {data!r}\nyours     {yours}\nexpected  {expected}"
        )


@pytest.mark.parametrize("place", range(19))
def test_a_byte_that_has_changed(place: int) -> None:
    """A changed byte in a length, message or CRC raises, after the records before it."""
    broken = bytearray(record(b"abc"))
    broken[place] ^= 64
    for rest in (record(b"more"), b""):
        found, says = [], ""
        try:
            for each in records(record(b"fine") + bytes(broken) + rest):
                found.append(each)  # noqa: PERF402 - it raises, and what came before counts
        except ValueError as error:
            says = str(error)
        where = "in the middle" if rest else "at the end"
        assert "are not those that were written" in says, (
            f"byte {place} of a record {where} is wrong, but your code raises no error: {found}; an"
            " incomplete record would be shorter"
        )
        assert found in ([b"fine"], []), (
            f"byte {place} of a record is wrong: yours {found}, expected one record or none"
        )


def test_an_empty_message_is_checked() -> None:
    """An empty message has a CRC like any other."""
    broken = bytearray(record(b""))
    broken[-1] ^= 1
    with pytest.raises(ValueError, match="are not those that were written"):
        print(list(records(bytes(broken) + record(b"more"))))  # noqa: T201 - shown if it does not


def test_fields_of_each_kind() -> None:
    """Fields of each kind, as in the brief, are split."""
    data = bytes.fromhex("0801 0d0000803f 12026162 09 0000000000000840")
    yours = list(fields(data))
    expected = [(1, 1), (1, b"\0\0\x80?"), (2, b"ab"), (1, b"\0\0\0\0\0\0\x08@")]
    assert expected == yours, f"{data.hex(' ')}\nyours     {yours}\nexpected  {expected}"


drawn = st.one_of(
    st.tuples(st.just(VARINT), st.integers(0, 2**64 - 1)),
    st.tuples(st.just(LENGTH), st.binary(max_size=200)),
    st.tuples(st.just(FOUR), st.binary(min_size=4, max_size=4)),
    st.tuples(st.just(EIGHT), st.binary(min_size=8, max_size=8)),
)


@example([(16, (VARINT, 300)), (16, (LENGTH, b"x" * 130)), (1, (LENGTH, b""))])
@given(st.lists(st.tuples(st.integers(1, 5000), drawn), max_size=5))
def test_any_fields(message: list[tuple[int, tuple[int, int | bytes]]]) -> None:
    """Keys and lengths may take several bytes, and a number may occur several times."""
    data = b"".join(field(place, kind, each) for place, (kind, each) in message)
    yours, expected = list(fields(data)), [(place, each) for place, (_, each) in message]
    assert expected == yours, f"{data.hex(' ')}\nyours     {yours}\nexpected  {expected}"


def test_two_points() -> None:
    """A number comes back as float32, not as the float64 that was written."""
    compare(record(event(value("a", 0.1), 5)) * 2, {"a": [(5, 0.10000000149011612)] * 2})


def test_step_0_is_not_written() -> None:
    """A missing step is 0, not the step before."""
    compare(written([("a", 7, 1.0), ("a", 0, 0.0)]), {"a": [(7, 1.0), (0, 0.0)]})


def test_no_points() -> None:
    """The version is an event too; an empty file has no curves."""
    compare(written([]), {})
    compare(b"", {})


def test_other_values() -> None:
    """Histograms and texts have a tag but no float32."""
    data = b"".join(record(event(summary, 3)) for summary in OTHERS)
    compare(data + written([("a", 1, 2.0)]), {"a": [(1, 2.0)]})


def test_several_values_and_any_order() -> None:
    """A summary may have several values; number and tag, summary and step come in any order."""
    swapped = field(1, LENGTH, field(2, FOUR, pack("<f", 4.0)) + field(1, LENGTH, "β/猫".encode()))
    data = field(5, LENGTH, value("a", 3.0) + swapped + value("a", 5.0)) + field(2, VARINT, 9)
    compare(record(data), {"a": [(9, 3.0), (9, 5.0)], "β/猫": [(9, 4.0)]})


@given(
    st.lists(
        st.tuples(st.sampled_from(["a", "b/c", ""]), st.integers(0, 2**40), st.floats(width=32)),
        max_size=6,
    )
)
def test_any_curves(points: list[tuple[str, int, float]]) -> None:
    """Numbers may be NaN, infinite or -0, and keep the order of the file, not of the steps."""
    compare(written(points), as_float32(points))


def by_summary_writer(folder: Path) -> Path:
    """Return the file that PyTorch's SummaryWriter makes of `POINTS` and other values."""
    from torch.utils.tensorboard import SummaryWriter  # noqa: PLC0415 - may be missing

    with SummaryWriter(str(folder)) as writer:
        for tag, step, x in POINTS:
            writer.add_scalar(tag, x, step, walltime=1.5e9)
        writer.add_scalar("new", 3.0, 1, new_style=True)
        writer.add_text("text", "some words")
    (file,) = folder.glob("events.out.tfevents.*")
    return file


def by_accumulator(file: Path) -> Curves:
    """Return the points that TensorBoard finds in a file."""
    from tensorboard.backend.event_processing import event_accumulator as module  # noqa: PLC0415

    events = module.EventAccumulator(str(file))
    events.Reload()
    tags = events.Tags()["scalars"]
    return {tag: [(each.step, each.value) for each in events.Scalars(tag)] for tag in tags}


def test_a_file_of_a_training(tmp_path: Path) -> None:
    """The file is like SummaryWriter's, or SummaryWriter's own if TensorBoard is installed."""
    file = tmp_path / "events.out.tfevents.1500000000.host.1.0"
    file.write_bytes(written(POINTS))
    compare(file.read_bytes(), as_float32(POINTS))
    if find_spec("tensorboard"):
        real = by_summary_writer(tmp_path / "real")
        compare(real.read_bytes(), by_accumulator(real))


def test_nobody_else_reads() -> None:
    """Your answer uses only the standard library, since TensorBoard may be missing."""
    with forbids(kata) as fresh:
        yours = fresh.scalars(written(POINTS))
    assert 2 == len(yours), f"yours has curves for {[*yours]}, expected loss/train and lr"


@pytest.mark.given
def test_the_given_functions() -> None:
    """A varint may take two bytes; the CRC-32C of 32 zeros is in RFC 3720, and is masked here."""
    assert (300, 3) == varint(b"\xff\xac\x02", 1), "the given varint was changed"
    crc = 0x8A9136AA
    right = ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
    assert right == masked_crc(bytes(32)), "the given masked_crc was changed"


@pytest.mark.given
@pytest.mark.skipif(
    not find_spec("tensorboard"),
    reason=f"TensorBoard is not installed; {install_group('tensorboard')}",
)
def test_tensorboard_reads_and_writes_the_same(tmp_path: Path) -> None:
    """SummaryWriter writes the tests' events, and TensorBoard's reader finds the same numbers."""
    file = tmp_path / "events.out.tfevents.1500000000.host.1.0"
    file.write_bytes(written([*POINTS, ("inf", 2, math.inf)]))
    expected = as_float32([*POINTS, ("inf", 2, math.inf)])
    assert expected == by_accumulator(file), "TensorBoard finds different points in the tests' file"
    real = by_summary_writer(tmp_path / "real").read_bytes()
    for tag, step, x in POINTS:
        assert record(event(value(tag, x), step)) in real, (
            f"SummaryWriter writes a different record for {tag} at {step}"
        )
