"""Tests of k11_pipeline: ranks with parts of a model get the gradients of one process."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import distributed as dist
from torch import nn

from katas.lecture14.k11_pipeline import parts_of
from katas.lecture14.k11_pipeline import pipeline
from katas.lecture14.k11_pipeline import step


pytestmark = [
    pytest.mark.backend("gloo"),
    pytest.mark.ranks_import("torch.distributed.pipelining", "numpy.random"),
]
# Irrational, so that results do not agree by accident.
BATCH = torch.arange(1, 25, dtype=torch.float64).reshape(8, 3).sqrt()
TARGET = torch.arange(30, 54, dtype=torch.float64).reshape(8, 3).sqrt() / 7


def layers() -> list[nn.Module]:
    """Return a model of five layers, the same in each process."""
    made: list[nn.Module] = []
    for number in range(5):
        linear = nn.Linear(3, 3, dtype=torch.float64)
        with torch.no_grad():
            for place, parameter in enumerate(linear.parameters()):
                values = torch.arange(parameter.numel()).double() + 2 + 5 * number + place
                parameter.copy_(values.sqrt().sin().view_as(parameter))
        made.append(nn.Sequential(linear, nn.Tanh()))
    return made


def grad_of(parameter: nn.Parameter) -> torch.Tensor:
    """Return a copy of a parameter's gradient."""
    assert parameter.grad is not None, (
        "your code computed no gradient for a parameter, expected one"
    )
    return parameter.grad.clone()


def weighted(output: torch.Tensor, target: torch.Tensor, reduction: str) -> torch.Tensor:
    """Return a loss that changes if output and target are swapped."""
    errors = (output - target).square() * target
    return errors.mean() if reduction == "mean" else errors.sum()


def alone(reduction: str) -> tuple[torch.Tensor, list[list[torch.Tensor]]]:
    """Return the loss of the batch and the gradients of each layer, in one process."""
    model = layers()
    loss = weighted(nn.Sequential(*model)(BATCH), TARGET, reduction)
    loss.backward()
    return loss.detach(), [[grad_of(p) for p in layer.parameters()] for layer in model]


def trained(name: str, chunks: int, count: int, reduction: str) -> dict[str, Any]:
    """Take two steps on each rank."""
    rank, ranks = dist.get_rank(), dist.get_world_size()
    model = layers()
    parts = parts_of(model, rank, ranks, chunks)
    rows: list[int] = []

    def loss(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        rows.append(len(output))
        return weighted(output, target, reduction)

    schedule = pipeline(parts, ranks * chunks, name, count, loss, mean=reduction == "mean")
    mine = {n for n, layer in enumerate(model) for part in parts.values() if layer in list(part)}
    # Ranks that must not use batch or target get NaN there.
    batch = BATCH if rank == 0 else torch.full((1, 3), torch.nan, dtype=torch.float64)
    target = TARGET if rank == ranks - 1 else torch.full((1, 3), torch.nan, dtype=torch.float64)
    found: list[Any] = []
    for _ in range(2):
        value = step(schedule, batch, target)
        grads = {n: [grad_of(p) for p in model[n].parameters()] for n in mine}
        asks = None if value is None else value.requires_grad
        found.append((value if value is None else value.detach(), asks, grads))
    same = all(
        torch.equal(p, q)
        for a, b in zip(model, layers(), strict=True)
        for p, q in zip(a.parameters(), b.parameters(), strict=True)
    )
    return {"steps": found, "kind": type(schedule).__name__, "same": same, "rows": rows}


def close(yours: torch.Tensor, right: torch.Tensor, why: str) -> None:
    """Compare float64 values."""
    __tracebackhide__ = True
    assert torch.allclose(yours, right, rtol=1e-12, atol=1e-14), why


def check(results: Any, kind: str, reduction: str, count: int = 4) -> None:
    """Compare all that the ranks return with one process."""
    loss, grads = alone(reduction)
    told = f"{kind}, a loss that is a {reduction}"
    seen: list[int] = []
    for rank, found in enumerate(results):
        assert found["kind"] == kind, (
            f"rank {rank}: you return a {found['kind']}, expected a {kind}"
        )
        assert found["same"], (
            f"rank {rank}: your step changes weights; expected only .grad to change"
        )
        for number, (value, asks, mine) in enumerate(found["steps"], 1):
            last = rank == len(results) - 1
            assert (value is not None) == last, (
                f"{told}, rank {rank}: your code returns {value}, expected a loss on the last rank"
                " only"
            )
            if last:
                assert set(found["rows"]) == {len(BATCH) // count}, (
                    f"{told}: rows of each micro-batch's loss: yours {found['rows']}; expected "
                    f"{count} micro-batches of {len(BATCH) // count}"
                )
                close(
                    value,
                    loss,
                    f"{told}: the loss, yours {value:.6g}, expected {loss:.6g}: what "
                    "have the micro-batches to do with it?",
                )
                assert not asks, f"{told}: your loss keeps the graph of the batch alive: detach it"
            for layer, theirs in mine.items():
                for one, right in zip(theirs, grads[layer], strict=True):
                    ratio = (one / (number * right)).mean().item()
                    close(
                        one,
                        number * right,
                        f"{told}: after step {number} the gradient of layer "
                        f"{layer} is {ratio:.3g} times that of one process, yours against "
                        "expected; who divides, when, and what?",
                    )
            seen += mine if number == 1 else []
    assert sorted(seen) == list(range(5)), (
        f"{told}: your code trains layers {sorted(seen)}, expected 0 to 4"
    )


def numbers(model: list[nn.Module], part: nn.Module) -> list[int]:
    """Return which layers of the model a part has."""
    children = list(part.children())
    assert all(any(layer is each for each in model) for layer in children), (
        "your part has layers that are not the model's own: expected the same objects, since "
        "their parameters are trained"
    )
    return [n for layer in children for n, each in enumerate(model) if layer is each]


def test_a_rank_holds_consecutive_layers() -> None:
    """The first stages are longer by one; the layers are the model's own objects."""
    model = layers()
    yours = [numbers(model, parts_of(model, rank, 2, 1)[rank]) for rank in (0, 1)]
    assert yours == [[0, 1, 2], [3, 4]], f"yours {yours}, expected [[0, 1, 2], [3, 4]]"


@pytest.mark.parametrize(("ranks", "chunks"), [(1, 1), (2, 2), (3, 1), (5, 1), (1, 5), (2, 1)])
def test_stages_go_round_the_ranks(ranks: int, chunks: int) -> None:
    """Stage s is on rank s % ranks, and together the ranks have each layer once."""
    model = layers()
    found: dict[int, list[int]] = {}
    for rank in range(ranks):
        parts = parts_of(model, rank, ranks, chunks)
        expected = list(range(rank, ranks * chunks, ranks))
        assert list(parts) == expected, f"rank {rank} of {ranks}: yours {list(parts)}, {expected=}"
        found |= {stage: numbers(model, part) for stage, part in parts.items()}
    order = [found[stage] for stage in sorted(found)]
    sizes = [len(part) for part in order]
    assert [n for part in order for n in part] == list(range(5)), (
        f"layers stage by stage: yours {order}, expected 0 to 4 in order, each once"
    )
    assert sizes == sorted(sizes, reverse=True), (
        f"your stages have lengths {sizes}, expected the longer stages first"
    )
    assert max(sizes) - min(sizes) <= 1, (
        f"your stages have lengths {sizes}, expected a difference of at most 1"
    )


def test_a_mean_is_divided(world: Any) -> None:
    """1F1B on two ranks, four micro-batches: loss and gradients of one process, twice."""
    check(world(trained, 2, "1F1B", 1, 4, "mean"), "Schedule1F1B", "mean")


def test_a_sum_is_not(world: Any) -> None:
    """The same with a loss that adds up."""
    check(world(trained, 2, "1F1B", 1, 4, "sum"), "Schedule1F1B", "sum")


def test_a_rank_with_several_stages(world: Any) -> None:
    """Interleaved: two stages on each of two ranks."""
    results = world(trained, 2, "Interleaved1F1B", 2, 4, "mean")
    check(results, "ScheduleInterleaved1F1B", "mean")


def test_a_single_rank_is_first_and_last(world: Any) -> None:
    """A single rank passes in both batch and target, with GPipe."""
    check(world(trained, 1, "GPipe", 1, 2, "sum"), "ScheduleGPipe", "sum", 2)


def test_a_rank_in_the_middle(world: Any) -> None:
    """A middle rank passes in neither."""
    check(world(trained, 3, "1F1B", 1, 4, "mean"), "Schedule1F1B", "mean")
