"""Tests of k10_recompiles: the same values as with cat, and compilations counted for each way."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch

from katas.lecture23.k10_recompiles import by_cat
from katas.lecture23.k10_recompiles import by_hand
from katas.lecture23.k10_recompiles import by_int
from katas.lecture23.k10_recompiles import compilations
from katas.lecture23.k10_recompiles import step
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Iterator


HEADS, DIM, TOKENS = 2, 4, 12


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Silence the compiler's log."""
    monkeypatch.setattr(logging.getLogger("torch.__trace"), "disabled", True)


def static(tokens: int, room: int, dtype: torch.dtype = torch.float64) -> Iterator[tuple[Any, ...]]:
    """Yield arguments of `step`, with 1,000 wherever the cache was not written yet."""
    dice = torch.Generator().manual_seed(room)
    cache = [torch.full((1, HEADS, room, DIM), 1000.0, dtype=dtype) for _ in "kv"]
    for position in range(tokens):
        q, k, v = torch.randn(3, 1, HEADS, 1, DIM, generator=dice, dtype=dtype)
        yield cache, q, k, v, torch.tensor([position])


@pytest.mark.parametrize("room", [TOKENS, 20])
def test_each_token_reads_what_it_reads_by_cat(room: int) -> None:
    """Values are the same at each position, up to a full cache."""
    grown: list[Any] = [torch.zeros(1, HEADS, 0, DIM, dtype=torch.float64) for _ in "kv"]
    for cache, q, k, v, position in static(TOKENS, room):
        with unchanged(q=q, k=k, v=v, position=position):
            yours = step(cache, q, k, v, position)
        right = by_cat(grown, q, k, v, 0)
        where = f"position {position.item()} of room {room}"
        assert yours.shape == right.shape, (
            f"{where}: your shape is {list(yours.shape)}, expected {list(right.shape)}"
        )
        close = torch.allclose(yours, right, rtol=1e-12, atol=1e-12)
        assert close, (
            f"{where}: yours {yours.flatten().tolist()}, by cat {right.flatten().tolist()}"
        )


def test_the_cache_is_written_in_place() -> None:
    """Keys and values are at their position, and the rest is unchanged."""
    calls = list(static(3, 5))
    cache = calls[0][0]
    keys, values = cache
    for arguments in calls:
        step(*arguments)
    for which, before in enumerate((keys, values)):
        same = cache[which] is before
        assert same, f"cache[{which}] is no longer the same tensor: write to it in place"
    for which, (name, found) in enumerate((("keys", keys), ("values", values))):
        right = torch.cat([each[2 + which] for each in calls], 2)
        equal, rest = torch.equal(found[:, :, :3], right), bool((found[:, :, 3:] == 1000).all())
        assert equal, f"the {name} of three tokens are not in the cache: {found[0, 0, :3].tolist()}"
        assert rest, f"{name} after the last token were modified"


def test_it_compiles_once() -> None:
    """One graph serves all positions."""
    yours = compilations(step, static(TOKENS, 16, torch.float32))
    ways = {
        "by_cat": compilations(by_cat, by_hand(TOKENS)),
        "by_int": compilations(by_int, by_hand(TOKENS, 16)),
    }
    torch.compiler.reset()
    assert yours == 1, (
        f"for {TOKENS} tokens your step calls the backend {yours} times, expected once; the"
        f" given functions: {ways}. Run with TORCH_LOGS=recompiles,graph_breaks to see why"
    )


@pytest.mark.given
def test_given_ways_compile_again() -> None:
    """A size that grows and a Python number that changes both recompile."""
    for way, room in ((by_cat, 0), (by_int, 16)):
        found = compilations(way, by_hand(TOKENS, room))
        assert found > 1, f"{way.__name__} calls the backend {found} times for {TOKENS} tokens"
    torch.compiler.reset()
