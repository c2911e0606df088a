"""Tests of k05_cross_attention: PyTorch's own attention, and how often each input is projected."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from katas.lecture19 import k05_cross_attention
from katas.lecture19.conftest import close
from katas.lecture19.conftest import numbers
from katas.lecture19.k05_cross_attention import Kept
from katas.lecture19.k05_cross_attention import Reader
from katas.lecture19.k05_cross_attention import attend
from katas.lecture19.k05_cross_attention import generate
from katas.lecture19.k05_cross_attention import sdpa_mask
from plugins.kit import forbids
from plugins.kit import unchanged


# As many samples as heads, and as many tokens: a mask in the wrong dims is broadcast silently.
QUERY, KEYS, VALUES = 3 * numbers(2, 2, 2, 5), numbers(2, 2, 3, 5, seed=1), numbers(2, 2, 3, 5)
NONE = torch.zeros(2, 3, dtype=torch.bool)
SOME = torch.tensor([[False, False, True], [True, False, False]])
ALL = torch.tensor([[True, True, True], [False, True, False]])
MEMORY, OTHER, START = numbers(2, 3, 4), numbers(2, 3, 4, seed=1), numbers(2, 1, 4, seed=2)


def layers() -> tuple[Reader, nn.MultiheadAttention]:
    """Return a reader and PyTorch's layer with the same parameters."""
    torch.manual_seed(0)
    mha, reader = nn.MultiheadAttention(4, 2, batch_first=True).double(), Reader(4, 2).double()
    with torch.no_grad():
        mha.in_proj_bias.copy_(numbers(12))
        mha.out_proj.bias.copy_(numbers(4))
        projections = (reader.query, reader.key, reader.value)
        weights, biases = mha.in_proj_weight.chunk(3), mha.in_proj_bias.chunk(3)
        for layer, weight, bias in zip(projections, weights, biases, strict=True):
            layer.weight.copy_(weight)
            layer.bias.copy_(bias)
    reader.output.load_state_dict(mha.out_proj.state_dict())
    return reader, mha


def unrolled(mha: nn.MultiheadAttention, memory: torch.Tensor, steps: int) -> torch.Tensor:
    """Generate with PyTorch's layer, which projects the memory at each step."""
    tokens = [START]
    for _ in range(steps):
        read = mha(tokens[-1], memory, memory, key_padding_mask=SOME)[0]
        tokens.append(tokens[-1] + read)
    return torch.cat(tokens, 1)


def test_two_rows_with_equal_scores() -> None:
    """A query that is orthogonal to both keys reads the mean of the values."""
    query, keys = torch.tensor([[[[1.0, 0.0]]]]), torch.tensor([[[[0.0, 1.0], [0.0, 2.0]]]])
    values = torch.tensor([[[[2.0, 6.0], [4.0, 0.0]]]])
    yours = attend(query, keys, values, torch.tensor([[False, False]]))

    close(yours, [[[[3.0, 3.0]]]], "scores 0 and 0: the mean of (2, 6) and (4, 0)", 1e-6)


def test_attention_without_padding() -> None:
    """The result is that of scaled_dot_product_attention; no input is modified."""
    with unchanged(query=QUERY, keys=KEYS, values=VALUES, padding=NONE):
        yours = attend(QUERY, KEYS, VALUES, NONE)
    expected = F.scaled_dot_product_attention(QUERY, KEYS, VALUES)

    close(yours, expected, "attention to all rows")


def test_padding_is_not_read() -> None:
    """True is padding: as if those rows were not there, whatever they hold."""
    keys, values = KEYS.clone(), VALUES.clone()
    keys[0, :, 2], values[0, :, 2] = 1e3, -1e3
    yours = attend(QUERY, keys, values, SOME)

    for sample, rows in ((0, slice(0, 2)), (1, slice(1, 3))):
        there = [x[sample : sample + 1, :, rows] for x in (KEYS, VALUES)]
        expected = F.scaled_dot_product_attention(QUERY[sample : sample + 1], *there)
        close(yours[sample], expected[0], f"sample {sample}, whose rows {rows} are no padding")


def test_padding_alone_reads_nothing() -> None:
    """Sample 0 has no image: its result is 0, and the other's is as usual."""
    yours = attend(QUERY, KEYS, VALUES, ALL)

    close(yours[0], torch.zeros(2, 2, 5), "all rows are padding")
    close(yours, F.scaled_dot_product_attention(QUERY, KEYS, VALUES, ~ALL[:, None, None]), "both")


@pytest.mark.parametrize("padding", [SOME, ALL], ids=["some", "all"])
def test_gradients(padding: torch.Tensor) -> None:
    """They agree with finite differences; where everything is padding they are 0, not NaN."""
    inputs = [x[..., :2].clone().requires_grad_() for x in (QUERY / 3, KEYS, VALUES)]
    grads = torch.autograd.grad(attend(*inputs, padding).square().sum(), inputs)

    for name, grad in zip(("query", "keys", "values"), grads, strict=True):
        assert not grad.isnan().any(), f"the gradient of {name} contains NaN: {grad.tolist()}"
    assert torch.autograd.gradcheck(lambda *x: attend(*x, padding), inputs), (
        "attend's gradients differ from finite differences"
    )


def test_the_mask_for_pytorch() -> None:
    """True is what may be read, for all heads and all tokens."""
    with unchanged(padding=SOME):
        mask = sdpa_mask(SOME)
    assert mask.dtype == torch.bool, (
        f"your mask is {mask.dtype}, expected bool: numbers would be added to the scores"
    )
    yours = F.scaled_dot_product_attention(QUERY, KEYS, VALUES, attn_mask=mask)
    right = F.scaled_dot_product_attention(QUERY, KEYS, VALUES, attn_mask=~SOME[:, None, None])

    close(yours, right, "scaled_dot_product_attention with your mask")


def test_what_is_kept() -> None:
    """Keys and values by head, and the padding."""
    reader, _ = layers()
    with torch.no_grad(), unchanged(reader, memory=MEMORY, padding=SOME):
        kept = reader.remember(MEMORY, SOME)
        keys, values = reader.key(MEMORY), reader.value(MEMORY)

    assert isinstance(kept, Kept), f"yours is {type(kept)}, expected Kept"
    close(kept.keys, keys.view(2, 3, 2, 2).transpose(1, 2), "the keys")
    close(kept.values, values.view(2, 3, 2, 2).transpose(1, 2), "the values")
    assert torch.equal(kept.padding, SOME), f"the padding: yours {kept.padding}, expected {SOME}"


def test_reading_as_pytorch_does() -> None:
    """Several tokens at once, with PyTorch's parameters and its key_padding_mask."""
    reader, mha = layers()
    x = numbers(2, 6, 4, seed=3)
    with torch.no_grad(), unchanged(reader, x=x):
        yours = reader(x, reader.remember(MEMORY, SOME))
        expected = mha(x, MEMORY, MEMORY, key_padding_mask=SOME)[0]

    close(yours, expected, "the reader, and mha(x, memory, memory, key_padding_mask=padding)[0]")


def test_three_steps() -> None:
    """The start and three tokens, each computed from its predecessor."""
    reader, mha = layers()
    start = START.clone()
    with torch.no_grad():
        expected = unrolled(mha, MEMORY, 3)
        with unchanged(reader, start=start, memory=MEMORY, padding=SOME):
            yours = generate(reader, start, MEMORY, SOME, 3)
        none = generate(reader, start, MEMORY, SOME, 0)

    close(yours, expected, "three steps")
    close(none, START, "no step: the start alone")


def test_the_memory_is_projected_once() -> None:
    """Once, however many steps; the query is projected at each step."""
    reader, _ = layers()
    sizes: dict[str, list[list[int]]] = {name: [] for name, _ in reader.named_children()}
    for name, layer in reader.named_children():
        layer.register_forward_hook(lambda _, x, __, name=name: sizes[name].append([*x[0].shape]))
    generate(reader, START, MEMORY, SOME, 5)
    yours = {name: len(each) for name, each in sizes.items()}
    expected = {"query": 5, "key": 1, "value": 1, "output": 5}

    assert yours == expected, f"calls in 5 steps: yours {yours}, expected {expected}"
    assert sizes["query"] == [[2, 1, 4]] * 5, (
        f"shapes projected as a query in 5 steps: yours {sizes['query']}, expected [2, 1, 4] each "
        "time: project only the newest token, since all earlier tokens have already read"
    )


def test_another_image() -> None:
    """A second generation reads its own memory, even if it is the first tensor, overwritten."""
    reader, mha = layers()
    memory = MEMORY.clone()
    with torch.no_grad():
        first = generate(reader, START, memory, SOME, 2)
        with unchanged(first=first):
            memory.mul_(2)
            second = generate(reader, START, memory, SOME, 2)
            third = generate(reader, START, OTHER, SOME, 2)
        close(second, unrolled(mha, 2 * MEMORY, 2), "the same tensor, with other values")
        close(third, unrolled(mha, OTHER, 2), "another image")


def test_gradients_reach_the_image() -> None:
    """Gradients pass through all steps, for those who train the encoder too."""
    reader, mha = layers()
    memory = MEMORY.clone().requires_grad_()
    yours = generate(reader, START, memory, SOME, 3)
    (expected,) = torch.autograd.grad(unrolled(mha, memory, 3).square().sum(), memory)
    grad = None
    if yours.requires_grad:
        (grad,) = torch.autograd.grad(yours.square().sum(), memory, allow_unused=True)
    assert grad is not None, (
        "no gradient reaches the memory: the kept keys and values were detached"
    )

    close(grad, expected, "the gradient of the memory")


def test_by_hand() -> None:
    """The result is computed without the attention of torch.nn."""
    names = ("MultiheadAttention", "functional.multi_head_attention_forward")
    with forbids(
        k05_cross_attention,
        *(f"torch.nn.{name}" for name in (*names, "functional.scaled_dot_product_attention")),
    ) as fresh:
        fresh.attend(QUERY, KEYS, VALUES, SOME)
        fresh.generate(fresh.Reader(4, 2).double(), START, MEMORY, SOME, 2)
