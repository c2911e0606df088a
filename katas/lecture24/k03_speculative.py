"""Let a small model guess, and keep the law of the large one.

A large model reads one token or five in about the same time. So a small one drafts four, the large
one reads them at once, and says of each "I might have said that". What comes out follows the large
model's law: not nearly, exactly. p is its law of the next token, q that of the draft:

    q        0.6   0.3   0.1      the draft proposes 0 too often,
    p        0.3   0.5   0.2
    accept   0.5   1     1        so half of its 0s are refused,
    residual 0     2/3   1/3      and what it is short of is drawn in their place

1. `accept`: with which probability a proposed token stays.
2. `residual`: from which law its substitute is drawn.
3. `verify`: a whole draft; the first refusal ends it, and without one a token comes on top.
4. `generate`: draft, read once, verify, repeat.

All chance goes through `Dice`, which is given: tests put one in its place that tries every outcome,
and add up exact laws. About 25 lines.

Begin on paper: 0.6 times 0.5, plus what is refused times 0.
Afterwards see ``rand`` in ``torch/_torch_docs.py``, in site-packages. Real life differs: both
models have caches, which are cut back after a refusal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Callable

    # Token ids [length] to the laws [length, n] of the tokens after each of them.
    Model = Callable[[torch.Tensor], torch.Tensor]


class Dice:
    """Chance. Given."""

    def coin(self, chance: float) -> bool:
        """Return True with this probability."""
        return torch.rand(()).item() < chance

    def choice(self, law: torch.Tensor) -> int:
        """Return a token of this law, [n], which sums to 1."""
        return int(torch.multinomial(law, 1))


def accept(p: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
    """Return for each token the probability with which it stays, [n]; 0 where q is 0."""
    # TODO
    raise NotImplementedError("accept")


def residual(p: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
    """Return the law of what comes in the place of a refused token, [n]; p where p equals q."""
    # TODO
    raise NotImplementedError("residual")


def verify(draft: list[int], p: torch.Tensor, q: torch.Tensor, dice: Dice) -> list[int]:
    """Return the drafted tokens that stay, and one more.

    p is [len(draft) + 1, n], of one token more than q [len(draft), n].
    """
    # TODO: a coin for each token, a choice at the end.
    raise NotImplementedError("verify")


def generate(
    models: tuple[Model, Model], ids: list[int], new: int, ahead: int, dice: Dice
) -> list[int]:
    """Return ids with `new` tokens behind them; models are the large one and the draft.

    Each round drafts exactly `ahead` tokens, also the last, and calls the large model once. What is
    too long is cut off.
    `ids` has at least one token, and stays as it is.
    """
    # TODO
    raise NotImplementedError("generate")
