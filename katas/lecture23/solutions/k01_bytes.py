"""Read a string as a tensor of bytes."""

from __future__ import annotations

import torch


def codes_of(text: str) -> torch.Tensor:
    """Return the text's UTF-8 bytes as uint8 [bytes], in memory that you may write to.

    An empty text has no bytes.
    """
    raw = bytearray(text, "utf-8")
    return torch.frombuffer(raw, dtype=torch.uint8) if raw else torch.empty(0, dtype=torch.uint8)


def lower_(buffer: bytearray) -> None:
    """Replace the bytes A to Z (65 to 90) by a to z (97 to 122), in the buffer, without a loop."""
    codes = torch.frombuffer(buffer, dtype=torch.uint8)
    codes[(codes >= 65) & (codes <= 90)] += 32


def embed(codes: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
    """Return row ``table[code]`` for each code, [*codes.shape, table.shape[1]]; codes are uint8."""
    return torch.nn.functional.embedding(codes.long(), table)
