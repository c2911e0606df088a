"""A decoder with a static cache, which generates what it would without one."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention


@dataclass(frozen=True)
class Config:
    """Sizes of a decoder; `heads` is a multiple of `kv_heads`. Given."""

    words: int = 31
    width: int = 16
    inner: int = 24
    layers: int = 2
    heads: int = 4
    kv_heads: int = 2

    @property
    def dim(self) -> int:
        """Return the width of a head."""
        return self.width // self.heads


def rotate(x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    """Return x [rows, heads, n, dim], rotated by int64 positions [n], in halves. Given."""
    dim = x.shape[-1]
    angles = positions[:, None] * 10000.0 ** -(torch.arange(0, dim, 2) / dim)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    a, b = x.chunk(2, -1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


class StaticCache:
    """Keys and values of all layers: two tensors [layers, rows, kv_heads, room, dim]."""

    def __init__(self, config: Config, rows: int, room: int, dtype: torch.dtype) -> None:
        sizes = (config.layers, rows, config.kv_heads, room, config.dim)
        self.keys = torch.zeros(sizes, dtype=dtype)
        self.values = torch.zeros(sizes, dtype=dtype)

    def update(
        self, layer: int, k: torch.Tensor, v: torch.Tensor, positions: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Write k and v [rows, kv_heads, n, dim] at int64 positions [n] of a layer, in place.

        Return all keys and values of that layer, [rows, kv_heads, room, dim].
        """
        self.keys[layer].index_copy_(2, positions, k)
        self.values[layer].index_copy_(2, positions, v)
        return self.keys[layer], self.values[layer]

    def mask(self, positions: torch.Tensor) -> torch.Tensor:
        """Return bool [n, room]: True where the query at a position may see a slot."""
        return torch.arange(self.keys.shape[3]) <= positions[:, None]


class Attention(nn.Module):
    """Causal attention with rotated queries and keys."""

    def __init__(self, config: Config, layer: int) -> None:
        super().__init__()
        self.layer, self.dim = layer, config.dim
        self.q_proj = nn.Linear(config.width, config.width, bias=False)
        self.k_proj = nn.Linear(config.width, config.kv_heads * config.dim, bias=False)
        self.v_proj = nn.Linear(config.width, config.kv_heads * config.dim, bias=False)
        self.o_proj = nn.Linear(config.width, config.width, bias=False)

    def forward(
        self, x: torch.Tensor, positions: torch.Tensor, cache: StaticCache | None
    ) -> torch.Tensor:
        """Return attention over x [rows, n, width], at int64 positions [n], in the shape of x.

        Columns of a projection are heads of `dim` columns each. Without a cache, keys and values
        are those of x; with one, use what the cache returns.
        """
        q, k, v = (
            project(x).unflatten(2, (-1, self.dim)).transpose(1, 2)
            for project in (self.q_proj, self.k_proj, self.v_proj)
        )
        q, k = rotate(q, positions), rotate(k, positions)
        mask = None
        if cache is not None:
            k, v = cache.update(self.layer, k, v, positions)
            mask = cache.mask(positions)
        y = scaled_dot_product_attention(q, k, v, mask, is_causal=mask is None, enable_gqa=True)
        out: torch.Tensor = self.o_proj(y.transpose(1, 2).flatten(2))
        return out


class MLP(nn.Module):
    """The gated layer of each block. Given."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(config.width, config.inner, bias=False)
        self.up_proj = nn.Linear(config.width, config.inner, bias=False)
        self.down_proj = nn.Linear(config.inner, config.width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the gated result."""
        y: torch.Tensor = self.down_proj(nn.functional.silu(self.gate_proj(x)) * self.up_proj(x))
        return y


class Block(nn.Module):
    """Attention and the gated layer: each reads a normalised x, and its result is added to x."""

    def __init__(self, config: Config, layer: int) -> None:
        super().__init__()
        self.input_layernorm = nn.RMSNorm(config.width, eps=1e-6)
        self.self_attn = Attention(config, layer)
        self.post_attention_layernorm = nn.RMSNorm(config.width, eps=1e-6)
        self.mlp = MLP(config)

    def forward(
        self, x: torch.Tensor, positions: torch.Tensor, cache: StaticCache | None
    ) -> torch.Tensor:
        """Return x after both parts; the second norm reads x after attention has been added."""
        x = x + self.self_attn(self.input_layernorm(x), positions, cache)
        y: torch.Tensor = x + self.mlp(self.post_attention_layernorm(x))
        return y


class Decoder(nn.Module):
    """A language model: token numbers [rows, n] to logits [rows, n, words]."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.embed_tokens = nn.Embedding(config.words, config.width)
        self.layers = nn.ModuleList(Block(config, layer) for layer in range(config.layers))
        self.norm = nn.RMSNorm(config.width, eps=1e-6)
        self.lm_head = nn.Linear(config.width, config.words, bias=False)

    def forward(
        self, tokens: torch.Tensor, positions: torch.Tensor, cache: StaticCache | None = None
    ) -> torch.Tensor:
        """Return logits of int64 tokens [rows, n] at int64 positions [n]."""
        x = self.embed_tokens(tokens)
        for layer in self.layers:
            x = layer(x, positions, cache)
        logits: torch.Tensor = self.lm_head(self.norm(x))
        return logits


def generate(
    model: Decoder, prompt: torch.Tensor, new: int, stop: int | None = None
) -> torch.Tensor:
    """Return the prompt, int64 [rows, n], and up to `new` (1 or more) tokens, each the likeliest.

    After a row has generated `stop`, fill it with `stop`; return once all rows have. Record no
    graph, and leave nothing in the model. The model reads the prompt in one call, and later tokens
    one by one; the last token is not read.
    """
    rows, length = prompt.shape
    cache = StaticCache(model.config, rows, length + new, model.lm_head.weight.dtype)
    text, tokens, positions = prompt, prompt, torch.arange(length)
    done = torch.zeros(rows, 1, dtype=torch.bool)
    for _ in range(new):
        with torch.no_grad():
            logits = model(tokens, positions, cache)[:, -1:]
        tokens, positions = logits.argmax(-1), positions[-1:] + 1
        if stop is not None:
            tokens = tokens.masked_fill(done, stop)
            done = tokens == stop
        text = torch.cat([text, tokens], 1)
        if done.all():
            break
    return text
