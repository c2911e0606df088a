"""Hash ids into a table that is too small for them."""

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
    return (x >> bits) & (2 ** (64 - bits) - 1)


def mixed(x: torch.Tensor) -> torch.Tensor:
    """Return MurmurHash3's last step for each number of int64 x, as int64.

    The bits must match the brief's unsigned arithmetic.
    """
    x = (x ^ shifted(x, 33)) * signed(FIRST)
    x = (x ^ shifted(x, 33)) * signed(SECOND)
    return x ^ shifted(x, 33)


def bucket(ids: torch.Tensor, buckets: int, seed: int = 0) -> torch.Tensor:
    """Return `mixed(mixed(id) + seed)`, read as unsigned, modulo `buckets`: int64, of ids' shape.

    `ids` are int32 or int64. `buckets` is from 1 to 2 ** 62, `seed` from 0 to 2 ** 31; the sum
    wraps around as products do.
    """
    x = mixed(mixed(ids.long()) + seed)
    return (shifted(x, 1) % buckets * 2 + (x & 1)) % buckets


def looked_up(table: torch.Tensor, ids: torch.Tensor, hashes: int) -> torch.Tensor:
    """For each id, return the sum of the rows in its buckets for seeds 0 to hashes - 1.

    `table` is [buckets, dim] of a floating dtype, the result [*ids.shape, dim] of the same dtype.
    There is at least one hash. Two ids get the same sum if they have the same buckets, in any
    order.
    """
    return sum(table[bucket(ids, len(table), seed)] for seed in range(hashes))
