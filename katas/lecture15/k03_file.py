"""Open a file for ExecuTorch with ``struct``.

A model file arrives, and the phone says it is not a model. What is in it? Bytes 4 to 7
are the kind, as in many FlatBuffers; a header follows, little-endian, then program and segments:

    offset   4       8       12        16              24                 32
             "ET12"  "eh00"  uint32    uint64          uint64             uint64
                             length    program bytes   segment offset     segment bytes
                             (32)

The program begins at byte 0, header included. Write `sections`, about 8 lines.

Begin with ``struct.unpack_from("<IQQ", data, 12)``. Afterwards read `_save` in
``torch/serialization.py``, in site-packages: what does `torch.save` write instead?
"""

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
    # TODO: the header, if there is one, then two slices.
    raise NotImplementedError("sections")
