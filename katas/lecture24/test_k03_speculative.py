"""Tests of k03_speculative: every outcome of the dice is tried, and probabilities are added up."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import TYPE_CHECKING

import pytest
import torch

from katas.lecture24.k03_speculative import Dice
from katas.lecture24.k03_speculative import accept
from katas.lecture24.k03_speculative import generate
from katas.lecture24.k03_speculative import residual
from katas.lecture24.k03_speculative import verify
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable


P = torch.tensor([0.3, 0.5, 0.2], dtype=torch.float64)
Q = torch.tensor([0.6, 0.3, 0.1], dtype=torch.float64)


def laws(*size: int, seed: int = 0) -> torch.Tensor:
    """Return irrational distributions along the last dim; one token in eight has probability 0."""
    dice = torch.Generator().manual_seed(seed)
    values = torch.rand(*size, dtype=torch.float64, generator=dice)
    values = torch.where(torch.rand(*size, generator=dice) < 1 / 8, 0, values) + 1e-300
    values = torch.where(values < 1e-200, 0, values)
    return values / values.sum(-1, keepdim=True)


class Every(Dice):
    """Follows one path of outcomes, and tracks its probability and the paths that branch off."""

    def __init__(self, path: list[int]) -> None:
        self.path = path
        self.asked = 0
        self.chance = 1.0
        self.others: list[list[int]] = []

    def coin(self, chance: float) -> bool:
        """Follow heads first."""
        assert -1e-12 <= chance <= 1 + 1e-12, f"your coin has probability {chance}, expected 0 to 1"
        return self._next([chance, 1 - chance]) == 0

    def choice(self, law: torch.Tensor) -> int:
        """Choose the first token first."""
        assert law.dim() == 1, f"a choice from a distribution of shape {[*law.shape]}, expected [n]"
        values = law.tolist()
        assert abs(sum(values) - 1) < 1e-9, (
            f"your choice is from {values}, which sums to {sum(values)}, expected 1"
        )
        return self._next(values)

    def _next(self, chances: list[float]) -> int:
        possible = [i for i, chance in enumerate(chances) if chance > 0]
        if self.asked == len(self.path):
            self.others += [[*self.path, i] for i in possible[1:]]
            self.path = [*self.path, possible[0]]
        taken = self.path[self.asked]
        self.asked += 1
        self.chance *= chances[taken]
        return taken


def law_of(program: Callable[[Dice], list[int]]) -> dict[tuple[int, ...], float]:
    """Return the probability of each result of a program, from all outcomes of its dice."""
    found: Counter[tuple[int, ...]] = Counter()
    paths: list[list[int]] = [[]]
    while paths:
        dice = Every(paths.pop())
        result = tuple(program(dice))
        found[result] += dice.chance  # type: ignore[assignment]
        paths += dice.others
    return {result: float(chance) for result, chance in found.items()}


def same(yours: dict[tuple[int, ...], float], right: dict[tuple[int, ...], float]) -> None:
    """Compare two distributions to twelve digits."""
    __tracebackhide__ = True
    for result in sorted({*yours, *right}):
        mine, expected = yours.get(result, 0.0), right.get(result, 0.0)
        assert abs(mine - expected) < 1e-12, (
            f"tokens {[*result]}: your probability is {mine:.6f}, expected {expected:.6f}"
        )


class Table:
    """A model whose distribution depends on the last token and the length; it counts its calls."""

    def __init__(self, values: torch.Tensor) -> None:
        self.values = values
        self.calls: list[int] = []

    def __call__(self, ids: torch.Tensor) -> torch.Tensor:
        """Return the distribution after each token."""
        self.calls.append(len(ids))
        return self.values[torch.arange(len(ids)), ids]

    def exact(self, ids: list[int], new: int) -> dict[tuple[int, ...], float]:
        """Return the distribution of `new` tokens, one after another."""
        found = {}
        for tail in product(range(self.values.shape[-1]), repeat=new):
            row, chance = [*ids], 1.0
            for token in tail:
                chance *= float(self.values[len(row) - 1, row[-1], token])
                row.append(token)
            found[tuple(row)] = chance
        return found


@pytest.mark.step(1, "accept")
def test_accept() -> None:
    """The example of the brief."""
    with unchanged(p=P, q=Q):
        yours = accept(P, Q).tolist()
    assert [round(x, 12) for x in yours] == [0.5, 1, 1], f"yours {yours}, expected [0.5, 1, 1]"


@pytest.mark.step(1, "accept")
def test_accept_where_nothing_is_proposed() -> None:
    """A q of 0 gives 0, not 0 / 0 or x / 0."""
    p, q = torch.tensor([0.0, 0.5, 0.5]), torch.tensor([0.0, 0.0, 1.0])
    yours = accept(p, q).tolist()
    assert yours == [0, 0, 0.5], f"p {p.tolist()}, q {q.tolist()}: yours {yours}"


@pytest.mark.step(2, "residual")
def test_residual() -> None:
    """The example of the brief: what the draft lacks, as a distribution."""
    with unchanged(p=P, q=Q):
        yours = residual(P, Q)
    right = torch.tensor([0, 2 / 3, 1 / 3], dtype=torch.float64)
    gap = (yours - right).abs().max().item()
    assert gap < 1e-12, f"yours {yours.tolist()}, expected {right.tolist()}"


@pytest.mark.step(2, "residual")
def test_residual_of_equal_laws() -> None:
    """Nothing is missing from q, so the residual would be 0 / 0."""
    yours = residual(P, P.clone())
    assert yours.tolist() == P.tolist(), f"p equals q: yours {yours.tolist()}, expected p"


@pytest.mark.step(2, "residual")
@pytest.mark.parametrize("seed", range(4))
def test_one_token_has_the_law(seed: int) -> None:
    """Proposed and kept, or rejected and replaced: together that is p, to twelve digits."""
    p, q = laws(2, 6, seed=seed)
    kept = q * accept(p, q)
    yours = kept + (1 - kept.sum()) * residual(p, q)
    gap = (yours - p).abs().max().item()
    assert gap < 1e-12, f"tokens have distribution {yours.tolist()}, expected p, {p.tolist()}"
    overlap = torch.minimum(p, q).sum()
    assert abs(kept.sum() - overlap) < 1e-12, (
        f"your code accepts a share of {kept.sum():.4f}, expected {overlap:.4f}"
    )


@pytest.mark.step(3, "verify")
def test_verify_a_draft_of_one() -> None:
    """0 stays with probability 0.5, and a token from p[1] follows; otherwise 1 or 2 replaces it."""
    p = torch.stack([P, torch.tensor([0.1, 0.2, 0.7], dtype=torch.float64)])
    yours = law_of(lambda dice: verify([0], p, Q[None], dice))
    same(yours, {(0, 0): 0.05, (0, 1): 0.1, (0, 2): 0.35, (1,): 1 / 3, (2,): 1 / 6})


@pytest.mark.step(3, "verify")
def test_verify_nothing() -> None:
    """An empty draft gives one token from p[0]."""
    yours = law_of(lambda dice: verify([], P[None], Q[None][:0], dice))
    same(yours, {(0,): 0.3, (1,): 0.5, (2,): 0.2})


@pytest.mark.step(3, "verify")
def test_the_first_refusal_ends_a_draft() -> None:
    """All coins are certain: two tokens stay, the third is rejected, the fourth is not reached."""
    p = torch.tensor([[0.0, 1, 0], [1, 0, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0]]).double()
    q = torch.tensor([[0.0, 1, 0], [1, 0, 0], [0, 1, 0], [0, 1, 0]]).double()
    draft = [1, 0, 1, 1]
    yours = law_of(lambda dice: verify(draft, p, q, dice))
    same(yours, {(1, 0, 2): 1.0})
    assert draft == [1, 0, 1, 1], f"your code changed the draft to {draft}"


@pytest.mark.step(3, "verify")
def test_verify_follows_the_law() -> None:
    """Draft two tokens from q, and verify them: the first token has the distribution p[0]."""
    p, q = laws(3, 4, seed=5), laws(2, 4, seed=6)

    def program(dice: Dice) -> list[int]:
        return verify([dice.choice(q[0]), dice.choice(q[1])], p, q, dice)

    yours = law_of(program)
    first = {(i,): sum(c for t, c in yours.items() if t[0] == i) for i in range(4)}
    same(first, {(i,): float(p[0, i]) for i in range(4)})
    third = {t: c for t, c in yours.items() if len(t) == 3}
    whole = float(torch.minimum(p[:2], q).sum(1).prod())
    assert abs(sum(third.values()) - whole) < 1e-12, (
        f"you accept the whole draft with probability {sum(third.values()):.4f}, expected"
        f" {whole:.4f}"
    )


@pytest.mark.step(4, "generate")
@pytest.mark.time_limit(10)
@pytest.mark.parametrize(
    ("new", "ahead", "size"), [(1, 1, 3), (2, 1, 3), (3, 2, 2), (2, 3, 2), (0, 2, 2)]
)
def test_generate_follows_the_law(new: int, ahead: int, size: int) -> None:
    """The distribution of all new tokens is the large model's, whatever the draft."""
    large, small = laws(8, size, size, seed=1), laws(8, size, size, seed=2)
    target = Table(large)
    ids = [1, 0]
    generate((target, Table(small)), ids, new, ahead, Dice())
    assert ids == [1, 0], f"your code changed the ids [1, 0] to {ids}: copy them"
    yours = law_of(lambda dice: generate((target, Table(small)), [1, 0], new, ahead, dice))
    lengths = {len(result) for result in yours}
    assert lengths == {2 + new}, f"{new} tokens after 2: your lengths are {sorted(lengths)}"
    same(yours, target.exact([1, 0], new))


def greedy(values: torch.Tensor) -> Table:
    """Return a model that always picks its most probable token."""
    sure = torch.nn.functional.one_hot(values.argmax(-1), values.shape[-1])
    return Table(sure.double())


@pytest.mark.step(4, "generate")
@pytest.mark.time_limit(10)
@pytest.mark.parametrize("ahead", [1, 3, 8])
def test_greedy_is_greedy(ahead: int) -> None:
    """With deterministic models, the result is that of the large model alone."""
    large, small = greedy(laws(40, 5, 5, seed=3)), greedy(laws(40, 5, 5, seed=4))
    alone = [2]
    for _ in range(20):
        alone.append(int(large(torch.tensor(alone))[-1].argmax()))
    yours = generate((large, small), [2], 20, ahead, Dice())
    assert yours == alone, f"{ahead} ahead: yours {yours}, the large model alone {alone}"


@pytest.mark.step(4, "generate")
@pytest.mark.time_limit(10)
def test_a_good_draft_is_read_once() -> None:
    """If the draft is the large model itself, 12 tokens, 3 ahead, take 3 calls of 4 tokens each."""
    large, small = Table(laws(40, 5, 5, seed=3)), Table(laws(40, 5, 5, seed=3))
    torch.manual_seed(0)
    generate((large, small), [2], 12, 3, Dice())
    assert large.calls == [4, 8, 12], (
        f"the large model read {large.calls} tokens in its calls, expected [4, 8, 12]: each call"
        " reads the whole draft, and all of a good draft stays, plus one token"
    )


@pytest.mark.step(4, "generate")
@pytest.mark.time_limit(10)
def test_a_hopeless_draft_costs_a_call_per_token() -> None:
    """If the draft never agrees with the large model, each call gives one token."""
    large = torch.zeros(40, 3, 3).double()
    large[..., 1] = 1
    small = torch.zeros_like(large)
    small[..., 2] = 1
    target = Table(large)
    yours = generate((target, Table(small)), [0], 4, 2, Dice())
    assert yours == [0, 1, 1, 1, 1], f"yours {yours}, expected [0, 1, 1, 1, 1]"
    assert target.calls == [3, 4, 5, 6], (
        f"the large model's calls read {target.calls} tokens, expected [3, 4, 5, 6]"
    )
