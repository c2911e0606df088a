"""Draw the millionth random number without the 999,999 before it.

``torch.rand`` on a CPU is sequential: it has 5056 bytes of state, and each draw changes them. On a
GPU thousands of threads draw at once, and cannot wait for each other. Philox scrambles a counter
instead, and the counter says which thread draws, and which of the thread's numbers you want:

    counter   c0, c1 = position // 4     c2, c3 = thread       low word first,
    key       k0, k1 = seed                                    here as well
    a round   c0, c1 = high(B * c2) ^ c1 ^ k0, low(B * c2)       with the old c0 to c3
              c2, c3 = high(A * c0) ^ c3 ^ k1, low(A * c0)

Ten rounds give four words of 32 bits. Between rounds, add `BUMPS` to the words of the key.

1. `multiply`: both halves of a 64-bit product, in int64, which is signed.
2. `philox`: ten rounds for a tensor of counters.
3. `draw`: the word that a thread draws at a position.

Begin on paper: when a product overflows int64, which of its bits are wrong?
Afterwards read ``philox_engine`` in ``aten/src/ATen/core/PhiloxRNGEngine.h``, on your disk as
``torch/include/ATen/core/PhiloxRNGEngine.h``. With ``torch.compile``, ``torch.rand`` on a CPU uses
Philox too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from torch import Tensor


WORD = 2**32 - 1
A, B = 0xD2511F53, 0xCD9E8D57
BUMPS = 0x9E3779B9, 0xBB67AE85


def multiply(a: int, b: Tensor) -> tuple[Tensor, Tensor]:
    """Return the high and the low word of ``a * b``.

    `a` and the int64 elements of `b` are words, 0 to 2**32 - 1. Return words too, in int64.
    """
    # TODO: multiply once; what do shifts do with the sign?
    raise NotImplementedError("multiply")


def philox(counter: Tensor, seed: int) -> Tensor:
    """Return the four words computed from each counter.

    `counter` is (..., 4), int64 words; so is the result. `seed` is 0 to 2**64 - 1.
    """
    # TODO: unbind, ten rounds, stack; the words of the key wrap too
    raise NotImplementedError("philox")


def draw(seed: int, thread: Tensor, position: Tensor) -> Tensor:
    """Return the word that each thread draws at each position, counted from 0.

    Both are int64, 0 to 2**63 - 1, with shapes that broadcast. Position 5 is the second of the four
    words computed from counter 1.
    """
    # TODO: build the counters, and choose one word of four
    raise NotImplementedError("draw")
