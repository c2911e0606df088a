"""Tests of k12_packing: rows by hand, and each document on its own."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import torch
from expecttest import assert_expected_inline
from hypothesis import example
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
from torch import nn
from torch.nn.functional import cross_entropy
from torch.nn.functional import scaled_dot_product_attention

from katas.lecture23.k12_packing import labels
from katas.lecture23.k12_packing import loss
from katas.lecture23.k12_packing import mask
from katas.lecture23.k12_packing import pack
from katas.lecture23.k12_packing import positions
from katas.lecture23.k12_packing import show
from plugins.kit import unchanged


ROOM, WORDS = 8, 11
DOCUMENTS = st.lists(
    st.lists(st.integers(0, WORDS - 1), min_size=1, max_size=ROOM), min_size=1, max_size=5
)
# A document as long as a row, a document of a single token, and padding.
EDGES = [[1, 2, 3, 4, 5, 6, 7, 8], [9], [9, 9], [3, 1, 4, 1, 5], [2]]


def numbers(*size: int, seed: int = 0) -> torch.Tensor:
    """Return irrational float64 values."""
    dice = torch.Generator().manual_seed(seed)
    return torch.randn(*size, dtype=torch.float64, generator=dice)


class Tiny(nn.Module):
    """One layer of attention over embeddings of words and of positions, in float64."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places, self.out = (
            nn.Parameter(numbers(rows, columns, seed=seed))
            for seed, (rows, columns) in enumerate(((WORDS, 6), (ROOM, 6), (6, WORDS)))
        )

    def forward(self, tokens: torch.Tensor, position: torch.Tensor, may: Any) -> torch.Tensor:
        """Return logits [rows, n, WORDS]."""
        x = (self.words[tokens] + self.places[position])[:, None]
        y: torch.Tensor = x + scaled_dot_product_attention(x, x, x, may)
        return y[:, 0] @ self.out


def alone(model: Tiny, document: list[int]) -> torch.Tensor:
    """Return the logits of a document in a row of its own, [n, WORDS]."""
    n = len(document)
    may = torch.ones(1, 1, n, n, dtype=torch.bool).tril()
    y: torch.Tensor = model(torch.tensor([document]), torch.arange(n)[None], may)
    return y[0]


def same(yours: torch.Tensor, right: torch.Tensor, what: str) -> None:
    """Compare to twelve digits, or integers exactly."""
    __tracebackhide__ = True
    assert yours.shape == right.shape, (
        f"{what}: your shape is {list(yours.shape)}, expected {list(right.shape)}"
    )
    assert yours.dtype == right.dtype, f"{what}: yours is {yours.dtype}, expected {right.dtype}"
    close = torch.allclose(yours, right, rtol=1e-12, atol=1e-12)
    assert close, f"{what}: yours {shown(yours)}, expected {shown(right)}"


def shown(values: torch.Tensor) -> str:
    """Return a mask as rows of 0 and 1, and other values as a list."""
    if values.dtype != torch.bool:
        return str(values.tolist())
    return "".join(
        "\n    " + " ".join(map(str, row)) for row in values.int().flatten(0, -2).tolist()
    )


def test_positions_restart() -> None:
    """Positions restart with each document, even if a row does not begin with document 0."""
    document = torch.tensor([[0, 0, 0, 1, 1, 2, -1, -1], [7, 7, 7, 7, 7, 3, 3, 3]])
    with unchanged(document=document):
        yours = positions(document)
    same(yours, torch.tensor([[0, 1, 2, 0, 1, 0, 0, 0], [0, 1, 2, 3, 4, 0, 1, 2]]), "positions")


def test_labels_do_not_cross() -> None:
    """The last token of a document, the last column, and padding have no label."""
    document = torch.tensor([[0, 0, 0, 1, 1, 2, -1, -1], [7, 7, 7, 7, 7, 7, 7, 7]])
    tokens = torch.tensor([[7, 3, 8, 5, 9, 4, 0, 0], [1, 2, 3, 4, 5, 6, 7, 8]])
    with unchanged(document=document, tokens=tokens):
        yours = labels(tokens, document)
    no = -100
    right = torch.tensor([[3, 8, no, 9, no, no, no, no], [2, 3, 4, 5, 6, 7, 8, no]])
    same(yours, right, "labels")


def test_word_0_is_a_word() -> None:
    """Padding is -1 among the document numbers; token 0 is a token like any other."""
    tokens, document = torch.tensor([[5, 0, 3, 0, 0, 0]]), torch.tensor([[0, 0, 0, 1, 1, -1]])
    yours = labels(tokens, document).tolist()
    right = [[0, 3, -100, 0, -100, -100]]
    assert yours == right, (
        f"tokens {tokens.tolist()}, documents {document.tolist()}: your labels are {yours},"
        f" expected {right}; word 0 is a word, and only document -1 is padding"
    )


def test_the_mask_of_a_row() -> None:
    """A row holds documents of two tokens and of one, and padding."""
    document = torch.tensor([[0, 0, 1, -1]])
    with unchanged(document=document):
        yours = mask(document)
    right = torch.tensor([[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]]).bool()
    same(yours, right[None, None], "mask, as [query, key]")


def test_the_batch_as_text() -> None:
    """Five documents in rows of eight."""
    assert_expected_inline(
        show(*pack([[7, 3, 8], [5, 9], [4], [6, 6, 6], [2, 1, 2, 1, 2]], ROOM)),
        """\
tokens      7   3   8   5   9   4   0   0
document    0   0   0   1   1   2  -1  -1
position    0   1   2   0   1   0   0   0
label       3   8   .   9   .   .   .   .
tokens      6   6   6   2   1   2   1   2
document    3   3   3   4   4   4   4   4
position    0   1   2   0   1   2   3   4
label       6   6   .   1   2   1   2   .""",
    )


@settings(max_examples=20, deadline=None)
@given(documents=DOCUMENTS)
@example(documents=EDGES)
def test_each_document_is_alone(documents: list[list[int]]) -> None:
    """Logits of the packed row are those of each document in a row of its own."""
    model = Tiny()
    tokens, document = pack(documents, ROOM)
    yours = model(tokens, positions(document), mask(document))
    for number, each in enumerate(documents):
        what = f"logits of {each} in {tokens.tolist()}, documents {document.tolist()}"
        same(yours[document == number], alone(model, each), what)


@settings(max_examples=20, deadline=None)
@given(documents=DOCUMENTS)
@example(documents=EDGES)
def test_each_pair_is_learned_once(documents: list[list[int]]) -> None:
    """The loss covers neighbours within documents, and no other pairs."""
    tokens, document = pack(documents, ROOM)
    label = labels(tokens, document)
    pairs = zip(tokens.flatten().tolist(), label.flatten().tolist(), strict=True)
    yours = sorted(pair for pair in pairs if pair[1] != -100)
    right = sorted(pair for each in documents for pair in pairwise(each))
    assert yours == right, f"documents {documents}: your loss covers {yours}, expected {right}"


def test_the_loss_is_a_mean_over_labels() -> None:
    """The mean is not over rows or positions: rows have different numbers of labels."""
    tokens, document = pack(EDGES, ROOM)
    logits = numbers(*tokens.shape, WORDS, seed=4)
    label = labels(tokens, document)
    with unchanged(logits=logits, label=label):
        yours = loss(logits, label)
    kept = label != -100
    same(yours, cross_entropy(logits[kept], label[kept]), f"the loss of {int(kept.sum())} labels")


def test_the_packed_loss_is_that_of_all_documents() -> None:
    """The loss is that of all documents, and so are the gradients."""
    documents = [[3, 1, 4], [1, 5], [9, 2, 6, 5]]
    model, tokens, document = Tiny(), *pack(documents, ROOM)
    yours = loss(model(tokens, positions(document), mask(document)), labels(tokens, document))
    logits = torch.cat([alone(model, each)[:-1] for each in documents])
    right = cross_entropy(logits, torch.tensor([x for each in documents for x in each[1:]]))
    same(yours.detach(), right.detach(), "the loss of three documents")
    parameters = [*model.parameters()]
    grads = (torch.autograd.grad(each, parameters) for each in (yours, right))
    for which, (found, wanted) in enumerate(zip(*grads, strict=True)):
        same(found, wanted, f"the gradient of parameter {which}")


def test_no_label_at_all() -> None:
    """Documents of one token have no labels: the loss is 0, not NaN, with gradients of 0."""
    tokens, document = pack([[4], [2]], 3)
    logits = numbers(*tokens.shape, WORDS, seed=4).requires_grad_()
    yours = loss(logits, labels(tokens, document))
    assert yours.item() == 0, f"without labels your loss is {yours.item()}, expected 0"
    assert yours.requires_grad, "your loss does not require grad: backward would raise"
    yours.backward()
    assert logits.grad is not None, "no gradient reached the logits"
    same(logits.grad, torch.zeros_like(logits), "the gradient without any label")


def test_one_label() -> None:
    """A document of two tokens has one label."""
    tokens, document = pack([[4, 2], [3]], 4)
    logits = numbers(*tokens.shape, WORDS, seed=6)
    yours = loss(logits, labels(tokens, document))
    same(yours, cross_entropy(logits[0, :1], torch.tensor([2])), "the loss of one label")


def test_label_0_counts() -> None:
    """Labels 0 and 2 both count, since only -100 means no label."""
    logits, label = numbers(1, 3, WORDS, seed=7), torch.tensor([[0, 2, -100]])
    yours = loss(logits, label)
    right = cross_entropy(logits[0, :2], label[0, :2])
    same(yours, right, "the loss of labels 0, 2 and -100, a mean of two (is label 0 counted?)")


def test_a_loss_that_is_nan_stays_nan() -> None:
    """There are labels, and the logits have diverged: it must show in the loss."""
    logits, label = numbers(1, 3, WORDS, seed=8), torch.tensor([[1, 2, -100]])
    logits[0, 1, 4] = torch.nan
    yours = loss(logits, label)
    assert yours.isnan(), (
        f"logits with NaN, and two labels: your loss is {yours.item()}, expected nan; only a"
        " batch without labels gives 0"
    )


def test_padding_reads_nothing() -> None:
    """SDPA returns 0 for padding, and documents do not depend on its tokens."""
    _, document = pack([[1, 2], [3]], 5)
    x = numbers(1, 1, 5, 4, seed=3)
    yours = scaled_dot_product_attention(x, x, x, mask(document))
    same(yours[:, :, 3:], torch.zeros(1, 1, 2, 4, dtype=torch.float64), "what padding reads")
    changed = x.clone()
    changed[:, :, 3:] = 1e6
    again = scaled_dot_product_attention(changed, changed, changed, mask(document))
    same(again[:, :, :3], yours[:, :, :3], "documents, beside other values in the padding")
