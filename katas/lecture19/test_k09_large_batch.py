"""Tests of k09_large_batch: towers with dropout, in chunks, against one graph for everything."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.autograd.gradcheck import GradcheckError

from katas.lecture19.conftest import close
from katas.lecture19.conftest import numbers
from katas.lecture19.k09_large_batch import embed
from katas.lecture19.k09_large_batch import replay
from katas.lecture19.k09_large_batch import slopes
from katas.lecture19.k09_large_batch import step
from plugins.kit import unchanged


one = pytest.mark.step(1, "embed without a graph")
two = pytest.mark.step(2, "the gradient at the embeddings")
three = pytest.mark.step(3, "replay the chunks")
four = pytest.mark.step(4, "a whole step")

RNG = ("torch.get_rng_state()", "grad")


class Tower(nn.Module):
    """A tower with dropout, which records how many rows it sees, and in which mode."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.first = nn.Linear(3, 5, dtype=torch.float64)
        self.last = nn.Linear(5, 2, dtype=torch.float64)
        with torch.no_grad():
            for k, p in enumerate(self.parameters()):
                p.copy_(numbers(*p.shape, seed=10 * seed + k))
        self.calls: list[tuple[int, bool]] = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the embeddings."""
        self.calls.append((len(x), torch.is_grad_enabled()))
        hidden = nn.functional.dropout(self.first(x).tanh(), 0.5, self.training)
        y: torch.Tensor = self.last(hidden)
        return y


class Loss(nn.Module):
    """A contrastive loss with a learned scale."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(2.0, dtype=torch.float64).sqrt())

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """Return the mean of both directions."""
        scores, pairs = self.scale * a @ b.t(), torch.arange(len(a))
        entropy = nn.functional.cross_entropy
        return (entropy(scores, pairs) + entropy(scores.t(), pairs)) / 2


def together(loss: Any, towers: Any, inputs: Any, chunk: int) -> torch.Tensor:
    """Go forward and backward through one graph for all; the towers see the same chunks."""
    pairs = zip(towers, inputs, strict=True)
    value = loss(*(torch.cat([tower(part) for part in x.split(chunk)]) for tower, x in pairs))
    value.backward()
    return value.detach()


def grads(*modules: nn.Module) -> list[torch.Tensor]:
    """Return the .grad of all parameters; NaN for one that has none."""
    every = [p for module in modules for p in module.parameters()]
    return [torch.full_like(p, torch.nan) if p.grad is None else p.grad for p in every]


def compare(yours: list[torch.Tensor], expected: list[torch.Tensor], why: str) -> None:
    """Compare gradients; NaN stands for none."""
    __tracebackhide__ = True
    for number, (mine, right) in enumerate(zip(yours, expected, strict=True)):
        close(mine, right, f"{why}: the .grad of parameter {number} (NaN: there is none)")


@one
def test_embeddings_in_chunks() -> None:
    """Seven rows in threes: 3, 3 and 1, without a graph."""
    tower, x = Tower(1).eval(), numbers(7, 3)
    with unchanged(tower, x=x):
        yours, _ = embed(tower, x, 3)

    assert tower.calls == [(3, False), (3, False), (1, False)], (
        f"the tower was called with (rows, grad mode) {tower.calls}, expected 3, 3 and 1 rows,"
        " and no grad mode"
    )
    close(yours, tower(x).detach(), "the embeddings of seven rows")
    assert not yours.requires_grad, "the embeddings have a graph, which is what fills memory"


@one
def test_embeddings_with_dropout() -> None:
    """The tower stays in its mode, and draws as if it were called chunk by chunk."""
    tower, x = Tower(1), numbers(7, 3)
    torch.manual_seed(3)
    with unchanged(tower, x=x, but=RNG):
        yours, _ = embed(tower, x, 3)
    torch.manual_seed(3)
    expected = torch.cat([tower(part) for part in x.split(3)]).detach()

    close(yours, expected, "the embeddings of a tower in training mode, after the same seed")


@one
def test_a_state_for_each_chunk() -> None:
    """Each state is from before its chunk: with it, the chunk draws the same again."""
    tower, x = Tower(1), numbers(5, 3)
    yours, states = embed(tower, x, 2)
    assert len(states) == 3, (
        f"your code returns {len(states)} states, expected one for each of 3 chunks"
    )
    for part, state, expected in zip(x.split(2), states, yours.split(2), strict=True):
        torch.set_rng_state(state)
        close(tower(part).detach(), expected, "a chunk again, from the state that was kept")


@two
def test_the_gradient_of_each() -> None:
    """`slopes` returns the gradients of two embeddings, in order, and the loss."""
    loss, a, b = Loss(), numbers(4, 2, seed=1), numbers(4, 2, seed=2)
    with unchanged(a=a, b=b):
        value, yours = slopes(loss, a, b)
    leaves = [a.clone().requires_grad_(), b.clone().requires_grad_()]
    expected = loss(*leaves)

    close(value, expected.detach(), "the loss")
    assert not value.requires_grad, "your loss has a graph"
    assert len(yours) == 2, f"your code returns {len(yours)} gradients, expected one for each of 2"
    right = torch.autograd.grad(expected, leaves)
    for number in (0, 1):
        close(yours[number], right[number], f"the gradient of embeddings {number}")


@two
def test_the_scale_has_a_gradient() -> None:
    """The loss's own parameter is in no tower; its .grad is accumulated."""
    loss, a, b = Loss(), numbers(4, 2, seed=1), numbers(4, 2, seed=2)
    (once,) = torch.autograd.grad(loss(a, b), [loss.scale])
    loss.scale.grad = torch.tensor(5.0, dtype=torch.float64)
    slopes(loss, a, b)

    close(loss.scale.grad, 5 + once, "the .grad of the scale, which was 5 before")


@three
def test_one_chunk_at_a_time() -> None:
    """The tower sees one chunk at a time, in eval mode; its .grad is accumulated."""
    tower, x, gradient = Tower(1).eval(), numbers(7, 3), numbers(7, 2)
    tower(x).backward(gradient)
    expected = [2 * each for each in grads(tower)]
    tower.calls.clear()
    states = [torch.get_rng_state()] * 3
    with unchanged(tower, x=x, gradient=gradient, states=states, but=("grad",)):
        replay(tower, x, 3, states, gradient)

    compare(grads(tower), expected, "twice the gradient of one backward of all rows")
    assert tower.calls == [(3, True), (3, True), (1, True)], (
        f"the tower was called with (rows, grad mode) {tower.calls}, expected 3, 3 and 1 rows"
    )


@three
def test_the_same_dropout() -> None:
    """Each chunk draws what it drew in the first pass."""
    tower, again = Tower(1), Tower(1)
    x, gradient = numbers(7, 3), numbers(7, 2)
    torch.manual_seed(5)
    torch.cat([again(part) for part in x.split(3)]).backward(gradient)
    torch.manual_seed(5)
    _, states = embed(tower, x, 3)
    torch.manual_seed(6)
    replay(tower, x, 3, states, gradient)

    compare(grads(tower), grads(again), "dropout must drop the same in both passes")


@three
def test_the_rng_goes_on() -> None:
    """After the replay the RNG is where it was: the next step must not draw this one's numbers."""
    tower, x = Tower(1), numbers(7, 3)
    _, states = embed(tower, x, 3)
    torch.manual_seed(4)
    before = torch.get_rng_state()
    replay(tower, x, 3, states, numbers(7, 2))

    assert torch.equal(before, torch.get_rng_state()), "the state of the RNG has changed"


class Peak:
    """Counts the elements that autograd keeps at once."""

    def __init__(self) -> None:
        self.now = self.most = 0

    def pack(self, x: torch.Tensor) -> Kept:
        """Keep a tensor, and count it."""
        return Kept(self, x)


class Kept:
    """A tensor in a graph: counted until the graph is freed."""

    def __init__(self, peak: Peak, x: torch.Tensor) -> None:
        self.peak, self.x = peak, x
        peak.now += x.numel()
        peak.most = max(peak.most, peak.now)

    def __del__(self) -> None:
        self.peak.now -= self.x.numel()


def kept(rows: int) -> int:
    """Return how many elements are kept at once when this many rows are replayed in fours."""
    tower, x, peak = Tower(1), numbers(rows, 3), Peak()
    _, states = embed(tower, x, 4)
    with torch.autograd.graph.saved_tensors_hooks(peak.pack, lambda each: each.x):
        replay(tower, x, 4, states, numbers(rows, 2))
    return peak.most


@three
def test_the_memory_of_one_chunk() -> None:
    """40 rows keep as much as 4: a chunk's graph is freed before the next one is built."""
    one_chunk, ten_chunks = kept(4), kept(40)
    assert ten_chunks == one_chunk, (
        f"your graph keeps {one_chunk} elements for 1 chunk, and {ten_chunks} for 10"
    )


@four
@pytest.mark.parametrize("chunk", [1, 3, 7, 100])
def test_a_step_is_the_whole_batch(chunk: int) -> None:
    """The loss and all gradients, to twelve digits, whatever the chunk."""
    inputs = [numbers(7, 3, seed=seed) for seed in (1, 2)]
    loss, towers = Loss(), [Tower(1), Tower(2)]
    their_loss, theirs = Loss(), [Tower(1), Tower(2)]
    torch.manual_seed(7)
    with unchanged(loss, *towers, inputs=inputs, but=RNG):
        value = step(loss, towers, inputs, chunk)
    torch.manual_seed(7)
    expected = together(their_loss, theirs, inputs, chunk)

    close(value, expected, f"the loss, in chunks of {chunk}")
    assert not value.requires_grad, "your loss has a graph"
    right = grads(their_loss, *theirs)
    compare(grads(loss, *towers), right, f"in chunks of {chunk}: scale, tower 0, tower 1")


@four
def test_gradients_add_up() -> None:
    """Two steps without zero_grad, each with different dropout."""
    inputs = [numbers(6, 3, seed=seed) for seed in (1, 2)]
    loss, towers = Loss(), [Tower(1), Tower(2)]
    their_loss, theirs = Loss(), [Tower(1), Tower(2)]
    torch.manual_seed(8)
    yours = [step(loss, towers, inputs, 4) for _ in range(2)]
    torch.manual_seed(8)
    expected = [together(their_loss, theirs, inputs, 4) for _ in range(2)]

    close(torch.stack(yours), torch.stack(expected), "the losses of two steps, with dropout")
    compare(grads(loss, *towers), grads(their_loss, *theirs), "after two steps")


@four
def test_one_tower_for_both() -> None:
    """Two views of each row, as in SimCLR: both passes add to the same parameters."""
    inputs = [numbers(6, 3, seed=seed) for seed in (1, 2)]
    loss, tower, their_loss, their = Loss(), Tower(1), Loss(), Tower(1)
    torch.manual_seed(9)
    step(loss, [tower, tower], inputs, 4)
    torch.manual_seed(9)
    together(their_loss, [their, their], inputs, 4)

    compare(grads(loss, tower), grads(their_loss, their), "one tower for both inputs")


@four
def test_gradcheck() -> None:
    """The gradient of the first weight is the slope of the loss that you return."""
    inputs = [numbers(5, 3, seed=seed) for seed in (1, 2)]

    class Stepped(torch.autograd.Function):
        """The loss of a step, as a function of one weight."""

        @staticmethod
        def forward(ctx: Any, weight: torch.Tensor) -> torch.Tensor:
            """Return your loss, and keep your gradient."""
            loss, towers = Loss(), [Tower(1), Tower(2)]
            towers[0].first.weight.data = weight.detach().clone()
            torch.manual_seed(11)
            with torch.enable_grad():
                value = step(loss, towers, inputs, 2)
            ctx.slope = grads(towers[0])[0]
            return value

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
            """Return your gradient."""
            slope: torch.Tensor = grad * ctx.slope
            return slope

    weight = Tower(1).first.weight.detach().clone().requires_grad_()
    try:
        torch.autograd.gradcheck(Stepped.apply, (weight,))
    except GradcheckError as error:
        pytest.fail(
            "`analytical` is your gradient, `numerical` a difference quotient of your loss:"
            f" {error}"
        )
