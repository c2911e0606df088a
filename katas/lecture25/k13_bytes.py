"""An int8 table: each row's codes, then its scale and minimum.

For serving, tables are packed. 64 float32 numbers take 256 bytes; a one-byte code for each, with
what turns codes back into numbers, takes 72:

    code 0 ... code 63 | scale, 4 bytes | minimum, 4 bytes       number = code * scale + minimum

So a lookup reads one stretch of memory, and an outlier spoils only its own row.

1. `pack`: codes and the bytes of two float32, row by row.
2. `unpack`: the numbers again, with an error of at most half a scale and some rounding.
3. `pooled`: sums over bags. Unpack only what the ids ask for: the table as float32 may not fit.

About 10 lines. Begin by printing ``torch.tensor([0.01, 0.0]).view(torch.uint8)``. How many rows
and columns does the same view of a [3, 2] tensor have?
Afterwards compare ``torch.ops.quantized.embedding_bag_byte_prepack`` on your own table; it is
implemented in ``aten/src/ATen/native/quantized/cpu/qembeddingbag_prepack.cpp``.
Real life differs: FBGEMM unpacks and adds up in one kernel, and has 4-bit tables too.
"""

from __future__ import annotations

import torch


def floats_in(raw: torch.Tensor) -> torch.Tensor:
    """Return bytes of [rows, 4 * n] as float32 of [rows, n]. Given.

    A view as float32 needs an offset and strides divisible by 4: copy the bytes first.
    """
    return raw.clone(memory_format=torch.contiguous_format).view(torch.float32)


def pack(table: torch.Tensor) -> torch.Tensor:
    """Return uint8 of [rows, dim + 8] for float32 of [rows, dim], which may be a parameter.

    For each row, with its minimum `low` and maximum `high`, compute in float32, in this order:

        scale = (high - low) / 255
        code = round((x - low) * (255 / (high - low + 1e-8)))    0 to 255, halves to even

    The scale and then `low` follow the codes, as float32 bytes.
    """
    # TODO: step 1. Tensors of the same dtype can be put side by side.
    raise NotImplementedError("pack")


def unpack(packed: torch.Tensor) -> torch.Tensor:
    """Return code * scale + minimum: float32 of [rows, dim] for uint8 of [rows, dim + 8]."""
    # TODO: step 2. The last eight bytes of each row are two float32: see floats_in.
    raise NotImplementedError("unpack")


def pooled(packed: torch.Tensor, ids: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """Return the sum of the rows of each bag: float32 of [bags, dim].

    Bag i has the ids from ``offsets[i]`` to the beginning of the next bag, and the last bag extends
    to the end, as in ``nn.EmbeddingBag``; both are int64. A bag may be empty: its sum is 0.
    """
    # TODO: step 3. Choose rows while they are bytes.
    raise NotImplementedError("pooled")
