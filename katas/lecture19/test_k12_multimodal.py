"""Tests of k12_multimodal: each part against PyTorch, sample by sample, and what training moves."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
import torch
from expecttest import assert_expected_inline
from torch import nn
from torch.nested import nested_tensor_from_jagged
from torch.utils._python_dispatch import TorchDispatchMode

from katas.lecture19.conftest import close
from katas.lecture19.conftest import numbers
from katas.lecture19.k12_multimodal import LowRank
from katas.lecture19.k12_multimodal import Model
from katas.lecture19.k12_multimodal import adapt
from katas.lecture19.k12_multimodal import fit
from katas.lecture19.k12_multimodal import look
from katas.lecture19.k12_multimodal import patches
from katas.lecture19.k12_multimodal import sentences
from plugins.kit import unchanged


# On the CPU attention over jagged tensors goes through the older layout, which warns.
pytestmark = pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")

one = pytest.mark.step(1, "patches")
two = pytest.mark.step(2, "ragged text")
three = pytest.mark.step(3, "attention over jagged tensors")
four = pytest.mark.step(4, "LoRA on a frozen encoder")
five = pytest.mark.step(5, "the model, and its training")

LENGTHS = (2, 1, 4)


def cut(image: torch.Tensor, height: int, width: int) -> torch.Tensor:
    """Return an image's patches, one slice after the other."""
    _, rows, columns = image.shape
    corners = [(i, k) for i in range(0, rows, height) for k in range(0, columns, width)]
    return torch.stack([image[:, i : i + height, k : k + width].flatten() for i, k in corners])


@one
@pytest.mark.parametrize("size", [(4, 6), (4, 3), (2, 9)])
def test_patches(size: tuple[int, int]) -> None:
    """2 x 3, from images with two channels: row by row, one channel after the other in each."""
    images = numbers(3, 2, *size)
    with unchanged(images=images):
        yours = patches(images, 2, 3)

    expected = torch.stack([cut(image, 2, 3) for image in images])
    close(yours, expected, f"[rows, places, channels * 2 * 3] of images of {size[0]} x {size[1]}")


def table() -> Any:
    """Return a table of nine words, in float64."""
    torch.manual_seed(0)
    return nn.Embedding(9, 4).double()


def words_of(*lengths: int) -> list[torch.Tensor]:
    """Return sentences of these lengths."""
    return [torch.arange(length) * 5 % 9 for length in lengths]


@two
def test_sentences() -> None:
    """The words of all sentences follow each other; offsets say where each sentence begins."""
    made, tokens = table(), words_of(*LENGTHS)
    with unchanged(made, tokens=tokens):
        yours: Any = sentences(made, tokens)

    assert yours.is_nested, "your result is not a nested tensor"
    assert yours.layout == torch.jagged, f"your layout is {yours.layout}, expected torch.jagged"
    assert yours.offsets().tolist() == [0, 2, 3, 7], (
        f"your offsets are {yours.offsets().tolist()}, expected [0, 2, 3, 7]"
    )
    close(yours.values().detach(), made(torch.cat(tokens)).detach(), "the values: embedded words")


@two
def test_the_table_learns() -> None:
    """The graph leads back to the table."""
    made = table()
    made_of: Any = sentences(made, words_of(1, 2))
    made_of.values().sum().backward()

    assert made.weight.grad is not None, "the table got no gradient"
    counts = made.weight.grad[:, 0].tolist()
    assert counts[:6] == [2, 0, 0, 0, 0, 1], (
        f"gradients counting each word: yours {counts}, expected [2, 0, 0, 0, 0, 1] first"
    )


class LookUps(TorchDispatchMode):
    """Counts look-ups in a table."""

    count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Count a look-up, and run any operator."""
        self.count += func is torch.ops.aten.embedding.default
        return func(*args, **(kwargs or {}))


@two
def test_one_look_up() -> None:
    """All words of three sentences take one look-up."""
    made, tokens = table(), words_of(*LENGTHS)
    with LookUps() as looked_up:
        sentences(made, tokens)

    assert looked_up.count == 1, f"{looked_up.count} look-ups for three sentences, expected one"


def attention(lengths: tuple[int, ...], heads: int) -> tuple[list[torch.Tensor], torch.Tensor]:
    """Return leaves (words, keys and values) and what attention finds, sample by sample."""
    leaves = [numbers(sum(lengths), 4), *(numbers(len(lengths), 5, 4, seed=k) for k in (1, 2))]
    leaves = [leaf.requires_grad_() for leaf in leaves]

    def split(x: torch.Tensor) -> torch.Tensor:
        return x.unflatten(-1, (heads, -1)).transpose(0, 1)

    parts = zip(leaves[0].split([*lengths]), leaves[1], leaves[2], strict=True)
    found = [
        nn.functional.scaled_dot_product_attention(*(split(x)[None] for x in part))[0]
        .transpose(0, 1)
        .flatten(1)
        for part in parts
    ]
    return leaves, torch.cat(found)


def looked(lengths: tuple[int, ...], heads: int) -> tuple[list[torch.Tensor], Any, Any]:
    """Return leaves, the jagged words, and what `look` finds."""
    leaves, _ = attention(lengths, heads)
    words = nested_tensor_from_jagged(leaves[0], torch.tensor([0, *lengths]).cumsum(0))
    return leaves, words, look(words, leaves[1], leaves[2], heads)


@three
@pytest.mark.parametrize("heads", [1, 2])
def test_look(heads: int) -> None:
    """Each word in its own row, head by head."""
    for lengths in (LENGTHS, (3,)):
        _, _, yours = looked(lengths, heads)
        _, expected = attention(lengths, heads)
        assert yours.is_nested, "your result is not a nested tensor"
        why = f"SDPA, sample by sample: lengths {lengths}, heads {heads}"
        close(yours.values().detach(), expected.detach(), why)


@three
def test_what_is_found_can_be_added_to_the_words() -> None:
    """The result has the words' symbolic size."""
    _, words, yours = looked(LENGTHS, 2)

    assert yours.shape == words.shape, (
        f"your result has shape {yours.shape}, but the words have {words.shape}"
    )
    close((words + yours).values(), words.values() + yours.values(), "words + look(words, ...)")


@three
def test_gradients_of_look() -> None:
    """Words, keys and values get the gradients of attention sample by sample."""
    leaves, _, yours = looked(LENGTHS, 2)
    mine = torch.autograd.grad(yours.values().square().sum(), leaves)
    theirs, expected = attention(LENGTHS, 2)
    right = torch.autograd.grad(expected.square().sum(), theirs)
    for name, each, other in zip(("words", "keys", "values"), mine, right, strict=True):
        close(each, other, f"the gradient of the {name}")


@four
def test_low_rank() -> None:
    """At first nothing is added; then b @ a."""
    weight = numbers(5, 3)
    with unchanged(weight=weight, but=("torch.get_rng_state()",)):
        low = LowRank(weight, 2)
        yours = low(weight)

    assert low.a.shape == (2, 3), f"a has shape {[*low.a.shape]}, expected [rank, columns]: [2, 3]"
    assert low.b.shape == (5, 2), f"b has shape {[*low.b.shape]}, expected [rows, rank]: [5, 2]"
    assert {low.a.dtype, low.b.dtype} == {torch.float64}, "a and b do not have the weight's dtype"
    close(yours.detach(), weight, "a new LowRank changes nothing")
    with torch.no_grad():
        low.a.copy_(numbers(2, 3, seed=1))
        low.b.copy_(numbers(5, 2, seed=2))
    expected = weight + numbers(5, 2, seed=2) @ numbers(2, 3, seed=1)
    close(low(weight).detach(), expected, "weight + b @ a")


@four
def test_it_can_be_learned() -> None:
    """If only a or only b is 0, the gradient of the other is 0, and its own is not."""
    weight = numbers(5, 3)
    low = LowRank(weight, 2)
    low(weight).square().sum().backward()
    assert low.a.grad is not None, "a got no gradient"
    assert low.b.grad is not None, "b got no gradient"
    moved = [bool(each.grad.abs().sum() > 0) for each in (low.a, low.b)]
    assert any(moved), "a and b both start at 0, so both gradients are 0 and stay 0"


def encoder(dims: int = 4, *, seed: int = 1) -> Any:
    """Return a pretrained encoder of patches of six pixels."""
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Sequential(nn.Linear(5, dims)))


@four
def test_adapt() -> None:
    """The encoder's output stays; its pretrained parts are frozen, including the LayerNorm."""
    made, x = nn.Sequential(*encoder(), nn.LayerNorm(4)), numbers(3, 6).float()
    expected = made(x).detach()
    adapt(made, 2)

    close(made(x).detach(), expected, "the encoder's output, before and after adapt", 1e-6)
    learned = {name for name, p in made.named_parameters() if p.requires_grad}
    right = {f"{n}.parametrizations.weight.0.{p}" for n in ("0", "2.0") for p in "ab"}
    assert learned == right, (
        f"trainable parameters\nyours    {sorted(learned)}\nexpected {sorted(right)}"
    )
    ranks = {len(p) for name, p in made.named_parameters() if name.endswith(".a")}
    assert ranks == {2}, f"your ranks are {ranks}, expected 2"


def model_of(seed: int = 0) -> Any:
    """Return a model with an adapted encoder, in float64."""
    made = encoder()
    adapt(made, 2)
    torch.manual_seed(seed)
    return Model(made, 4, 4, 8).double()


def by_hand(model: Any, tokens: torch.Tensor, image: torch.Tensor) -> torch.Tensor:
    """Return the logits of one sentence and one image, without a nested tensor."""
    words = model.table(tokens)
    memory = model.encoder(cut(image, 2, 3)) + model.places
    q, k, v = (
        layer(x).unflatten(-1, (2, -1)).transpose(0, 1)[None]
        for layer, x in ((model.ask, words), (model.key, memory), (model.value, memory))
    )
    found = nn.functional.scaled_dot_product_attention(q, k, v)[0].transpose(0, 1).flatten(1)
    logits: torch.Tensor = model.head((words + model.out(found))[-1])
    return logits


@five
def test_the_model_sample_by_sample() -> None:
    """A sample's logits do not depend on how long the other sentences are."""
    model, tokens = model_of(), [each % 8 for each in words_of(3, 1, 4)]
    images = numbers(3, 1, 4, 6)
    expected = torch.stack([by_hand(model, *each) for each in zip(tokens, images, strict=True)])
    with unchanged(model, tokens=tokens, images=images):
        yours = model(tokens, images)

    close(yours.detach(), expected.detach(), "logits of three sentences, [3, 2]")
    alone = model(tokens[1:2], images[1:2])
    close(alone.detach(), expected[1:2].detach(), "logits of the second sentence, by itself")


def made(count: int, seed: int) -> Any:
    """Return sentences, images and labels: whether the patch that the last word names is bright."""
    dice = torch.Generator().manual_seed(seed)
    images = torch.randn(count, 1, 4, 6, generator=dice)
    asked = torch.randint(0, 4, (count,), generator=dice)
    tokens = [
        torch.cat([torch.randint(4, 8, (k % 4,), generator=dice), patch[None]])
        for k, patch in enumerate(asked)
    ]
    light = torch.stack([cut(image, 2, 3).sum(1) for image in images])
    return tokens, images, (light[torch.arange(count), asked] > 0).long()


@cache
def trained() -> tuple[Any, Any, list[float]]:
    """Return a model, its parameters before, and the losses of its training."""
    eyes = encoder(8)
    adapt(eyes, 2)
    model = Model(eyes, 4, 8, 8)
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    return model, before, fit(model, [made(32, seed) for seed in range(40)], 0.02)


@five
def test_a_step_at_a_time() -> None:
    """One loss for each batch; the first is the model's before its first step."""
    model, theirs = model_of(), model_of()
    batches = [(t, x.double(), y) for t, x, y in (made(6, 1), made(5, 2), made(4, 3))]
    optimizer = torch.optim.AdamW([p for p in theirs.parameters() if p.requires_grad], 0.02)
    expected = []
    for tokens, images, labels in batches:
        loss = nn.functional.cross_entropy(theirs(tokens, images), labels)
        expected.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    yours = fit(model, batches, 0.02)
    kinds = [type(each).__name__ for each in yours]
    assert kinds == ["float"] * 3, (
        f"expected losses that are floats, which keep no graph; yours are {kinds}"
    )
    close(yours, expected, "the losses of three batches")


@five
def test_it_learns() -> None:
    """The loss is lower in the last eight batches than in the first eight."""
    _, _, losses = trained()
    first, last = sum(losses[:8]) / 8, sum(losses[-8:]) / 8
    assert last < first, (
        f"the mean loss of 8 batches was {first:.3f} at first, and is {last:.3f} at the end"
    )


@five
def test_what_training_moves() -> None:
    """Everything except the pretrained weights, which stay bit for bit."""
    model, before, _ = trained()
    lines = [
        f"{name:42} {'moved' if not torch.equal(p, before[name]) else 'still'}"
        for name, p in model.named_parameters()
    ]
    assert_expected_inline(
        "\n".join(sorted(lines)),
        """\
ask.bias                                   moved
ask.weight                                 moved
encoder.0.bias                             still
encoder.0.parametrizations.weight.0.a      moved
encoder.0.parametrizations.weight.0.b      moved
encoder.0.parametrizations.weight.original still
encoder.2.0.bias                           still
encoder.2.0.parametrizations.weight.0.a    moved
encoder.2.0.parametrizations.weight.0.b    moved
encoder.2.0.parametrizations.weight.original still
head.bias                                  moved
head.weight                                moved
key.bias                                   moved
key.weight                                 moved
out.bias                                   moved
out.weight                                 moved
places                                     moved
table.weight                               moved
value.bias                                 moved
value.weight                               moved""",
    )
