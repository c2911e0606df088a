"""Tests of k13_cartpole_learns: the pieces on hand-made batches, then the training."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
import torch

from katas.lecture26 import k13_cartpole_learns as kata
from katas.lecture26.k13_cartpole_learns import ROWS
from katas.lecture26.k13_cartpole_learns import advantages
from katas.lecture26.k13_cartpole_learns import clipped
from katas.lecture26.k13_cartpole_learns import learn
from katas.lecture26.k13_cartpole_learns import parts
from katas.lecture26.k13_cartpole_learns import shuffled
from katas.lecture26.k13_cartpole_learns import update


pytestmark = [
    pytest.mark.backend("torchrl"),
    pytest.mark.time_limit(240),
    pytest.mark.filterwarnings("ignore"),
]
pieces = pytest.mark.step(1, "the pieces")
once = pytest.mark.step(2, "one batch")
training = pytest.mark.step(3, "the training")


def dictionary(values: dict[Any, Any], rows: int) -> Any:
    """Return a TensorDict."""
    return importlib.import_module("tensordict").TensorDict(values, batch_size=[rows])


def flags(rows: int, *places: int) -> torch.Tensor:
    """Return a column that is True at these positions."""
    found = torch.zeros(rows, 1, dtype=torch.bool)
    found[[*places]] = True
    return found


def walk(rows: int = 12) -> Any:
    """Return a batch with an end after row 3, and a time limit after row 7."""
    path = torch.randn(rows + 1, 4, generator=torch.Generator().manual_seed(0))
    following = {
        "observation": path[1:] + 0.1,
        "reward": torch.linspace(0.5, 2, rows)[:, None].sqrt(),
        "done": flags(rows, 3, 7),
        "terminated": flags(rows, 3),
        "truncated": flags(rows, 7),
    }
    return dictionary({"observation": path[:-1], "next": dictionary(following, rows)}, rows)


@pieces
def test_advantages() -> None:
    """A loop from the end agrees: terminated drops the value, done ends the sum."""
    _, _, critic = parts(0)
    batch = walk()
    with torch.no_grad():
        values = critic.module(batch["observation"])
        after = critic.module(batch["next", "observation"])
        advantages(critic)(batch)
    expected, later = torch.zeros(12, 1), torch.zeros(1)
    for row in reversed(range(12)):
        over = batch["next", "done"][row].float()
        future = 0.99 * after[row] * (~batch["next", "terminated"][row])
        delta = batch["next", "reward"][row] + future - values[row]
        later = delta + 0.99 * 0.95 * (1 - over) * later
        expected[row] = later
    off = float((batch["value_target"] - expected - values).abs().max())
    assert off < 1e-4, f"value_target is off by {off:.4f}: gamma is 0.99, lambda 0.95"
    mean, deviation = batch["advantage"].mean().item(), batch["advantage"].std().item()
    assert abs(mean) < 1e-4, f"the mean of the advantages is {mean:.4f}: standardise them"
    assert abs(deviation - 1) < 0.06, (
        f"the standard deviation of the advantages is {deviation:.3f}, expected 1"
    )


@pieces
def test_the_loss_is_clipped_at_a_fifth() -> None:
    """If the policy has moved far, each row's gain is the smaller of two products."""
    _, actor, critic = parts(1)
    batch = walk()
    with torch.no_grad():
        actor(batch)
        advantages(critic)(batch)
        for parameter in actor.parameters():
            parameter.mul_(2.5)
        ratio = (actor.get_dist(batch).log_prob(batch["action"]) - batch["action_log_prob"]).exp()
        gain = batch["advantage"][:, 0]
        bound = torch.minimum(ratio * gain, ratio.clamp(0.8, 1.2) * gain)
        found = clipped(actor, critic)(batch)
        entropy = actor.get_dist(batch).entropy().mean()
        critics = torch.nn.functional.smooth_l1_loss(
            critic.module(batch["observation"]), batch["value_target"]
        )
    expected = {
        "loss_objective": -bound.mean(),
        "loss_entropy": -0.01 * entropy,
        "loss_critic": 0.5 * critics,
    }
    assert ((ratio - 1).abs() > 0.2).any(), "no ratio is clipped"
    for name, value in expected.items():
        assert abs(found[name] - value) < 1e-4, (
            f"{name} is {found[name]:.5f}, expected {value:.5f}, with ratios from "
            f"{ratio.min():.2f} to {ratio.max():.2f}"
        )


@pieces
def test_a_buffer_shows_each_row_once() -> None:
    """Two samples of 250 contain each of 500 rows once."""
    buffer = shuffled(2 * ROWS)
    buffer.extend(dictionary({"x": torch.arange(2 * ROWS)}, 2 * ROWS))
    samples = [buffer.sample()["x"] for _ in range(2)]
    assert [len(sample) for sample in samples] == [ROWS] * 2, f"samples should have {ROWS} rows"
    seen = torch.cat(samples)
    assert len(seen.unique()) == 2 * ROWS, (
        f"{len(seen.unique())} of 500 rows in 500 draws, expected all"
    )
    assert not torch.equal(seen, seen.sort().values), "rows come in order: shuffle them"


class Recorder:
    """Stands in for GAE and the loss, with one parameter w; it records what it sees."""

    def __init__(self) -> None:
        self.w = torch.nn.Parameter(torch.tensor(2.0))
        self.optimizer = torch.optim.SGD([self.w], 0.1)
        self.estimates, self.seen = 0, list[list[int]]()

    def advantage(self, batch: Any) -> Any:
        """Add an advantage that has a graph, unless grad mode is off."""
        self.estimates += 1
        batch["advantage"] = self.w * torch.ones(len(batch), 1)
        return batch

    def loss(self, sample: Any) -> dict[str, torch.Tensor]:
        """Return two losses, with slopes 1 and 2, and another entry."""
        assert not sample["advantage"].requires_grad, "the advantage has a graph: use no_grad"
        assert torch.is_grad_enabled(), "the loss is computed under no_grad"
        self.seen.append(sample["x"].tolist())
        return {"loss_a": self.w, "loss_b": 2 * self.w, "entropy": 100 * self.w}


def numbered(first: int, rows: int) -> Any:
    """Return a batch whose rows have numbers."""
    return dictionary({"x": torch.arange(first, first + rows)}, rows)


@once
def test_each_epoch_shows_each_row_once() -> None:
    """Three epochs of 500 rows take two samples each; the advantage is estimated once."""
    one, buffer = Recorder(), shuffled(2 * ROWS)
    update(numbered(0, 2 * ROWS), one.advantage, one.loss, one.optimizer, buffer, epochs=3)

    assert one.estimates == 1, f"the advantage was estimated {one.estimates} times, expected once"
    assert len(one.seen) == 6, f"{len(one.seen)} samples in 3 epochs of 500 rows, expected 6"
    for epoch in range(3):
        rows = {*one.seen[2 * epoch], *one.seen[2 * epoch + 1]}
        assert len(rows) == 2 * ROWS, f"epoch {epoch} showed {len(rows)} of 500 rows, expected all"


@once
def test_a_step_for_each_sample() -> None:
    """With SGD and lr 0.1, each step subtracts 0.3 if gradients do not accumulate over steps."""
    one = Recorder()
    update(
        numbered(0, 2 * ROWS), one.advantage, one.loss, one.optimizer, shuffled(2 * ROWS), epochs=2
    )
    found = one.w.item()

    assert abs(found - (2 - 4 * 0.3)) < 1e-5, (
        f"w went from 2 to {found:.3f} in 4 steps, expected 0.8: add only loss_a and loss_b, and "
        "zero the gradients before each step"
    )


@once
def test_the_next_batch_is_alone() -> None:
    """A buffer with room for two batches returns no row of the first batch again."""
    one, buffer = Recorder(), shuffled(4 * ROWS)
    for first in (0, 1000):
        update(numbered(first, ROWS), one.advantage, one.loss, one.optimizer, buffer, epochs=2)
        old = [x for sample in one.seen[-2:] for x in sample if not first <= x < first + ROWS]
        assert not old, (
            f"batch from row {first}: you also use {len(old)} rows of another batch, like {old[:4]}"
        )
    assert len(one.seen) == 4, f"{len(one.seen)} samples for 2 batches of 2 epochs, expected 4"


@training
def test_scores_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores count the ends in each batch; the third batch has none, and counts as one episode."""
    expected, collected = [], kata.collected

    def shown(*args: Any) -> Any:
        for batch in collected(*args):
            if len(expected) == 2:
                batch["next", "done"] = torch.zeros_like(batch["next", "done"])
            expected.append(250 / max(1, int(batch["next", "done"].sum())))
            yield batch

    monkeypatch.setattr(kata, "collected", shown)
    scores = learn(1, 250, 3, 1)

    assert len(scores) == len(expected), f"{len(scores)} scores for {len(expected)} batches"
    assert scores[0] < 250, (
        f"every score equals frames, {scores}: do you count the dones? A step's done is under "
        '("next", "done")'
    )
    for yours, right in zip(scores, expected, strict=True):
        assert abs(yours - right) < 1e-6, (
            f"scores of 3 batches of 250: yours {scores}, expected {expected}: 250 divided by the "
            "number of dones, or by 1 if there are none"
        )


@training
def test_scores_of_a_short_run() -> None:
    """The same seed gives the same scores; the first score is that of an untrained policy."""
    first, again, other = (learn(seed, 250, 2, 1) for seed in (3, 3, 4))

    assert first == again, f"seed 3 twice: {first} and {again}, expected the same"
    assert first != other, f"seeds 3 and 4 have the same scores {first}"
    for score in (*first, *other):
        assert 9 < score < 60, f"an untrained policy scores {score:.1f}: return steps per episode"


@training
def test_it_learns() -> None:
    """The agent learns, from 20 steps to more than 100, in nine batches of 750."""
    scores = learn(0, 750, 9, 6)
    shown = [round(score) for score in scores]

    assert len(scores) == 9, f"{len(scores)} scores, expected 9"
    assert scores[0] < 40, f"the first policy is untrained, expected a score below 40: {shown}"
    assert max(scores[-3:]) > 100, (
        f"steps per episode, by batch: {shown}, expected over 100 at the end"
    )
