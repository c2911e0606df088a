"""Philox without a product that overflows, and with the counters as a matrix."""

from __future__ import annotations

import torch
from torch import Tensor


WORD = 2**32 - 1
A, B = 0xD2511F53, 0xCD9E8D57
BUMPS = 0x9E3779B9, 0xBB67AE85


def multiply(a: int, b: Tensor) -> tuple[Tensor, Tensor]:
    """Multiply by the two halves of `a`, each of 16 bits: 48 bits fit."""
    low, high = a % 2**16 * b, a // 2**16 * b
    total = low + high % 2**16 * 2**16
    return high // 2**16 + total // 2**32, total % 2**32


def philox(counter: Tensor, seed: int) -> Tensor:
    """Keep the counters in one tensor, and begin with the bumps of all rounds."""
    state = counter
    for number in range(10):
        key = [
            (word + number * bump) % 2**32
            for word, bump in zip((seed & WORD, seed >> 32), BUMPS, strict=True)
        ]
        first, second = multiply(A, state[..., 0]), multiply(B, state[..., 2])
        mixed = second[0] ^ state[..., 1] ^ key[0], first[0] ^ state[..., 3] ^ key[1]
        state = torch.stack([mixed[0], second[1], mixed[1], first[1]], dim=-1)
    return state


def draw(seed: int, thread: Tensor, position: Tensor) -> Tensor:
    """Choose among the four words by a comparison."""
    block = position >> 2
    words = torch.broadcast_tensors(block % 2**32, block >> 32, thread % 2**32, thread >> 32)
    found = philox(torch.stack(words, -1), seed)
    chosen = torch.arange(4) == (position % 4)[..., None]
    return torch.where(chosen, found, 0).sum(-1)
