"""Tests of k13_perplexity: the loss over all logits, without storing all logits."""

from __future__ import annotations

import math
from contextlib import contextmanager
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from katas.lecture24.k13_perplexity import perplexity
from katas.lecture24.k13_perplexity import total
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Iterator


DIM, WORDS = 5, 97
IGNORED = -100


def numbers(*size: int, seed: int = 0) -> torch.Tensor:
    """Return irrational float64 values."""
    dice = torch.Generator().manual_seed(seed)
    return torch.randn(*size, dtype=torch.float64, generator=dice)


def batch(tokens: int, words: int = WORDS, seed: int = 0, every: int = 0) -> tuple[Any, Any]:
    """Return hidden states and targets; with `every`, each `every`-th token does not count."""
    dice = torch.Generator().manual_seed(seed)
    target = torch.randint(words, (tokens,), generator=dice)
    if every:
        target[::every] = IGNORED
    return numbers(tokens, DIM, seed=seed + 1), target


def whole(hidden: torch.Tensor, weight: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Return the summed loss, computed from all logits."""
    return F.cross_entropy(F.linear(hidden, weight), target, reduction="sum")


def same(yours: torch.Tensor, right: torch.Tensor, what: str) -> None:
    """Compare to twelve digits."""
    __tracebackhide__ = True
    torch.testing.assert_close(
        yours, right, rtol=1e-12, atol=1e-12, msg=lambda text: f"{what}: {text}"
    )


class Largest(TorchDispatchMode):
    """Keep the size of the largest result, and the operator that returned it."""

    def __init__(self) -> None:
        """Begin with nothing."""
        super().__init__()
        self.found = (0, "")

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Look at the results."""
        results = func(*args, **(kwargs or {}))
        for each in results if isinstance(results, tuple | list) else [results]:
            if isinstance(each, torch.Tensor):
                self.found = max(self.found, (each.numel(), str(func)))
        return results


@contextmanager
def saved() -> Iterator[dict[int, int]]:
    """Yield the elements that autograd saves for backward, by storage."""
    found: dict[int, int] = {}
    kept: list[torch.Tensor] = []

    def pack(x: torch.Tensor) -> torch.Tensor:
        kept.append(x)
        found[x.untyped_storage().data_ptr()] = x.untyped_storage().nbytes() // x.itemsize
        return x

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
        yield found


@pytest.mark.parametrize("size", [1, 4, 5, 12, 40])
def test_the_loss_is_that_of_all_logits(size: int) -> None:
    """Chunks may divide the twelve tokens, may not, and may be longer."""
    (hidden, target), weight = batch(12), numbers(WORDS, DIM, seed=5)
    with unchanged(hidden=hidden, target=target, weight=weight):
        loss, tokens = total(hidden, weight, target, size)
    assert loss.shape == (), f"your loss has shape {list(loss.shape)}, expected []"
    assert loss.dtype == torch.float64, f"your loss is {loss.dtype}, expected torch.float64"
    same(loss, whole(hidden, weight, target), f"the sum of 12 losses, in chunks of {size}")
    assert isinstance(tokens, int), f"the count is a {type(tokens).__name__}, expected an int"
    assert tokens == 12, f"your count is {tokens} tokens, expected 12"


def test_ignored_tokens_do_not_count() -> None:
    """Every third target is -100, and a chunk may contain no other target."""
    (hidden, target), weight = batch(13, every=3), numbers(WORDS, DIM, seed=5)
    target[4:8] = IGNORED
    loss, tokens = total(hidden, weight, target, 4)
    same(loss, whole(hidden, weight, target), "the sum, with targets of -100")
    right = int((target >= 0).sum())
    assert tokens == right, f"your count is {tokens} tokens, expected {right}: -100 does not count"


def test_gradients_are_those_of_all_logits() -> None:
    """Compare gradients of hidden and weight, for an incoming gradient other than 1."""
    hidden, target = batch(11, every=4)
    hidden.requires_grad_()
    weight = numbers(WORDS, DIM, seed=5).requires_grad_()
    loss, _ = total(hidden, weight, target, 3)
    assert loss.requires_grad, "your loss does not require grad: backward would raise"
    results = loss * 0.3, whole(hidden, weight, target) * 0.3
    grads = [torch.autograd.grad(each, [hidden, weight], allow_unused=True) for each in results]
    for name, yours, right in zip(("hidden", "weight"), *grads, strict=True):
        assert yours is not None, f"no gradient reached {name}"
        same(yours, right, f"the gradient of {name}")


def test_gradcheck() -> None:
    """The gradients agree with finite differences."""
    hidden, target = batch(5, words=4, every=3)
    weight = numbers(4, DIM, seed=5).requires_grad_()

    def loss(hidden: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        yours: torch.Tensor = total(hidden, weight, target, 2)[0]
        return yours

    torch.autograd.gradcheck(loss, (hidden.requires_grad_(), weight))


def test_no_large_result() -> None:
    """Sixty-four tokens, six at a time: forward and backward never compute all logits at once."""
    hidden, target = batch(64)
    weight = numbers(WORDS, DIM, seed=5).requires_grad_()
    with Largest() as watch:
        total(hidden.requires_grad_(), weight, target, 6)[0].backward()
    most, operator = watch.found
    assert most <= 6 * WORDS, (
        f"{operator} returned {most} elements, logits of {most // WORDS} tokens at once; size is 6:"
        f" expected at most 6 tokens x {WORDS} words = {6 * WORDS}. 64 tokens are all tokens; 11"
        " tokens come from chunk(6), which returns six chunks: use split"
    )


def test_no_logits_are_saved() -> None:
    """The memory saved for backward grows with tokens times dim, not tokens times words."""
    hidden, target = batch(64)
    weight = numbers(WORDS, DIM, seed=5).requires_grad_()
    with saved() as found:
        loss, _ = total(hidden.requires_grad_(), weight, target, 8)
    yours, bar = sum(found.values()), 2 * (64 + WORDS) * DIM + 4 * 64
    with saved() as all_of_them:
        whole(hidden, weight, target)
    assert yours <= bar, (
        f"your code saves {yours} elements for backward, expected at most {bar}; all at once it is"
        f" {sum(all_of_them.values())}. What keeps the logits of each chunk?"
    )
    loss.backward()
    assert weight.grad is not None, "no gradient reached the weight"


def test_perplexity_of_one_batch() -> None:
    """Perplexity is exp of the mean loss."""
    (hidden, target), weight = batch(12), numbers(WORDS, DIM, seed=5)
    with unchanged(hidden=hidden, target=target, weight=weight):
        yours = perplexity([(hidden, target)], weight, 5)
    right = math.exp(whole(hidden, weight, target).item() / 12)
    assert isinstance(yours, float), f"perplexity returns {type(yours).__name__}, not float"
    assert math.isclose(yours, right, rel_tol=1e-12), (
        f"12 tokens: your perplexity is {yours}, expected {right}"
    )


def test_perplexity_is_a_mean_over_tokens() -> None:
    """Batches have one token, twenty and seven; some of the seven are ignored."""
    weight = numbers(WORDS, DIM, seed=5)
    batches = [batch(1, seed=1), batch(20, seed=2), batch(7, seed=3, every=2)]
    yours = perplexity(iter(batches), weight, 6)
    sums = [whole(hidden, weight, target).item() for hidden, target in batches]
    counts = [1, 20, 3]
    right = math.exp(sum(sums) / sum(counts))
    means = [one / count for one, count in zip(sums, counts, strict=True)]
    ways = {
        "exp of the mean of means": math.exp(sum(means) / 3),
        "mean of exp": sum(map(math.exp, means)) / 3,
        "-100 counted": math.exp(sum(sums) / 28),
    }
    assert math.isclose(yours, right, rel_tol=1e-12), (
        f"batches of {counts} tokens: your perplexity is {yours}, expected {right}; other ways: "
        f"{ways}"
    )


def test_perplexity_saves_nothing() -> None:
    """No graph is recorded, although weight and hidden require gradients."""
    hidden, target = batch(24)
    weight = numbers(WORDS, DIM, seed=5).requires_grad_()
    inputs = [(hidden.requires_grad_(), target)]
    with saved() as found, unchanged(hidden=hidden, weight=weight), Largest() as watch:
        perplexity(inputs, weight, 8)
    assert not found, f"{sum(found.values())} elements were saved for backward, expected none"
    size, operator = watch.found
    assert size <= 8 * WORDS, f"{operator} returned {size} elements, expected at most {8 * WORDS}"


def test_pytorch_agrees() -> None:
    """Compare with the fused loss, if this PyTorch has it."""
    (hidden, target), weight = batch(12, every=3), numbers(WORDS, DIM, seed=5)
    fused = getattr(F, "linear_cross_entropy", None)
    yours, _ = total(hidden, weight, target, 4)
    right = (
        fused(hidden, weight, target, reduction="sum") if fused else whole(hidden, weight, target)
    )
    same(yours, right, "total, beside linear_cross_entropy")
