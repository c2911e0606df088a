"""Tests of k11_randomness: equal inputs, and whether they get equal noise."""

from __future__ import annotations

import pytest
import torch

from katas.lecture26.k11_randomness import coupled
from katas.lecture26.k11_randomness import crowd
from katas.lecture26.k11_randomness import fair


class Noisy:
    """A play of two steps with noise in each step; it counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, policy: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
        """Return a score."""
        self.calls += 1
        assert policy.shape == (2,), f"play gets a policy of shape {tuple(policy.shape)}, not (2,)"
        assert state.shape == (3,), f"play gets a state of shape {tuple(state.shape)}, not (3,)"
        for _ in range(2):
            state = state * policy[0] + policy[1] + torch.randn_like(state)
        return state.sum()


@pytest.fixture(autouse=True)
def _seed() -> None:
    """Begin each test with the same seed."""
    torch.manual_seed(7)


POLICY = torch.tensor([0.5, 0.1], dtype=torch.float64)


def test_each_state_has_its_own_noise() -> None:
    """Five equal states get five different scores."""
    play = Noisy()
    yours = crowd(play, POLICY, torch.ones(5, 3, dtype=torch.float64))

    assert yours.shape == (5,), f"scores have shape {tuple(yours.shape)}, expected (5,)"
    assert len({*yours.tolist()}) == 5, (
        f"equal states have equal scores {yours.tolist()}, expected different noise in each"
    )
    assert play.calls == 1, (
        f"play was called {play.calls} times, expected 1: let vmap replace the loop"
    )


def test_scores_are_of_their_states() -> None:
    """Scores belong to their states, which are so far apart that noise cannot swap them."""
    states = torch.tensor([0.0, 4e6, -8e6]).double()[:, None].expand(3, 3)
    yours = crowd(Noisy(), POLICY, states)
    expected = [0, 3e6, -6e6]

    assert all(abs(y - e) < 100 for y, e in zip(yours.tolist(), expected, strict=True)), (
        f"yours {yours.tolist()}, expected about {expected}"
    )


def test_policies_meet_the_same_noise() -> None:
    """Equal policies have equal scores in each state, so the comparison is fair."""
    play = Noisy()
    yours = fair(play, POLICY.expand(4, 2), torch.ones(5, 3, dtype=torch.float64))

    assert yours.shape == (4, 5), f"scores have shape {tuple(yours.shape)}, expected (4, 5)"
    assert torch.equal(yours, yours[:1].expand(4, 5)), (
        f"four equal policies get different scores:\n{yours}\nexpected the same noise for each"
    )
    assert len({*yours[0].tolist()}) == 5, (
        f"equal states have equal scores {yours[0].tolist()}: all states got the same noise"
    )
    assert play.calls == 1, f"play was called {play.calls} times, expected 1: nest vmap in vmap"


def test_the_difference_is_without_noise() -> None:
    """Equal noise cancels: each of 3 numbers adds 1 * 0.5 + 1 to the difference."""
    policies = torch.stack([POLICY, POLICY + torch.tensor([0, 1]).double()])
    yours = fair(Noisy(), policies, torch.randn(6, 3).double())
    found = (yours[1] - yours[0]).tolist()

    assert all(abs(gap - 4.5) < 1e-9 for gap in found), f"differences {found}, expected 4.5 each"


def test_one_throw() -> None:
    """Equal probabilities agree, and larger ones are True where smaller ones are."""
    chances = torch.tensor([0.0, 0.3, 0.3, 0.6, 0.9, 1.0])
    for _ in range(200):
        yours = coupled(chances)
        assert yours.dtype == torch.bool, f"yours is {yours.dtype}, expected torch.bool"
        assert yours.shape == (6,), f"yours has shape {tuple(yours.shape)}, expected (6,)"
        values = yours.tolist()
        assert values == sorted(values), (
            f"{chances.tolist()} became {values}: compare all of them with one random number"
        )
        assert (values[0], values[-1]) == (False, True), (
            f"probabilities 0 and 1 became {values}, expected False first and True last"
        )
    backward = coupled(chances.flip(0)).tolist()
    assert backward == sorted(backward, reverse=True), (
        f"largest probability first: {backward}, expected True first"
    )


def test_chances_are_chances() -> None:
    """Over 3000 throws, the shares of True agree with the probabilities."""
    chances = torch.tensor([0.1, 0.5, 0.8])
    throws = torch.stack([coupled(chances) for _ in range(3000)])
    shares = throws.double().mean(0)

    assert (throws != throws[0]).any(), "3000 calls gave the same throw: is a seed set?"
    assert (shares - chances).abs().max() < 0.04, (
        f"shares of True over 3000 throws: {shares.tolist()}, expected {chances.tolist()}"
    )
