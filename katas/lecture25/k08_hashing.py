"""Hash ids into a table that is too small for them.

Ids are 64-bit numbers, far apart. `ids % buckets` is a row, but ids that were given out in steps
of 16 reach only 1,024 of 16,384 rows. So ids are mixed first, for example by the last step of
MurmurHash3, on unsigned numbers:

    x ^= x >> 33;  x *= FIRST;  x ^= x >> 33;  x *= SECOND;  x ^= x >> 33;

PyTorch has uint64, but no eager `%` or `>>` for it. In int64, products have the same 64 bits:
they wrap around. Right shift and remainder differ for negative numbers.

1. `shifted`: zeros enter from the left.
2. `mixed`: the line above; `signed` is given.
3. `bucket`: the unsigned remainder. Halve the number with `shifted`: the half is not
   negative.
4. `looked_up`: two ids rarely collide under several seeds.

About 7 lines, without a loop over ids and without floats.

Begin on paper: in 8 bits, what is -7 >> 1, and what should it be?
Afterwards see ``remainder`` in ``torch/_torch_docs.py``: -7 % 5 is 3, `fmod` gives -2.
"""

from __future__ import annotations

import torch


# The two multipliers of MurmurHash3's last step, as unsigned numbers of 64 bits.
FIRST = 0xFF51AFD7ED558CCD
SECOND = 0xC4CEB9FE1A85EC53


def signed(number: int) -> int:
    """Return the int64 with the same 64 bits as an unsigned number. Given."""
    return number - 2**64 if number >= 2**63 else number


def shifted(x: torch.Tensor, bits: int) -> torch.Tensor:
    """Return int64 x shifted right by 1 to 63 bits, with zeros shifted in from the left."""
    # TODO
    raise NotImplementedError("shifted")


def mixed(x: torch.Tensor) -> torch.Tensor:
    """Return MurmurHash3's last step for each number of int64 x, as int64.

    The bits must match the brief's unsigned arithmetic.
    """
    # TODO
    raise NotImplementedError("mixed")


def bucket(ids: torch.Tensor, buckets: int, seed: int = 0) -> torch.Tensor:
    """Return `mixed(mixed(id) + seed)`, read as unsigned, modulo `buckets`: int64, of ids' shape.

    `ids` are int32 or int64. `buckets` is from 1 to 2 ** 62, `seed` from 0 to 2 ** 31; the sum
    wraps around as products do.
    """
    # TODO
    raise NotImplementedError("bucket")


def looked_up(table: torch.Tensor, ids: torch.Tensor, hashes: int) -> torch.Tensor:
    """For each id, return the sum of the rows in its buckets for seeds 0 to hashes - 1.

    `table` is [buckets, dim] of a floating dtype, the result [*ids.shape, dim] of the same dtype.
    There is at least one hash. Two ids get the same sum if they have the same buckets, in any
    order.
    """
    # TODO
    raise NotImplementedError("looked_up")
