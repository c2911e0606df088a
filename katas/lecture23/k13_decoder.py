"""A decoder with a static cache, which generates what it would without one.

Put the lecture together from PyTorch's own parts: ``nn.RMSNorm``, SDPA with `enable_gqa`, and a
cache of fixed size, written at positions held in a tensor. The layers and their names are Llama's,
so weights from Transformers fit once "model." is removed. `rotate` and all ``__init__`` are given.

    prompt  7 3 8 5   in one call     positions 0 1 2 3   ->  logits of the last: 2
            2         a call for      position  4         ->  9
            9         each token      position  5         ->  ...

1. `Attention.forward` without a cache: causal, and each key head serves several query heads.
2. `Block.forward` and `Decoder.forward`: normalise, compute, add.
3. `StaticCache`, and `Attention.forward` with it: write, read all, mask later slots.
4. `generate`: greedy, with one call for the prompt.

About 45 lines. Begin on paper: which keys may the query at position 4 see, if the cache has room
for 16? What does `is_causal` do with one query and 16 keys?
Afterwards compare with ``models/llama`` in Transformers, and open
``torch/nn/modules/normalization.py``.
Real life differs: prompts of different lengths are padded on the left, and masked.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn


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
        # TODO: step 3.
        raise NotImplementedError("StaticCache.update")

    def mask(self, positions: torch.Tensor) -> torch.Tensor:
        """Return bool [n, room]: True where the query at a position may see a slot."""
        # TODO: step 3.
        raise NotImplementedError("StaticCache.mask")


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
        # TODO: step 1, and with a cache step 3.
        raise NotImplementedError("Attention.forward")


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
        # TODO: step 2.
        raise NotImplementedError("Block.forward")


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
        # TODO: step 2.
        raise NotImplementedError("Decoder.forward")


def generate(
    model: Decoder, prompt: torch.Tensor, new: int, stop: int | None = None
) -> torch.Tensor:
    """Return the prompt, int64 [rows, n], and up to `new` (1 or more) tokens, each the likeliest.

    After a row has generated `stop`, fill it with `stop`; return once all rows have. Record no
    graph, and leave nothing in the model. The model reads the prompt in one call, and later tokens
    one by one; the last token is not read.
    """
    # TODO: step 4.
    raise NotImplementedError("generate")
