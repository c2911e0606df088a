"""CartPole learns, with TorchRL.

You have built the pieces; now use TorchRL's. One run of `learn` takes ten seconds or so: a
policy that falls after about 20 steps learns to hold the pole for more than 100:

    collected --> batch --> GAE --> buffer --> samples of 250 --> ClipPPOLoss --> optimizer
        ^                              ^____________ each epoch _____________________|
        |___________________________________ the next batch _________________________|

1. `advantages`, `clipped` and `shuffled`: the pieces, with the numbers of their docstrings.
2. `update`: learn from one batch.
3. `learn`: from the environment to the scores. About 30 lines.

- An advantage is a number, not a function of the critic: keep no graph of it, and estimate it once
  per batch.
- Add up the loss's entries named ``loss_...``; the other entries are only for you to look at.
- Keep nothing of the last batch when you learn from the next.

Begin with ``print(batch)`` for a batch of ten steps.
Afterwards read ``Adam`` in ``torch/optim/adam.py``, in site-packages. Real life differs: several
processes collect, while another one learns.
"""

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
    """Return TorchRL's GAE, which adds ``advantage`` and ``value_target`` to a batch.

    ``rl("objectives.value").GAE`` with gamma 0.99 and lambda 0.95, and advantages standardised over
    the batch (``average_gae``).
    """
    # TODO
    raise NotImplementedError("advantages")


def clipped(actor: Any, critic: Any) -> Any:
    """Return TorchRL's ClipPPOLoss, from ``rl("objectives")``.

    Clip at 0.2; the entropy's coefficient is 0.01, the critic's 0.5.
    """
    # TODO
    raise NotImplementedError("clipped")


def shuffled(rows: int) -> Any:
    """Return a ReplayBuffer for `rows` rows, with samples of ROWS drawn without replacement.

    ``rl("data")`` has ReplayBuffer and LazyTensorStorage, ``rl("data.replay_buffers")`` has
    SamplerWithoutReplacement.
    """
    # TODO
    raise NotImplementedError("shuffled")


def update(
    batch: Any, advantage: Any, loss: Any, optimizer: Any, buffer: Any, *, epochs: int
) -> None:
    """Learn from one batch: each epoch uses each of its rows once, and no other rows.

    `advantage` is called with the batch, which has a multiple of ROWS rows, and `loss` with a
    sample; `loss` returns its tensors by name.
    """
    # TODO: buffer.empty(), buffer.extend(rows), buffer.sample().
    raise NotImplementedError("update")


def learn(seed: int, frames: int, batches: int, epochs: int) -> list[float]:
    """For each batch, return the steps per episode, before learning from it.

    Divide `frames` by the number of True entries in ``batch["next", "done"]``, or by 1 if there are
    none. Use Adam with a learning rate of 3e-3, for all parameters of the loss.
    """
    # TODO: `parts`, your pieces, then a loop over `collected`.
    raise NotImplementedError("learn")
