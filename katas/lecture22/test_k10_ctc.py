"""Tests of k10_ctc: all paths one by one, gradcheck, and `F.ctc_loss`."""

from __future__ import annotations

import math
from functools import cache
from itertools import groupby
from itertools import product

import pytest
import torch
from torch.autograd import gradcheck
from torch.autograd.gradcheck import GradcheckError
from torch.nn import functional as F

from katas.lecture22 import k10_ctc as kata
from katas.lecture22.k10_ctc import CTC
from katas.lecture22.k10_ctc import alphas
from katas.lecture22.k10_ctc import extend
from katas.lecture22.k10_ctc import loss
from katas.lecture22.k10_ctc import occupancy
from katas.lecture22.k10_ctc import pytorchs
from plugins.kit import forbids
from plugins.kit import unchanged


INF = float("inf")
one = pytest.mark.step(1, "states")
two = pytest.mark.step(2, "the recursion")
three = pytest.mark.step(3, "loss and occupancy")
four = pytest.mark.step(4, "a backward of its own")
five = pytest.mark.step(5, "PyTorch's gradient")
LABELS = [[1], [1, 2], [1, 1], [2, 1, 2], [3, 3, 1], [1, 2, 3, 1], []]


def scores(frames: int = 6, classes: int = 4, seed: int = 0) -> torch.Tensor:
    """Return irrational numbers in float64, not normalised."""
    dice = torch.Generator().manual_seed(seed)
    return torch.randn(frames, classes, dtype=torch.float64, generator=dice)


def ids(labels: list[int]) -> torch.Tensor:
    """Return labels as a tensor."""
    return torch.tensor(labels, dtype=torch.int64)


def theirs(log_probs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return PyTorch's loss."""
    return F.ctc_loss(log_probs, labels, (len(log_probs),), (len(labels),), reduction="sum")


def close(yours: torch.Tensor, expected: torch.Tensor, what: str, gap: float = 1e-12) -> None:
    """Compare shapes, then numbers."""
    __tracebackhide__ = True
    assert yours.shape == expected.shape, (
        f"{what}: yours has shape {[*yours.shape]}, expected {[*expected.shape]}"
    )
    says = f"{what}: yours is\n{yours.tolist()}\nexpected\n{expected.tolist()}\n".__add__
    torch.testing.assert_close(yours, expected, rtol=0, atol=gap, msg=says)


@cache
def paths(frames: int, classes: int) -> dict[tuple[int, ...], torch.Tensor]:
    """Return all paths, [paths, frames], keyed by the labels that they collapse to."""
    found: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
    for path in product(range(classes), repeat=frames):
        left = tuple(label for label, _ in groupby(path) if label)
        found.setdefault(left, []).append(path)
    return {left: torch.tensor(rows) for left, rows in found.items()}


def enumerated(log_probs: torch.Tensor, labels: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
    """Return loss and occupancy, path by path."""
    rows = paths(*log_probs.shape)[tuple(labels)]
    each = log_probs[torch.arange(len(log_probs)), rows].sum(1).exp()
    emits = F.one_hot(rows, log_probs.shape[1]).double()
    return -each.sum().log(), torch.einsum("p,ptc->tc", each / each.sum(), emits)


def beginnings(log_probs: torch.Tensor, labels: list[int]) -> torch.Tensor:
    """Return what `alphas` should return, walk by walk."""
    states = [0]
    for label in labels:
        states += [label, 0]
    table = torch.zeros(len(log_probs), len(states), dtype=torch.float64)

    def walk(frame: int, state: int, chance: float) -> None:
        chance *= math.exp(float(log_probs[frame, states[state]]))
        table[frame, state] += chance
        if frame + 1 == len(log_probs):
            return
        for by in (0, 1, 2):
            after = state + by
            if after >= len(states) or (by == 2 and states[after] in {0, states[state]}):
                continue
            walk(frame + 1, after, chance)

    for state in range(min(2, len(states))):
        walk(0, state, 1.0)
    return table.log()


def why(jumps: list[int], right: list[int]) -> str:
    """Return what is wrong with a step of 2 to the first wrong state."""
    more = {*jumps} - {*right}
    if 1 in more:
        return "State 1 has nothing two states before it"
    if any(state % 2 == 0 for state in more):
        return "A step of 2 to a blank leaves out a label"
    if more:
        return "To skip the blank between equal labels makes one of them"
    return "The blank between different labels may be skipped"


@one
def test_states() -> None:
    """There is a blank before, between and after the labels."""
    labels = ids([1, 1, 2])
    with unchanged(labels=labels):
        states, _ = extend(labels)

    assert states.dtype == torch.int64, f"your states are {states.dtype}, expected int64"
    right = [0, 1, 0, 1, 0, 2, 0]
    assert states.tolist() == right, f"states for 1 1 2: yours {states.tolist()}, expected {right}"


@one
@pytest.mark.parametrize(
    ("labels", "right"),
    [([1, 2], [3]), ([1, 1, 2], [5]), ([2, 1, 2, 2], [3, 5]), ([3], []), ([], [])],
)
def test_jumps(labels: list[int], right: list[int]) -> None:
    """A step of 2 ends at a label that is not the label before it."""
    states, jumps = extend(ids(labels))

    assert len(states) == len(jumps) == 2 * len(labels) + 1, (
        f"for labels {labels}, your code returns {len(states)} states and {len(jumps)} jumps"
    )
    assert jumps.dtype == torch.bool, f"your jumps are {jumps.dtype}, expected bool"
    yours = jumps.nonzero().flatten().tolist()
    assert yours == right, (
        f"labels {labels}: a step of 2 may end at {yours}, expected {right}. {why(yours, right)}"
    )


@two
def test_one_frame() -> None:
    """A path begins with the first blank or the first label."""
    log_probs = scores(1)
    with unchanged(log_probs=log_probs):
        yours = alphas(log_probs, ids([3, 1]))

    right = [[float(log_probs[0, 0]), float(log_probs[0, 3]), -INF, -INF, -INF]]
    assert yours.tolist() == right, f"one frame: yours {yours.tolist()}, expected {right}"


@two
def test_two_frames() -> None:
    """For labels 2 1, the last state cannot be reached."""
    log_probs = scores(2)
    yours = alphas(log_probs, ids([2, 1]))

    close(yours, beginnings(log_probs, [2, 1]), "two frames, labels 2 1")


@two
@pytest.mark.parametrize("labels", LABELS)
def test_all_beginnings(labels: list[int]) -> None:
    """Compare each state at each frame with a sum over all walks to it."""
    log_probs = scores(5).log_softmax(-1)
    with unchanged(log_probs=log_probs):
        yours = alphas(log_probs, ids(labels))

    close(yours, beginnings(log_probs, labels), f"labels {labels}")


@three
@pytest.mark.parametrize("labels", LABELS)
def test_loss_of_all_paths(labels: list[int]) -> None:
    """Sum over those of 4096 paths that collapse to the labels."""
    log_probs = scores().log_softmax(-1)
    with unchanged(log_probs=log_probs):
        yours = loss(log_probs, ids(labels))

    close(yours, enumerated(log_probs, labels)[0], f"loss of labels {labels}")


@three
def test_no_path() -> None:
    """Labels 1 1 need a blank in between: two frames are too few, and three are enough."""
    yours = [float(loss(scores(frames), ids([1, 1]))) for frames in (2, 3)]
    assert yours[0] == INF, f"labels 1 1 in two frames: yours {yours[0]}, expected inf"
    assert yours[1] < INF, f"labels 1 1 in three frames: yours {yours[1]}, expected a finite number"


@three
def test_long() -> None:
    """The probability of 2000 frames is below the smallest float: keep logarithms."""
    log_probs = scores(2000).log_softmax(-1)
    labels = ids([1, 2, 3] * 30)
    close(loss(log_probs, labels), theirs(log_probs, labels), "2000 frames, 90 labels", 1e-8)


@three
@pytest.mark.parametrize("labels", LABELS)
def test_occupancy_of_all_paths(labels: list[int]) -> None:
    """Compare which class the matching paths emit in each frame; states may share a class."""
    log_probs = scores(seed=3).log_softmax(-1)
    with unchanged(log_probs=log_probs):
        yours = occupancy(log_probs, ids(labels))

    sums = yours.sum(-1)
    worst = float(sums[(sums - 1).abs().argmax()])
    assert abs(worst - 1) < 1e-9, (
        f"occupancy for labels {labels}: a row adds up to {worst:.2f}, expected 1. Add up the"
        " shares of all states of a class; `out[:, states] += shares` keeps only one of them"
    )
    close(yours, enumerated(log_probs, labels)[1], f"occupancy for labels {labels}")


@three
def test_raw_scores() -> None:
    """Probabilities need not add up to 1 here, but the shares of a frame still do."""
    raw = scores(seed=4) * 2
    yours = occupancy(raw, ids([2, 2]))

    close(yours.sum(1), torch.ones(6, dtype=torch.float64), "sums of each frame")
    close(yours, enumerated(raw, [2, 2])[1], "occupancy of raw scores, labels 2 2")


@four
def test_apply_is_the_loss() -> None:
    """Forward returns `loss`."""
    log_probs = scores().log_softmax(-1)
    close(CTC.apply(log_probs, ids([1, 2])), enumerated(log_probs, [1, 2])[0], "CTC.apply")


@four
@pytest.mark.parametrize("labels", [[1, 1], [1, 2, 1], []])
def test_gradcheck(labels: list[int]) -> None:
    """Check the gradient of log_probs themselves, each changed on its own."""
    log_probs = scores().log_softmax(-1).requires_grad_()
    try:
        gradcheck(lambda x: CTC.apply(x, ids(labels)), log_probs)
    except GradcheckError as error:
        text = " ".join(str(error).split())
        pytest.fail(f"gradcheck of CTC.apply, labels {labels}: {text[:600]}")


@four
def test_two_losses() -> None:
    """Each call keeps what its own backward needs."""
    first, second = (scores(seed=seed).log_softmax(-1) for seed in (8, 9))
    kept, other = first.clone().requires_grad_(), second.clone().requires_grad_()
    values = CTC.apply(kept, ids([1, 2])), CTC.apply(other, ids([3]))
    (yours,) = torch.autograd.grad(values[0], kept)

    what = "forward for labels 1 2, forward for 3, backward of the first: is all of it kept in ctx?"
    close(yours, -enumerated(first, [1, 2])[1], what)


@five
@pytest.mark.parametrize("labels", [[1, 1], [1, 2, 1], []])
def test_what_pytorch_returns(labels: list[int]) -> None:
    """Compare on log_probs, and on scores that are not normalised."""
    normal = scores(seed=5).log_softmax(-1), "log_probs"
    for raw, what in (normal, (scores(seed=6), "log_probs that do not add up to 1")):
        log_probs = raw.clone().requires_grad_()
        (expected,) = torch.autograd.grad(theirs(log_probs, ids(labels)), log_probs)
        yours = pytorchs(raw, ids(labels))
        close(yours, expected, f"PyTorch's gradient for {what}, labels {labels}")


@five
def test_before_log_softmax() -> None:
    """There PyTorch's gradient and yours agree, and equal what PyTorch returned for log_probs."""
    raw = scores(seed=7).requires_grad_()
    log_probs = raw.log_softmax(-1)
    (yours,) = torch.autograd.grad(CTC.apply(log_probs, ids([1, 2])), raw, retain_graph=True)
    (expected,) = torch.autograd.grad(theirs(log_probs, ids([1, 2])), raw)

    close(yours, expected, "before log_softmax, yours against PyTorch's")
    close(pytorchs(log_probs.detach(), ids([1, 2])), expected, "pytorchs, against that gradient")


@pytest.mark.given
def test_gradcheck_of_pytorchs() -> None:
    """It fails on log_probs and passes before log_softmax: an example to read."""
    raw, labels = scores().requires_grad_(), ids([1, 2])
    right = gradcheck(lambda x: theirs(x.log_softmax(-1), labels), raw)
    assert right, "F.ctc_loss of log_softmax fails gradcheck, expected it to pass"
    with pytest.raises(GradcheckError):
        gradcheck(lambda x: theirs(x, labels), raw.detach().log_softmax(-1).requires_grad_())


def test_no_ctc_loss() -> None:
    """Your loss is computed without `ctc_loss`."""
    names = ("torch.nn.functional.ctc_loss", "torch.ctc_loss", "torch.nn.CTCLoss")
    with forbids(kata, *names) as fresh:
        raw = scores().requires_grad_()
        value = fresh.CTC.apply(raw, ids([1, 2]))
        value.backward()
        fresh.pytorchs(raw.detach(), ids([1, 2]))
    assert value > 0 or value <= 0, f"your loss is {value}, expected a finite number"
