"""Tests of k15_accumulation: the large batch, computed at once, is the oracle."""

from __future__ import annotations

import weakref
from typing import Any

import pytest
import torch
from hypothesis import example
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn.functional import cross_entropy

from katas.lecture12.k15_accumulation import PADDING
from katas.lecture12.k15_accumulation import accumulate
from katas.lecture12.k15_accumulation import share
from plugins.kit import unchanged


Batches = list[tuple[torch.Tensor, torch.Tensor]]
CLASSES = 7


class Model(nn.Module):
    """A minimal language model: a vector for each token, and logits for the next."""

    def __init__(self) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.calls = 0
        self.vectors = nn.Parameter(torch.randn(CLASSES, 4, generator=generator).double())
        self.weight = nn.Parameter(torch.randn(4, CLASSES, generator=generator).double())

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return float64 logits of size (texts, positions, classes)."""
        self.calls += 1
        logits: torch.Tensor = self.vectors[inputs].tanh() @ self.weight
        return logits


def batches_of(counts: list[list[int]], width: int = 6) -> Batches:
    """Return a micro-batch for each list, with a text of that many tokens for each number."""
    generator = torch.Generator().manual_seed(1)
    made: Batches = []
    for texts in counts:
        tokens = torch.randint(CLASSES, (len(texts), width + 1), generator=generator)
        targets = tokens[:, 1:].clone()
        for row, count in enumerate(texts):
            targets[row, count:] = PADDING
        made.append((tokens[:, :-1], targets))
        width += 1  # each is padded to its own width
    return made


def large(model: Model, batches: Batches) -> torch.Tensor:
    """Return PyTorch's mean loss over all tokens of all micro-batches."""
    logits = torch.cat([model(inputs).flatten(0, 1) for inputs, _ in batches])
    targets = torch.cat([targets.flatten() for _, targets in batches])
    return cross_entropy(logits, targets)


def compare(yours: torch.Tensor | None, right: torch.Tensor | None, what: str, why: str) -> None:
    """Compare a tensor with the large batch's."""
    __tracebackhide__ = True
    says = f"{what}\nyours\n{yours}\nPyTorch's, of the large batch\n{right}\n{why}"
    assert yours is not None, says
    torch.testing.assert_close(yours, right, rtol=1e-12, atol=1e-12, equal_nan=True, msg=says)


def check(batches: Batches, why: str) -> None:
    """Compare loss and gradients of micro-batches with those of the large batch."""
    __tracebackhide__ = True
    mine, theirs = Model(), Model()
    right = large(theirs, batches)
    right.backward()
    with unchanged(but={"grad"}, batches=batches, model=mine):
        yours = accumulate(mine, batches)
    assert mine.calls == len(batches), (
        f"your code calls the model {mine.calls} times, expected one call for each of"
        f" {len(batches)} micro-batches"
    )
    tokens = [int((targets != PADDING).sum()) for _, targets in batches]
    compare(yours, right.detach(), f"loss of micro-batches with {tokens} tokens", why)
    for name in ("vectors", "weight"):
        what = f"{name}.grad after micro-batches with {tokens} tokens"
        compare(getattr(mine, name).grad, getattr(theirs, name).grad, what, why)


def test_the_share_of_the_picture() -> None:
    """Ten of twelve tokens make up 10/12 of the mean."""
    model = Model()
    inputs, targets = batches_of([[4, 6]])[0]
    logits = model(inputs).detach()
    with unchanged(logits=logits, targets=targets):
        yours = share(logits, targets, 12)
    right = 10 / 12 * cross_entropy(logits.flatten(0, 1), targets.flatten())
    compare(yours, right, "share of 10 tokens of 12", "10 / 12 of the micro-batch's own mean")


def test_equal_micro_batches() -> None:
    """Two texts each, all of one length: here the mean of means is right too."""
    check(batches_of([[6, 6], [6, 6]]), "the sum over all tokens, divided by their number")


def test_unequal_micro_batches() -> None:
    """Two tokens and ten: each token counts the same."""
    check(batches_of([[1, 1], [4, 6]]), "divide by the tokens of all micro-batches, not of one")


def test_texts_of_unequal_number() -> None:
    """The last micro-batch may be short."""
    check(batches_of([[3, 6, 1], [5]]), "tokens count, neither texts nor micro-batches")


def test_a_micro_batch_without_tokens() -> None:
    """A micro-batch of padding alone, whose own mean is NaN in PyTorch."""
    check(batches_of([[2, 3], [0, 0], [4, 4]]), "it adds 0: its sum is 0, and has no tokens")


@pytest.mark.parametrize("counts", [[[0]], [[0, 0], [0]]])
def test_no_tokens_at_all(counts: list[list[int]]) -> None:
    """The mean over no tokens at all is NaN in PyTorch, and yours must be too."""
    check(batches_of(counts), "0 / 0, and no special case for it")


def test_gradients_are_added() -> None:
    """Add to the existing .grad, as backward does: nobody has called zero_grad."""
    model, batches = Model(), batches_of([[1, 5], [6, 2]])
    large(model, batches).backward()
    assert model.weight.grad is not None
    once = model.weight.grad.clone()
    accumulate(model, batches)
    compare(
        model.weight.grad,
        2 * once,
        "weight.grad, with as much in it before",
        "add to .grad",
    )


def test_the_loss_has_no_graph() -> None:
    """The loss is for logging: a list of losses must not keep graphs alive."""
    yours = accumulate(Model(), batches_of([[1, 5], [6, 2]]))
    assert not yours.requires_grad, "your loss requires grad: detach it"


def test_one_graph_at_a_time() -> None:
    """Batches are split to save memory, so free each graph before the next one."""
    alive: list[Any] = []
    seen: list[int] = []

    class Box:
        def __init__(self, tensor: torch.Tensor) -> None:
            self.tensor = tensor

    def pack(tensor: torch.Tensor) -> Box:
        box = Box(tensor)
        alive.append(weakref.ref(box))
        return box

    nodes: list[Any] = []
    held: list[int] = []

    class Watched(Model):
        def forward(self, inputs: torch.Tensor) -> torch.Tensor:
            seen.append(sum(each() is not None for each in alive))
            held.append(sum(each() is not None for each in nodes))
            logits = super().forward(inputs)
            assert logits.grad_fn is not None
            # A node keeps its metadata as long as it lives.
            mark = Box(inputs)
            nodes.append(weakref.ref(mark))
            metadata: Any = logits.grad_fn.metadata
            metadata["mark"] = mark
            return logits

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda box: box.tensor):
        accumulate(Watched(), batches_of([[1, 5], [6, 2], [3, 3]]))
    assert seen == [0, 0, 0], (
        f"tensors held by earlier graphs when the model is called: yours {seen}, expected 0 at"
        " each of 3 calls: call backward before the next micro-batch"
    )
    assert max(held) <= 1, (
        f"graphs of earlier micro-batches alive when the model is called: yours {held}, expected"
        " at most the one that a loop variable still holds: keep no logits, detach losses"
    )


@pytest.mark.parametrize("counts", [[[1], [6]], [[1, 2], [3, 4], [5, 6]]])
def test_ranks_average(counts: list[list[int]]) -> None:
    """Each rank has one micro-batch; the average gradient equals the large batch's."""
    model, batches = Model(), batches_of(counts)
    total = sum(map(sum, counts))
    (right,) = torch.autograd.grad(large(model, batches), [model.weight])
    grads = [
        torch.autograd.grad(
            share(model(inputs), targets, total, ranks=len(batches)), [model.weight]
        )[0]
        for inputs, targets in batches
    ]
    yours = torch.stack(grads).mean(0)
    why = "DistributedDataParallel divides the sum of the gradients by the number of ranks"
    compare(yours, right, f"average over {len(batches)} ranks", why)


@example([[1, 1], [4, 6]])
@given(st.lists(st.lists(st.integers(0, 6), min_size=1, max_size=3), min_size=1, max_size=4))
def test_any_split(counts: list[list[int]]) -> None:
    """Any split into micro-batches, with texts of any length."""
    check(batches_of(counts), "the sum over all tokens, divided by their number")
