"""Read a string as a tensor of bytes.

A language model reads numbers, and text already consists of numbers: its bytes. But they are uint8,
and with that dtype PyTorch does not do what you expect:

    codes = torch.frombuffer(bytearray(b"Aa"), dtype=torch.uint8)
    torch.arange(256)[codes]      # IndexError: The shape of the mask [2] ...

1. `codes_of`: the bytes of a text, as a tensor.
2. `lower_`: write to someone else's bytes, through a tensor.
3. `embed`: a row of the table for each byte. About 6 lines.

Begin with the error above: which mask?
Afterwards read ``frombuffer`` in ``torch/_torch_docs.py``, in site-packages.
"""

from __future__ import annotations

import torch


def codes_of(text: str) -> torch.Tensor:
    """Return the text's UTF-8 bytes as uint8 [bytes], in memory that you may write to.

    An empty text has no bytes.
    """
    # TODO
    raise NotImplementedError("codes_of")


def lower_(buffer: bytearray) -> None:
    """Replace the bytes A to Z (65 to 90) by a to z (97 to 122), in the buffer, without a loop."""
    # TODO: the buffer has at least one byte.
    raise NotImplementedError("lower_")


def embed(codes: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
    """Return row ``table[code]`` for each code, [*codes.shape, table.shape[1]]; codes are uint8."""
    # TODO
    raise NotImplementedError("embed")
