"""Tests of k13_decoder: a decoder written out head by head, calls counted, and Transformers."""

from __future__ import annotations

import importlib
import math
from typing import Any

import pytest
import torch

from katas.lecture23.k13_decoder import Attention
from katas.lecture23.k13_decoder import Config
from katas.lecture23.k13_decoder import Decoder
from katas.lecture23.k13_decoder import StaticCache
from katas.lecture23.k13_decoder import generate
from plugins.kit import unchanged


one = pytest.mark.step(1, "attention")
two = pytest.mark.step(2, "block and decoder")
three = pytest.mark.step(3, "static cache")
four = pytest.mark.step(4, "greedy generation")
CONFIG = Config()
PROMPT = torch.tensor([[7, 3, 8, 5, 1], [2, 2, 30, 0, 11]])


def numbers(*size: int, seed: int = 0) -> torch.Tensor:
    """Return irrational float64 values."""
    dice = torch.Generator().manual_seed(seed)
    return torch.randn(*size, dtype=torch.float64, generator=dice)


def filled(module: Any, seed: int = 1) -> Any:
    """Return the module in float64, with irrational weights that are not small."""
    module = module.double()
    with torch.no_grad():
        for number, weight in enumerate(module.parameters()):
            weight.copy_(0.5 * numbers(*weight.shape, seed=100 * seed + number))
    return module


def decoder(seed: int = 1) -> Any:
    """Return a decoder of two layers."""
    return filled(Decoder(CONFIG), seed)


def written_out(module: Any, x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    """Return attention, with a loop over heads and queries; rotated by complex numbers."""
    dim, group, out = CONFIG.dim, CONFIG.heads // CONFIG.kv_heads, []
    angles = positions[:, None] * 10000.0 ** -(torch.arange(0, dim, 2) / dim)
    unit = torch.complex(angles.cos().double(), angles.sin().double())

    def turned(y: torch.Tensor) -> torch.Tensor:
        z = torch.complex(*y.chunk(2, -1)) * unit
        return torch.cat([z.real, z.imag], -1)

    for head in range(CONFIG.heads):
        ours = slice(head * dim, (head + 1) * dim)
        theirs = slice(head // group * dim, (head // group + 1) * dim)
        q = turned(x @ module.q_proj.weight[ours].t())
        k = turned(x @ module.k_proj.weight[theirs].t())
        v = x @ module.v_proj.weight[theirs].t()
        rows = [
            (q[:, i : i + 1] @ k[:, : i + 1].transpose(1, 2) / math.sqrt(dim)).softmax(-1)
            @ v[:, : i + 1]
            for i in range(x.shape[1])
        ]
        out.append(torch.cat(rows, 1))
    return torch.cat(out, -1) @ module.o_proj.weight.t()


def expected(model: Any, tokens: torch.Tensor) -> torch.Tensor:
    """Return logits of all tokens, without a cache."""
    positions = torch.arange(tokens.shape[1])

    def norm(y: torch.Tensor, module: Any) -> torch.Tensor:
        size: torch.Tensor = (y * y).mean(-1, keepdim=True) + 1e-6
        return y * size.rsqrt() * module.weight

    x = model.embed_tokens.weight[tokens]
    for layer in model.layers:
        x = x + written_out(layer.self_attn, norm(x, layer.input_layernorm), positions)
        x = x + layer.mlp(norm(x, layer.post_attention_layernorm))
    return (norm(x, model.norm) @ model.lm_head.weight.t()).detach()


def slowly(model: Any, text: torch.Tensor, new: int) -> torch.Tensor:
    """Return the greedy continuation, computing each token from all before it."""
    for _ in range(new):
        text = torch.cat([text, expected(model, text)[:, -1:].argmax(-1)], 1)
    return text


def new_cache(room: int, rows: int = 2) -> StaticCache:
    """Return a cache with 1,000 wherever nothing was written."""
    cache = StaticCache(CONFIG, rows, room, torch.float64)
    cache.keys.fill_(1000.0)
    cache.values.fill_(1000.0)
    return cache


def same(yours: torch.Tensor, right: torch.Tensor, what: str, bar: float = 1e-11) -> None:
    """Compare values, after shapes."""
    __tracebackhide__ = True
    assert yours.shape == right.shape, (
        f"{what}: your shape is {list(yours.shape)}, expected {list(right.shape)}"
    )
    found, wanted = yours.detach().double(), right.detach().double()
    off = (found - wanted).abs()
    close = torch.allclose(found, wanted, rtol=bar, atol=bar)
    assert close, (
        f"{what}: off by up to {off.max().item():.3g}, at"
        f" {[int(i) for i in torch.unravel_index(off.argmax(), off.shape)]}"
    )


def by_token(yours: torch.Tensor, right: torch.Tensor, what: str, bar: float = 1e-11) -> None:
    """Compare [rows, tokens, ...], and name the first token that differs."""
    __tracebackhide__ = True
    if yours.shape == right.shape:
        close = torch.isclose(yours.double(), right.double(), rtol=bar, atol=bar)
        bad = (~close).transpose(0, 1).flatten(1).any(1).nonzero().flatten().tolist()
        what += f"; token {bad[0]} is the first that differs" if bad else ""
    same(yours, right, what, bar)


@one
def test_one_token_reads_itself() -> None:
    """With one key, each query head of a group gets its value."""
    module, x = filled(Attention(CONFIG, 0)), numbers(2, 1, 16, seed=3)
    yours = module(x, torch.tensor([5]), None)
    v = module.v_proj(x).unflatten(2, (2, 4)).repeat_interleave(2, 2).flatten(2)
    what = (
        "a token alone reads its own v: which key head serves which query head? are values turned?"
    )
    same(yours, module.o_proj(v), what)


@one
def test_attention_over_a_row() -> None:
    """Compare heads, groups and order with a loop."""
    module, x = filled(Attention(CONFIG, 0)), numbers(2, 6, 16, seed=4)
    with unchanged(module, x=x):
        yours = module(x, torch.arange(6), None)
    right = written_out(module, x, torch.arange(6))
    by_token(yours, right, "six tokens (does token 0 read later ones?)")


@one
def test_nobody_sees_the_next_token() -> None:
    """The last token changes, and only its own output changes."""
    module, x = filled(Attention(CONFIG, 0)), numbers(1, 6, 16, seed=5)
    other = torch.cat([x[:, :5], numbers(1, 1, 16, seed=6)], 1)
    yours, after = (module(each, torch.arange(6), None) for each in (x, other))
    what = "outputs before the token that changed (does token 0 read later ones?)"
    by_token(after[:, :5], yours[:, :5], what)
    assert not torch.allclose(after[:, 5], yours[:, 5]), (
        "the last output did not change when its token did"
    )


@one
def test_positions_are_used() -> None:
    """Shifting all positions changes nothing; stretching them does."""
    module, x = filled(Attention(CONFIG, 0)), numbers(1, 4, 16, seed=7)
    places = torch.arange(4)
    yours, shifted, stretched = (module(x, each, None) for each in (places, places + 9, 3 * places))
    by_token(shifted, yours, "positions 9 to 12, compared with 0 to 3", 1e-5)
    by_token(stretched, written_out(module, x, 3 * places), "positions 0, 3, 6 and 9")


@two
def test_logits() -> None:
    """Two layers, compared with a decoder written out."""
    model = decoder()
    with unchanged(model, PROMPT):
        yours = model(PROMPT, torch.arange(5))
    by_token(yours, expected(model, PROMPT), "logits as [row, token, word]")


@two
def test_the_second_norm_comes_after_attention() -> None:
    """One block: x is added twice, and each part reads a normalised x."""
    model, x = decoder(2), numbers(2, 3, 16, seed=8)
    block, places = model.layers[0], torch.arange(3)
    half = x + written_out(block.self_attn, block.input_layernorm(x), places)
    right = half + block.mlp(block.post_attention_layernorm(half))
    with unchanged(x=x):
        yours = block(x, places, None)
    by_token(yours, right, "one block")


@two
def test_gradients_reach_every_weight() -> None:
    """Nothing is detached on the way."""
    model = decoder()
    model(PROMPT, torch.arange(5)).square().sum().backward()
    none = [name for name, weight in model.named_parameters() if weight.grad is None]
    assert not none, f"no gradient reached {none}"


@three
def test_update_writes_one_layer() -> None:
    """The update writes at its positions, in place, and returns the whole layer."""
    cache, k, v = new_cache(5), numbers(2, 2, 2, 4), numbers(2, 2, 2, 4, seed=1)
    keys, values = cache.keys, cache.values
    right = [torch.full((2, 2, 2, 5, 4), 1000.0, dtype=torch.float64) for _ in "kv"]
    right[0][1, :, :, [3, 1]], right[1][1, :, :, [3, 1]] = k, v
    with unchanged(k=k, v=v):
        yours = cache.update(1, k, v, torch.tensor([3, 1]))
    for name, found, kept, before, wanted in zip(
        ("keys", "values"), yours, (cache.keys, cache.values), (keys, values), right, strict=True
    ):
        assert kept is before, f"the cache no longer holds the same tensor of {name}"
        same(kept, wanted, f"all {name} in the cache, after positions 3 and 1 of layer 1")
        same(found, wanted[1], f"{name} that update returned, of layer 1")


@three
def test_the_mask_of_the_cache() -> None:
    """A query sees slots up to its own position."""
    yours = new_cache(5).mask(torch.tensor([0, 3, 4]))
    right = torch.tensor([[1, 0, 0, 0, 0], [1, 1, 1, 1, 0], [1, 1, 1, 1, 1]]).bool()
    assert yours.dtype == torch.bool, f"your mask is {yours.dtype}, expected torch.bool"
    equal = torch.equal(yours, right)
    assert equal, f"yours {yours.int().tolist()}, expected {right.int().tolist()}"


@three
def test_a_prompt_into_the_cache() -> None:
    """The logits are those without a cache, whatever comes after the prompt."""
    model = decoder()
    yours = model(PROMPT, torch.arange(5), new_cache(9))
    by_token(yours, expected(model, PROMPT), "logits of a prompt of 5, room for 9")


@three
@pytest.mark.parametrize("parts", [[1, 1, 1, 1, 1], [3, 2], [2, 1, 2]])
def test_part_by_part(parts: list[int]) -> None:
    """Tokens read in several calls give the same logits as in one call."""
    model, cache, start, logits = decoder(), new_cache(6), 0, []
    for count in parts:
        tokens = PROMPT[:, start : start + count]
        logits.append(model(tokens, torch.arange(start, start + count), cache))
        start += count
    by_token(torch.cat(logits, 1), expected(model, PROMPT), f"a prompt of 5, in calls of {parts}")


@four
def test_greedy_tokens() -> None:
    """Each token is the likeliest after all tokens so far."""
    for seed in (1, 2, 3):
        model = decoder(seed)
        with unchanged(model, PROMPT):
            yours = generate(model, PROMPT, 8)
        right = slowly(model, PROMPT, 8)
        assert yours.tolist() == right.tolist(), (
            f"8 tokens after 5: yours {yours.tolist()}, without a cache {right.tolist()}"
        )
        assert yours.dtype == torch.int64, f"your tokens are {yours.dtype}, expected torch.int64"


@four
def test_each_token_is_read_once() -> None:
    """With a prompt of 5 and 4 new tokens, the model reads 5 at once, then one by one."""
    model, read, graphs = decoder(), [], []

    def seen(_module: Any, inputs: Any, output: torch.Tensor) -> None:
        read.append((inputs[0].shape[1], inputs[1].tolist()))
        graphs.append(output.requires_grad)

    model.register_forward_hook(seen)
    generate(model, PROMPT, 4)
    right = [(5, [0, 1, 2, 3, 4]), (1, [5]), (1, [6]), (1, [7])]
    assert read == right, f"tokens and positions of your calls: {read}, expected {right}"
    assert not any(graphs), "the logits require grad, expected no graph"
    assert torch.is_grad_enabled(), "grad mode is off after generate"


@four
def test_a_second_prompt_knows_nothing_of_the_first() -> None:
    """Nothing is kept between calls, even with one row and one new token."""
    model = decoder()

    def attributes() -> set[str]:
        return {f"{name}.{x}" for name, module in model.named_modules() for x in vars(module)}

    before = attributes()
    generate(model, PROMPT, 6)
    left = sorted(attributes() - before)
    assert not left, f"after generate the model has new attributes {left}, expected none"
    for prompt, new in ((PROMPT[1:, :3], 5), (PROMPT[:, :1], 1)):
        yours, right = generate(model, prompt, new), slowly(model, prompt, new)
        assert yours.tolist() == right.tolist(), (
            f"yours {yours.tolist()}, expected {right.tolist()}"
        )


@four
def test_a_hundred_tokens() -> None:
    """The cache has room for the prompt and for all that may follow."""
    model = decoder(3)
    try:
        text = generate(model, PROMPT[:1], 100)
    except (IndexError, RuntimeError) as error:
        raise AssertionError(
            f"a prompt of 5 and 100 new tokens: {error}; how much room does your cache have?"
        ) from None
    assert text.shape == (1, 105), f"5 tokens and 100 new: your shape is {list(text.shape)}"
    right = expected(model, text)[:, 4:-1].argmax(-1)
    by_token(text[:, 5:], right, "100 new tokens, each the likeliest after your own before it")


@four
@pytest.mark.parametrize("rows", [[0], [1], [0, 1]])
def test_stop(rows: list[int]) -> None:
    """A row that has stopped goes on with `stop`; once all rows have, generation ends."""
    model = decoder(4)
    free = slowly(model, PROMPT[rows], 9)
    for stop in free[:, 5:].unique().tolist():
        ends = [row.index(stop) if stop in row else 8 for row in free[:, 5:].tolist()]
        right = free[:, : 6 + max(ends)].clone()
        for row, end in zip(right, ends, strict=True):
            row[6 + end :] = stop
        yours = generate(model, PROMPT[rows], 9, stop)
        assert yours.tolist() == right.tolist(), (
            f"stop={stop}: yours {yours.tolist()}, expected {right.tolist()}; without stop"
            f" {free.tolist()}"
        )


@four
def test_stop_may_be_word_0() -> None:
    """Word 0 may stop a row; only None means that there is no stop word."""
    model = decoder(3)
    free = slowly(model, PROMPT, 6)[:, 5:].tolist()
    ends = [row.index(0) for row in free]
    right = [row[:end] + [0] * (1 + max(ends) - end) for row, end in zip(free, ends, strict=True)]
    yours = generate(model, PROMPT, 6, 0)[:, 5:].tolist()
    assert yours == right, (
        f"stop=0, new tokens: yours {yours}, expected {right}; without stop {free}"
    )


@four
def test_a_stop_in_the_prompt_is_a_token() -> None:
    """Only what was generated can end a row."""
    model = decoder()
    right = slowly(model, PROMPT, 3)
    stop = next(x for x in PROMPT[0].tolist() if x not in right[:, 5:].flatten().tolist())
    yours = generate(model, PROMPT, 3, stop)
    assert yours.tolist() == right.tolist(), (
        f"the prompt contains stop={stop}: yours {yours.tolist()}, expected {right.tolist()}"
    )


@pytest.mark.backend("transformers")
@pytest.mark.time_limit(120)
def test_transformers_agrees() -> None:
    """A tiny Llama built from a configuration, its weights in your decoder, and its `generate`."""
    theirs = importlib.import_module("transformers")
    stop = 9
    config = theirs.LlamaConfig(
        vocab_size=CONFIG.words,
        hidden_size=CONFIG.width,
        intermediate_size=CONFIG.inner,
        num_hidden_layers=CONFIG.layers,
        num_attention_heads=CONFIG.heads,
        num_key_value_heads=CONFIG.kv_heads,
        max_position_embeddings=64,
        rms_norm_eps=1e-6,
        bos_token_id=None,
        eos_token_id=stop,
        pad_token_id=stop,
        initializer_range=0.5,
    )
    llama = theirs.LlamaForCausalLM(config).eval()
    filled(llama, 5)
    model = Decoder(CONFIG).double()
    weights = {name.removeprefix("model."): each for name, each in llama.state_dict().items()}
    model.load_state_dict(weights)
    with torch.no_grad():
        logits = llama(PROMPT).logits
        text = llama.generate(
            PROMPT, attention_mask=torch.ones_like(PROMPT), max_new_tokens=8, do_sample=False
        )
    # Llama's norms compute in float32.
    same(model(PROMPT, torch.arange(5)), logits, "logits, compared with Transformers' Llama", 1e-4)
    yours = generate(model, PROMPT, 8, stop)
    assert yours.tolist() == text.tolist(), (
        f"yours {yours.tolist()}, Transformers' generate {text.tolist()}"
    )
