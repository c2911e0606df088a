"""Let a small model guess, and keep the distribution of the large one."""

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
    return torch.where(q > 0, (p / q).clamp(max=1), 0)


def residual(p: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
    """Return the distribution of a rejected token's substitute, [n]; p where p equals q."""
    short = (p - q).clamp(min=0)
    return short / short.sum() if short.any() else p


def verify(draft: list[int], p: torch.Tensor, q: torch.Tensor, dice: Dice) -> list[int]:
    """Return the accepted tokens of the draft, and one more token.

    p is [len(draft) + 1, n], one row more than q [len(draft), n].
    """
    for place, token in enumerate(draft):
        if not dice.coin(float(accept(p[place], q[place])[token])):
            return [*draft[:place], dice.choice(residual(p[place], q[place]))]
    return [*draft, dice.choice(p[len(draft)])]


def generate(
    models: tuple[Model, Model], ids: list[int], new: int, ahead: int, dice: Dice
) -> list[int]:
    """Return ids followed by `new` tokens; the models are the large one and the draft.

    Each round drafts exactly `ahead` tokens, even the last, and calls the large model once. Drop
    surplus tokens. `ids` has at least one token; do not change it.
    """
    target, small = models
    length = len(ids) + new
    ids = [*ids]
    while len(ids) < length:
        drafted, laws = [*ids], []
        for _ in range(ahead):
            laws.append(small(torch.tensor(drafted))[-1])
            drafted.append(dice.choice(laws[-1]))
        p = target(torch.tensor(drafted))[len(ids) - 1 :]
        ids += verify(drafted[len(ids) :], p, torch.stack(laws), dice)
    return ids[:length]
