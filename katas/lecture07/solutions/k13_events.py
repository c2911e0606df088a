"""Read TensorBoard's files by hand."""

from __future__ import annotations

from collections import defaultdict
from struct import unpack
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Iterable


# Bytes of a field, by its kind, for the kinds with a fixed size. Given.
SIZES = {1: 8, 5: 4}


def masked_crc(data: bytes) -> int:
    """Return the CRC-32C of `data`, rotated and shifted as in event files. Given."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def checked(data: bytes, start: int, end: int) -> bytes:
    """Return ``data[start:end]``, or raise if the CRC in the next 4 bytes does not match. Given."""
    if int.from_bytes(data[end : end + 4], "little") != masked_crc(data[start:end]):
        raise ValueError(f"the bytes from {start} to {end} are not those that were written")
    return data[start:end]


def varint(data: bytes, place: int) -> tuple[int, int]:
    """Return the number at `place`, and the index after it. Given.

    Each byte holds seven bits of the number, lowest bits first; the eighth says if another follows.
    """
    value = shift = 0
    while data[place] & 128:
        value |= (data[place] & 127) << shift
        place, shift = place + 1, shift + 7
    return value | data[place] << shift, place + 1


def records(data: bytes) -> Iterable[bytes]:
    """Return the messages in the bytes of a file, in order; each part is `checked`."""
    place = 0
    while place + 12 <= len(data):
        end = place + 12 + int.from_bytes(checked(data, place, place + 8), "little")
        if end + 4 > len(data):
            break
        yield checked(data, place + 12, end)
        place = end + 4


def fields(message: bytes) -> Iterable[tuple[int, int | bytes]]:
    """Return the number and value of each field: a varint as an int, anything else as its bytes."""
    place = 0
    while place < len(message):
        key, place = varint(message, place)
        size = SIZES.get(key & 7)
        if size is None:
            size, place = varint(message, place)
        if key & 7 == 0:
            yield key >> 3, size
        else:
            yield key >> 3, message[place : place + size]
            place += size


def scalars(data: bytes) -> dict[str, list[tuple[int, float]]]:
    """Return the points (step, number) of each tag, in the order of the file."""
    found: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for record in records(data):
        event = dict(fields(record))
        for _, message in fields(event.get(5, b"")):
            value = dict(fields(message))
            if 2 in value:
                found[value[1].decode()].append((event.get(2, 0), unpack("<f", value[2])[0]))
    return dict(found)
