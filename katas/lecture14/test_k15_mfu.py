"""Tests of k15_mfu: compared with a decoder of the same shapes under PyTorch's FLOP counter."""

from __future__ import annotations

from functools import cache

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
from torch.utils.flop_counter import FlopCounterMode

from katas.lecture14 import k15_mfu as kata
from katas.lecture14.k15_mfu import Model
from plugins.kit import forbids


MODELS = [
    Model(layers=1, width=2, hidden=3, vocab=5, length=1),
    Model(layers=3, width=8, hidden=20, vocab=11, length=7),
    Model(layers=2, width=6, hidden=6, vocab=40, length=64),
    Model(layers=5, width=4, hidden=32, vocab=7, length=3),
]
LONG = Model(layers=32, width=4096, hidden=16384, vocab=32000, length=131072)
BATCH = 2
models = pytest.mark.parametrize("model", MODELS, ids=lambda model: f"length {model.length}")


class Block(nn.Module):
    """Attention with a single head, and two linear layers."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.up = nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Attend to all tokens."""
        q, k, v = self.qkv(x).chunk(3, -1)
        x = x + self.out((q @ k.mT).softmax(-1) @ v)
        down: torch.Tensor = self.down(self.up(x).relu())
        return x + down


@cache
def measured(model: Model, again: str = "") -> tuple[int, int, int]:
    """Return the FLOPs per token, those without weights, and the number of weights."""
    embedding = nn.Embedding(model.vocab, model.width)
    blocks = [Block(model.width, model.hidden) for _ in range(model.layers)]
    head = nn.Linear(model.width, model.vocab, bias=False)
    with FlopCounterMode(display=False) as counter:
        x = embedding(torch.zeros(BATCH, model.length, dtype=torch.long))
        for block in blocks:
            x = checkpoint(block, x, use_reentrant=False) if again else block(x)
        head(x).sum().backward()
    tokens = BATCH * model.length
    kinds = counter.get_flop_counts()["Global"]
    bare = sum(count for name, count in kinds.items() if "bmm" in str(name))
    weights = sum(p.numel() for part in [*blocks, head] for p in part.parameters())
    return counter.get_total_flops() // tokens, bare // tokens, weights


def check(yours: float, right: float, what: str, why: str) -> None:
    """Compare a count with PyTorch's."""
    assert type(yours) is int, f"{what}: you return a {type(yours).__name__}, expected an int"
    assert yours == right, f"{what}: yours {yours}, PyTorch's {right}: {why}"


@models
def test_parameters(model: Model) -> None:
    """The weights of the linear layers."""
    with forbids(kata) as mine:
        yours = mine.parameters(model)
    right = measured(model)[2]
    check(yours, right, f"{model}", "an embedding is a lookup, no product")


@models
def test_model_flops(model: Model) -> None:
    """A step without checkpoints, per token, by FlopCounterMode."""
    with forbids(kata) as mine:
        yours = mine.model_flops(model)
    check(yours, measured(model)[0], f"{model}", "6 N, and the two products of attention")


@models
def test_attention_share(model: Model) -> None:
    """The products that FlopCounterMode counts as bmm, which contain no weight."""
    total, bare, _ = measured(model)
    with forbids(kata) as mine:
        yours = mine.attention_share(model)
    assert yours == pytest.approx(bare / total, abs=1e-12), (
        f"{model}, the share of FLOPs in bmm: yours {yours:.4f}, PyTorch's {bare / total:.4f}"
    )


def test_a_long_context_is_attention() -> None:
    """The model of the brief: 6ND counts only a sixth."""
    with forbids(kata) as mine:
        yours = mine.attention_share(LONG)
    assert 0.8 < yours < 0.9, f"{LONG}: yours {yours:.3f}, expected more than four fifths"


@models
def test_hardware_flops(model: Model) -> None:
    """A step in which each block is a checkpoint."""
    with forbids(kata) as mine:
        yours = mine.hardware_flops(model)
    check(
        yours,
        measured(model, "again")[0],
        f"{model}, each block a checkpoint",
        "the head is in no checkpoint, and recomputation stops when the last saved tensor is back",
    )


@models
def test_utilization(model: Model) -> None:
    """Tokens per second times FLOPs per token, needed or computed, divided by the peak."""
    needed, computed = measured(model)[0], measured(model, "again")[0]
    with forbids(kata) as mine:
        mfu, hfu = mine.utilization(model, 3.5, 700.0)
        twice, _ = mine.utilization(model, 7.0, 700.0)
    assert mfu == pytest.approx(needed * 3.5 / 700, rel=1e-12), (
        f"MFU: yours {mfu}, expected {needed * 3.5 / 700} at {needed} FLOPs per token: "
        "recomputation does not train the model any further"
    )
    assert twice == pytest.approx(2 * mfu, rel=1e-12), (
        f"MFU: yours {twice} at 7 tokens/s and {mfu} at 3.5, expected twice as much"
    )
    assert hfu == pytest.approx(computed * 3.5 / 700, rel=1e-12), (
        f"HFU: yours {hfu}, expected {computed * 3.5 / 700}: the GPU has computed {computed} FLOPs"
    )
