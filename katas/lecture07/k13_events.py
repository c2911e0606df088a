"""Read TensorBoard's files by hand.

A run has died, TensorBoard shows nothing, and all that is left is a file with a strange name,
``events.out.tfevents...``. Its format, TFRecord, is simple. A file is a sequence of records:

    length    CRC of length   message        CRC of message
    8 bytes   4 bytes         length bytes   4 bytes           lowest byte first

Each message is an ``Event``, a protocol buffer: a sequence of fields. A field begins with a key, a
varint; its lowest three bits say what follows, the others are the field's number:

    key         08   0d       12        09
    follows     01   4 bytes  01 61     8 bytes       varint, 4 bytes, length and bytes, 8 bytes
    number      1    1        2         1
    kind        0    5        2         1

1. `records`: split the file.
2. `fields`: split a message.
3. `scalars`: the curves, about 23 lines in all.

Begin on paper: what is 12 01 61?
Afterwards read ``scalar`` in ``torch/utils/tensorboard/summary.py``, in site-packages.

Real life differs: images, texts and ``new_style=True`` use other fields of a value; skip them.
"""

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
    """Return the messages in the bytes of a file, in order; each part is `checked`.

    An incomplete record at the end is still being written: leave it out, without an error.
    """
    # TODO: do not trust a length before it is checked.
    raise NotImplementedError("records")


def fields(message: bytes) -> Iterable[tuple[int, int | bytes]]:
    """Return the number and value of each field: a varint as an int, anything else as its bytes.

    For kind 2, return the bytes without their length.
    """
    # TODO: read the key, then what follows it.
    raise NotImplementedError("fields")


def scalars(data: bytes) -> dict[str, list[tuple[int, float]]]:
    """Return the points (step, number) of each tag, in the order of the file.

    An Event has its step in field 2, a varint, omitted for step 0; field 5, if present, is a
    Summary. Every field of a Summary has number 1 and is a Value. A Value has its tag in field 1
    and, if it is a scalar, a float32 in field 2.
    """
    found: dict[str, list[tuple[int, float]]] = defaultdict(list)
    # TODO: fill the dict of points.
    raise NotImplementedError("scalars")
    return dict(found)
