"""Let a small model guess, and keep the distribution of the large one.

A large model reads one token or five in about the same time. So a small one drafts four, the large
one reads them at once, and says of each "I might have said that". The output follows the large
model's distribution exactly. p is its distribution of the next token, q the draft's:

    q        0.6   0.3   0.1      the draft proposes 0 too often,
    p        0.3   0.5   0.2
    accept   0.5   1     1        so half of its 0s are rejected,
    residual 0     2/3   1/3      and what q lacks is drawn instead

1. `accept`: the probability that a proposed token stays.
2. `residual`: the distribution from which its substitute is drawn.
3. `verify`: a whole draft; the first rejection ends it, and without one an extra token follows.
4. `generate`: draft, read once, verify, repeat.

All randomness comes from `Dice`, which is given: tests replace it with one that tries each outcome,
and add up exact distributions. About 25 lines.

Begin on paper: 0.6 times 0.5, plus what is rejected times 0.
Afterwards see ``rand`` in ``torch/_torch_docs.py``, in site-packages. Real life differs: both
models have caches, which are cropped after a rejection.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Callable

    # Token ids [length] to the distributions [length, n] of the token after each of them.
    Model = Callable[[torch.Tensor], torch.Tensor]


class Dice:
    """Chance. Given."""

    def coin(self, chance: float) -> bool:
        """Return True with this probability."""
        return torch.rand(()).item() < chance

    def choice(self, law: torch.Tensor) -> int:
        """Return a token drawn from this distribution, [n], which sums to 1."""
        return int(torch.multinomial(law, 1))


def accept(p: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
    """Return the probability of accepting each token, [n]; 0 where q is 0."""
    # TODO
    raise NotImplementedError("accept")


def residual(p: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
    """Return the distribution of a rejected token's substitute, [n]; p where p equals q."""
    # TODO
    raise NotImplementedError("residual")


def verify(draft: list[int], p: torch.Tensor, q: torch.Tensor, dice: Dice) -> list[int]:
    """Return the accepted tokens of the draft, and one more token.

    p is [len(draft) + 1, n], one row more than q [len(draft), n].
    """
    # TODO: a coin for each token, a choice at the end.
    raise NotImplementedError("verify")


def generate(
    models: tuple[Model, Model], ids: list[int], new: int, ahead: int, dice: Dice
) -> list[int]:
    """Return ids followed by `new` tokens; the models are the large one and the draft.

    Each round drafts exactly `ahead` tokens, even the last, and calls the large model once. Drop
    surplus tokens. `ids` has at least one token; do not change it.
    """
    # TODO
    raise NotImplementedError("generate")
