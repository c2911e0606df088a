"""Tests of k07_rotary: the same as complex numbers, and as Transformers' Llama if installed."""

from __future__ import annotations

import pytest
import torch

from katas.lecture23.conftest import close
from katas.lecture23.conftest import numbers
from katas.lecture23.k07_rotary import rotate
from katas.lecture23.k07_rotary import to_halves
from plugins.kit import unchanged


def turned(x: torch.Tensor, positions: torch.Tensor, base: float = 10000.0) -> torch.Tensor:
    """Return x, with its pairs as complex numbers multiplied by numbers of magnitude 1."""
    size = x.shape[-1]
    speeds = torch.tensor([base ** (-2 * i / size) for i in range(size // 2)], dtype=torch.float64)
    angles = positions.double()[..., None] * speeds
    points = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(points * torch.polar(torch.ones_like(angles), angles)).flatten(-2)


def order(size: int) -> list[int]:
    """Return where the numbers of "halves" are in "pairs"."""
    return [*range(0, size, 2), *range(1, size, 2)]


def test_two_numbers() -> None:
    """One pair rotates by 1 for each position: the layouts agree on two numbers."""
    c, s = torch.tensor(2.0).double().cos().item(), torch.tensor(2.0).double().sin().item()
    right = [[1.0, 0.0], [c, s], [-s, c]]
    for layout in ("pairs", "halves"):
        x = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]).double()
        with unchanged(x=x):
            yours = rotate(x, torch.tensor([0, 2, 2]), layout=layout)
        close(yours, right, f"{layout}: (1, 0) at 0, (1, 0) at 2, (0, 1) at 2: counterclockwise")


def test_pairs() -> None:
    """The values match complex numbers."""
    x, positions = numbers(7, 6), torch.arange(7)
    close(rotate(x, positions, layout="pairs"), turned(x, positions), "pairs (0 1) (2 3) (4 5)")


def test_halves() -> None:
    """The layout "halves" has the same numbers in a different order; it is the default."""
    x, positions = numbers(7, 6), torch.arange(7)
    right = torch.empty_like(x)
    right[:, order(6)] = x
    right = turned(right, positions)[:, order(6)]
    close(rotate(x, positions, layout="halves"), right, "halves (0 3) (1 4) (2 5)")
    close(rotate(x, positions), right, "without a layout: halves")


def test_the_base() -> None:
    """The base is 10,000 by default."""
    x, positions = numbers(5, 8), torch.tensor([3, 1, 4, 1, 5])
    for base in (10000.0, 500000.0, 1.0):
        yours = rotate(x, positions, layout="pairs", base=base)
        close(yours, turned(x, positions, base), f"base={base}, at positions 3, 1, 4, 1, 5")


def test_heads_and_texts() -> None:
    """First all texts have the same positions, then each has its own."""
    x = numbers(2, 3, 5, 4)
    for positions in (torch.arange(5), torch.arange(10).view(2, 1, 5), torch.tensor(7)):
        close(
            rotate(x, positions, layout="pairs"),
            turned(x, positions),
            f"x of [2, 3, 5, 4], positions of {[*positions.shape]}",
        )
    close(rotate(x[..., :0, :], torch.arange(0)), x[..., :0, :], "no token")


@pytest.mark.parametrize("layout", ["pairs", "halves"])
def test_scores_depend_on_the_distance(layout: str) -> None:
    """A query at 9 and a key at 4 score like those at 105 and 100, not like those at 4 and 9."""
    q, k = numbers(8, seed=1), numbers(8, seed=2)

    def score(m: int, n: int) -> torch.Tensor:
        places = torch.tensor(m), torch.tensor(n)
        return rotate(q, places[0], layout=layout) @ rotate(k, places[1], layout=layout)

    close(score(105, 100), score(9, 4), f"{layout}: both are five apart", 1e-11)
    close(score(7, 7), q @ k, f"{layout}: at the same position nothing changes")
    assert abs(score(4, 9) - score(9, 4)) > 1e-3, (
        f"{layout}: a key before and a key after have the same score, expected different scores"
    )


def test_backward_turns_back() -> None:
    """The gradient is rotated by the negative angle."""
    x, grad = numbers(5, 6).requires_grad_(), numbers(5, 6, seed=1)
    positions = torch.arange(5)
    for layout in ("pairs", "halves"):
        (yours,) = torch.autograd.grad(rotate(x, positions, layout=layout), x, grad)
        right = rotate(grad, -positions, layout=layout)
        close(yours, right, f"{layout}: the gradient is turned back")


def test_far_away() -> None:
    """At position 1,000,000, no angle is rounded to float32 or bfloat16."""
    positions = torch.tensor([1_000_000, 999_999])
    for dtype, tolerance in ((torch.float32, 1e-6), (torch.bfloat16, 2e-2)):
        x = torch.tensor([[1.0, 0.0, 0.5, 2.0], [0.5, 1.0, 0.0, 1.0]], dtype=dtype)
        with unchanged(x=x, positions=positions):
            yours = rotate(x, positions, layout="pairs")
        assert yours.dtype == dtype, f"for {dtype} inputs, your result is {yours.dtype}"
        close(yours.double(), turned(x.double(), positions), f"far away, in {dtype}", tolerance)


def test_weights_for_halves() -> None:
    """Rows move within their head."""
    weight = torch.arange(12).view(12, 1).double()
    with unchanged(weight=weight):
        yours = to_halves(weight, 2)
    close(yours.flatten(), [0, 2, 4, 1, 3, 5, 6, 8, 10, 7, 9, 11], "rows of two heads of 6")


def test_the_scores_stay() -> None:
    """A model trained with pairs gives the same scores with reordered weights and halves."""
    x, positions = numbers(5, 7), torch.arange(5)
    w, u = numbers(24, 7, seed=1), numbers(24, 7, seed=2)

    def scores(query: torch.Tensor, key: torch.Tensor, layout: str) -> torch.Tensor:
        q, k = ((x @ m.t()).unflatten(1, (3, 8)).transpose(0, 1) for m in (query, key))
        return rotate(q, positions, layout=layout) @ rotate(k, positions, layout=layout).mT

    right = scores(w, u, "pairs")
    yours = scores(to_halves(w, 3), to_halves(u, 3), "halves")
    close(yours, right, "scores of three heads of 8", 1e-11)


@pytest.mark.backend("transformers")
def test_llama_agrees() -> None:
    """Compare with the rotation in a model built from a configuration."""
    from transformers.models.llama import modeling_llama as llama  # noqa: PLC0415 - optional
    from transformers.models.llama.configuration_llama import LlamaConfig  # noqa: PLC0415

    config = LlamaConfig(hidden_size=24, num_attention_heads=3, num_hidden_layers=1, vocab_size=8)
    q, k = numbers(2, 3, 5, 8, seed=1).float(), numbers(2, 3, 5, 8, seed=2).float()
    positions = torch.arange(3, 8)
    cos, sin = llama.LlamaRotaryEmbedding(config)(q, positions.expand(2, 5))
    right = llama.apply_rotary_pos_emb(q, k, cos, sin)
    for name, x, theirs in zip("qk", (q, k), right, strict=True):
        close(rotate(x, positions, layout="halves"), theirs, f"Llama's {name}", 1e-5)
