"""Tests of k02_filters: the sets of kept tokens, compared with definitions in plain Python."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import assume
from hypothesis import example
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from katas.lecture24.k02_filters import filtered
from katas.lecture24.k02_filters import generate
from katas.lecture24.k02_filters import top_k
from katas.lecture24.k02_filters import top_p
from plugins.kit import unchanged


INF = float("inf")


def log(*values: float) -> torch.Tensor:
    """Return logits whose softmax is these values; they need not be normalised."""
    return torch.tensor(values, dtype=torch.float64).log() + 2**0.5


def kept(yours: torch.Tensor, logits: torch.Tensor, right: list[int], what: str) -> None:
    """Compare the set of tokens that one row keeps, and check that their logits are unchanged."""
    __tracebackhide__ = True
    found = [i for i, value in enumerate(yours.tolist()) if value > -INF]
    assert found == right, f"{what} of {logits.tolist()} keeps {found}, expected {right}"
    assert yours[right].tolist() == logits[right].tolist(), (
        f"{what}: the kept logits are {yours[right].tolist()}, expected them unchanged,"
        f" {logits[right].tolist()}"
    )


def k_of(logits: list[float], k: int) -> list[int]:
    """Return each token that fewer than k others exceed."""
    return [i for i, x in enumerate(logits) if sum(y > x for y in logits) < k and x > -INF]


def p_of(logits: torch.Tensor, p: float) -> list[int]:
    """Add tokens, the most probable first, until they reach p."""
    chances = torch.softmax(logits, -1).tolist()
    found: list[int] = []
    total = 0.0
    for token in sorted(range(len(chances)), key=lambda i: -chances[i]):
        if total >= p:
            break
        found.append(token)
        total += chances[token]
    return sorted(i for i in found if logits[i] > -INF)


def test_top_k() -> None:
    """The example of the brief, with every k from 1 on."""
    logits = log(0.2, 0.4, 0.1, 0.3)
    for k, right in ((2, [1, 3]), (1, [1]), (3, [0, 1, 3]), (4, [0, 1, 2, 3])):
        with unchanged(logits=logits):
            yours = top_k(logits, k)
        kept(yours, logits, right, f"top_k({k})")


def test_equals_stay_with_the_last_of_k() -> None:
    """If two tokens tie for second, top-2 keeps three; top-1 of equal tokens keeps all."""
    logits = log(0.2, 0.5, 0.2, 0.1)
    kept(top_k(logits, 2), logits, [0, 1, 2], "top_k(2)")
    kept(top_k(logits[[0, 2]], 1), logits[[0, 2]], [0, 1], "top_k(1)")


def test_more_than_there_are() -> None:
    """Top-50 of three tokens keeps all of them."""
    logits = log(0.2, 0.5, 0.3)
    kept(top_k(logits, 50), logits, [0, 1, 2], "top_k(50)")


def test_top_k_of_rows() -> None:
    """Each row, of any number of dims, has its own k-th largest."""
    logits = torch.stack([log(1, 2, 3, 4), log(40, 30, 20, 10)]).view(2, 1, 4)
    yours = top_k(logits, 2)
    kept(yours[0, 0], logits[0, 0], [2, 3], "the first row by top_k(2)")
    kept(yours[1, 0], logits[1, 0], [0, 1], "the second row by top_k(2)")


def test_top_p() -> None:
    """The example of the brief: the token that reaches p is kept too."""
    logits = log(0.1, 0.4, 0.2, 0.3)
    for p, right in ((0.8, [1, 2, 3]), (0.3, [1]), (0.6, [1, 3]), (0.95, [0, 1, 2, 3])):
        with unchanged(logits=logits):
            yours = top_p(logits, p)
        kept(yours, logits, right, f"top_p({p})")


def test_one_is_left() -> None:
    """However small p is, the most probable token stays."""
    for logits in (log(0.2, 0.5, 0.3), log(1e-9, 1.0)):
        kept(top_p(logits, 1e-9), logits, [1], "top_p(1e-9)")


def test_a_sum_that_is_p() -> None:
    """Two of four equal tokens reach 0.5 exactly: no third token is kept."""
    logits = torch.zeros(4, dtype=torch.float64)
    kept(top_p(logits, 0.5), logits, [0, 1], "top_p(0.5)")
    kept(top_p(logits, 0.25), logits, [0], "top_p(0.25)")


def test_of_equals_the_first() -> None:
    """A hundred equal tokens: p of 0.095 keeps the first ten."""
    logits = torch.zeros(100, dtype=torch.float64)
    kept(top_p(logits, 0.095), logits, [*range(10)], "top_p(0.095)")


def test_top_p_of_rows() -> None:
    """Each row has its own order."""
    logits = torch.stack([log(1, 2, 3, 4), log(40, 31, 20, 9)]).view(2, 1, 4)
    yours = top_p(logits, 0.65)
    kept(yours[0, 0], logits[0, 0], [2, 3], "the first row by top_p(0.65)")
    kept(yours[1, 0], logits[1, 0], [0, 1], "the second row by top_p(0.65)")


NUMBERS = st.lists(
    st.sampled_from([-INF, -1.5, 0.0, 0.3, 0.3, 2**0.5, 3.0]), min_size=1, max_size=7
)


@settings(max_examples=40, deadline=None)
@given(NUMBERS, st.integers(1, 8), st.floats(0.01, 0.98))
@example([-INF, -INF, 1.0], 2, 0.9)
def test_as_defined(values: list[float], k: int, p: float) -> None:
    """Compare with the definitions for any logits, some equal and some already -inf."""
    logits = torch.tensor([*values, 1.0], dtype=torch.float64)
    sums = torch.softmax(logits, -1).sort(descending=True).values.cumsum(0)
    assume((sums - p).abs().min() > 1e-9)
    kept(top_k(logits, k), logits, k_of(logits.tolist(), k), f"top_k({k})")
    kept(top_p(logits, p), logits, p_of(logits, p), f"top_p({p})")


def test_filtered_by_nothing() -> None:
    """Without arguments the logits are unchanged; a temperature divides them."""
    logits = log(0.2, 0.5, 0.3)
    with unchanged(logits=logits):
        plain, cold = filtered(logits), filtered(logits, 0.5)
    assert plain.tolist() == logits.tolist(), (
        f"without arguments: yours {plain.tolist()}, expected {logits.tolist()}"
    )
    right = (logits / 0.5).tolist()
    assert cold.tolist() == right, f"temperature 0.5: yours {cold.tolist()}, expected {right}"


def test_the_order_of_the_filters() -> None:
    """Top-2 keeps 0.4 and 0.3, which become 0.57 and 0.43: the first reaches 0.5."""
    logits = log(0.2, 0.4, 0.1, 0.3)
    kept(filtered(logits, k=2, p=0.5), logits, [1], "top-k 2, then top-p 0.5,")
    kept(filtered(logits, k=3), logits, [0, 1, 3], "top-k 3 alone")
    kept(filtered(logits, p=0.5), logits, [1, 3], "top-p 0.5 alone")


def test_a_temperature_comes_before_top_p() -> None:
    """At 0.25 the first token has 0.73, and top-p 0.6 keeps it alone; at 4 it keeps three."""
    logits = log(0.2, 0.4, 0.1, 0.3)
    kept(filtered(logits, 0.25, p=0.6), logits / 0.25, [1], "temperature 0.25, top-p 0.6,")
    kept(filtered(logits, 4.0, p=0.6), logits / 4, [0, 1, 3], "temperature 4, top-p 0.6,")


@pytest.mark.backend("transformers")
@pytest.mark.time_limit(120)
def test_transformers_agrees() -> None:
    """With the same seed `generate` of a tiny model samples the same tokens."""
    from transformers import GenerationConfig  # noqa: PLC0415 - optional
    from transformers import LlamaConfig  # noqa: PLC0415
    from transformers import LlamaForCausalLM  # noqa: PLC0415

    torch.manual_seed(0)
    sizes: dict[str, Any] = {
        "vocab_size": 40,
        "hidden_size": 16,
        "intermediate_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "initializer_range": 1.0,
        "eos_token_id": None,
        "bos_token_id": None,
    }
    llama = LlamaForCausalLM(LlamaConfig(**sizes)).eval()
    ids = torch.tensor([[3, 1, 4, 1, 5], [9, 2, 6, 5, 3]])
    options = GenerationConfig(
        do_sample=True,
        temperature=1.5,
        top_k=9,
        top_p=0.9,
        max_new_tokens=12,
        use_cache=False,
        eos_token_id=None,
        pad_token_id=0,
    )
    with torch.no_grad():
        torch.manual_seed(1)
        theirs = llama.generate(ids, options, attention_mask=torch.ones_like(ids)).tolist()
        torch.manual_seed(1)
        yours = generate(lambda x: llama(x).logits[:, -1], ids, 12, (1.5, 9, 0.9)).tolist()
    assert yours == theirs, f"yours {yours}\ntheirs {theirs}"
