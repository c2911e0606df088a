"""CartPole learns, with TorchRL."""

from __future__ import annotations

import importlib
import warnings
from typing import TYPE_CHECKING
from typing import Any

import torch
from torch import nn


if TYPE_CHECKING:
    from collections.abc import Iterable

ROWS = 250


# Given: do not change. Imports take seconds, so they run only when needed.
def rl(name: str) -> Any:
    """Return TorchRL's module of this name: ``rl("objectives").ClipPPOLoss``."""
    with warnings.catch_warnings(action="ignore"):
        return importlib.import_module(f"torchrl.{name}")


def parts(seed: int) -> tuple[Any, Any, Any]:
    """Return the environment, a policy (the actor) and a value estimate (the critic)."""
    torch.manual_seed(seed)
    env = rl("envs").GymEnv("CartPole-v1")
    env.set_seed(seed)

    def network(outputs: int) -> nn.Module:
        layers = (nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        return nn.Sequential(*layers, nn.Linear(64, outputs))

    modules = rl("modules")
    logits = importlib.import_module("tensordict.nn").TensorDictModule(
        network(2), ["observation"], ["logits"]
    )
    actor = modules.ProbabilisticActor(
        logits,
        in_keys=["logits"],
        out_keys=["action"],
        distribution_class=modules.OneHotCategorical,
        return_log_prob=True,
    )
    return env, actor, modules.ValueOperator(network(1), in_keys=["observation"])


def collected(env: Any, actor: Any, frames: int, batches: int) -> Iterable[Any]:
    """Return a collector of `batches` batches, each with `frames` steps of the current policy."""
    return rl("collectors").Collector(
        env,
        actor,
        frames_per_batch=frames,
        total_frames=frames * batches,
        auto_register_policy_transforms=False,
    )


# The exercise.
def advantages(critic: Any) -> Any:
    """Return TorchRL's GAE, which adds ``advantage`` and ``value_target`` to a batch."""
    gae = rl("objectives.value").GAE
    return gae(gamma=0.99, lmbda=0.95, value_network=critic, average_gae=True)


def clipped(actor: Any, critic: Any) -> Any:
    """Return TorchRL's ClipPPOLoss."""
    loss = rl("objectives").ClipPPOLoss
    return loss(actor, critic, clip_epsilon=0.2, entropy_coeff=0.01, critic_coeff=0.5)


def shuffled(rows: int) -> Any:
    """Return a ReplayBuffer for `rows` rows, with samples of ROWS drawn without replacement."""
    data = rl("data")
    sampler = rl("data.replay_buffers").SamplerWithoutReplacement()
    return data.ReplayBuffer(storage=data.LazyTensorStorage(rows), sampler=sampler, batch_size=ROWS)


def update(
    batch: Any, advantage: Any, loss: Any, optimizer: Any, buffer: Any, *, epochs: int
) -> None:
    """Learn from one batch: each epoch uses each of its rows once, and no other rows."""
    with torch.no_grad():
        advantage(batch)
    for _ in range(epochs):
        buffer.empty()
        buffer.extend(batch.reshape(-1))
        for _ in range(len(buffer) // ROWS):
            values = loss(buffer.sample())
            total = sum(value for name, value in values.items() if name.startswith("loss_"))
            optimizer.zero_grad()
            total.backward()
            optimizer.step()


def learn(seed: int, frames: int, batches: int, epochs: int) -> list[float]:
    """For each batch, return the steps per episode, before learning from it."""
    env, actor, critic = parts(seed)
    advantage, loss, buffer = advantages(critic), clipped(actor, critic), shuffled(frames)
    optimizer = torch.optim.Adam(loss.parameters(), 3e-3)
    scores = []
    for batch in collected(env, actor, frames, batches):
        scores.append(frames / max(1, int(batch["next", "done"].sum())))
        update(batch, advantage, loss, optimizer, buffer, epochs=epochs)
    return scores
