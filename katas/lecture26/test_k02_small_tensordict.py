"""Tests of k02_small_tensordict: sizes, views, errors, and the sizes inside vmap."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
from torch.utils._pytree import tree_map

from katas.lecture26.k02_small_tensordict import Batch
from katas.lecture26.k02_small_tensordict import flatten
from katas.lecture26.k02_small_tensordict import stack
from katas.lecture26.k02_small_tensordict import unflatten
from plugins.kit import unchanged


def numbers(*size: int) -> torch.Tensor:
    """Return irrational numbers, all different."""
    count = torch.Size(size).numel()
    return torch.arange(1, count + 1, dtype=torch.float64).sqrt().view(size)


def rollout() -> Batch:
    """Return four environments of five steps; the nested batch has one more batch dim."""
    following = Batch({"pixels": -numbers(4, 5, 2, 3)}, [4, 5, 2])
    values = {"pixels": numbers(4, 5, 2, 3), "reward": numbers(4, 5), "next": following}
    return Batch(values, [4, 5])


def is_batch(yours: Any, size: list[int], values: dict[str, torch.Tensor], what: str) -> None:
    """Check the size, the names and each value, also in the nested Batch under its two names."""
    __tracebackhide__ = True
    assert isinstance(yours, Batch), f"{what}: yours is a {type(yours).__name__}, expected a Batch"
    found = [*yours.batch_size]
    assert found == size, f"{what}: your batch size is {found}, expected {size}"
    assert [*yours.values] == ["pixels", "reward", "next"], (
        f"{what}: your names are {[*yours.values]}"
    )
    for name, right in values.items():
        value: Any = yours
        for part in name.split("."):
            assert isinstance(value, Batch), (
                f"{what}: expected a Batch around {part}, yours is {type(value)}"
            )
            value = value.values[part]
        assert isinstance(value, torch.Tensor), f"{what}: {name} is of type {type(value)}"
        assert torch.equal(value, right), (
            f"{what}: {name} has shape {[*value.shape]}, expected {[*right.shape]}; "
            f"yours {value.flatten()[:6].tolist()}..., expected {right.flatten()[:6].tolist()}..."
        )


def test_a_name() -> None:
    """A name gives the value itself, not a copy."""
    batch = rollout()
    for name, value in batch.values.items():
        yours = batch[name]
        assert yours is value, f"batch[{name!r}]: yours {yours!r}, expected the value itself"


INDICES = {
    "2": ([5], 2),
    "-1": ([5], -1),
    "1:3": ([2, 5], slice(1, 3)),
    ":, 1:": ([4, 4], (slice(None), slice(1, None))),
    "2, 3": ([], (2, 3)),
    "[0, 3, 3]": ([3, 5], torch.tensor([0, 3, 3])),
    "a mask of rows": ([2, 5], torch.tensor([True, False, False, True])),
    "a mask of both dims": ([10], numbers(4, 5) > numbers(4, 5).median()),
}


@pytest.mark.parametrize("index", INDICES)
def test_an_index(index: str) -> None:
    """Every value is indexed, in the nested Batch too."""
    batch, (size, at) = rollout(), INDICES[index]
    with unchanged(*batch.values["next"].values.values()):
        yours = batch[at]

    right = {name: batch.values[name][at] for name in ("pixels", "reward")}
    right["next.pixels"] = batch.values["next"].values["pixels"][at]
    is_batch(yours, size, right, f"batch[{index}]")
    inner = [*yours.values["next"].batch_size]
    assert inner == [*size, 2], f"batch[{index}]['next']: size {inner}, expected {[*size, 2]}"


def test_views() -> None:
    """A slice shares its memory with the batch."""
    batch = rollout()
    batch[1:3].values["pixels"].zero_()
    found = batch.values["pixels"][1:3]
    assert not found.any(), (
        "batch[1:3]['pixels'] is a copy, so a write to it does not reach the batch"
    )


def test_too_many_dims() -> None:
    """An index cannot use the third dim, which belongs to the pixels and the nested batch."""
    for batch in (rollout(), Batch({"pixels": numbers(4, 5, 2)}, [4, 5])):
        try:
            yours = batch[2, 3, 0]
        except IndexError:
            continue
        raise AssertionError(
            f"batch[2, 3, 0] of batch size [4, 5] returns {yours!r}, not IndexError"
        )


@pytest.mark.parametrize("dim", [0, 1, 2, -1, -3])
def test_stack(dim: int) -> None:
    """The new dim is among the batch dims, counted from the front or the end."""
    first, second = rollout(), rollout()
    second.values["reward"] = second.values["reward"] + 1
    before = [*first.values.values()]
    with unchanged(first.values["reward"], second.values["reward"]):
        yours = stack([first, second, first], dim)
    kept = all(x is y for x, y in zip(before, first.values.values(), strict=True))
    assert kept, "your code changes its argument: the first Batch now has different values"

    place = dim % 3
    size = [[3, 4, 5], [4, 3, 5], [4, 5, 3]][place]

    def both(name: str) -> torch.Tensor:
        return torch.stack([first.values[name], second.values[name], first.values[name]], place)

    following = first.values["next"].values["pixels"]
    right = {"pixels": both("pixels"), "reward": both("reward")}
    right["next.pixels"] = torch.stack([following] * 3, place)
    is_batch(yours, size, right, f"stack of three, dim {dim}")


def test_stack_by_name() -> None:
    """The order of names may differ; without `dim`, the new dim is the first."""
    a = Batch({"x": numbers(2), "y": -numbers(2)}, [2])
    b = Batch({"y": numbers(2) - 9, "x": numbers(2) + 9}, [2])
    yours = stack([a, b])

    assert [*yours.values] == ["x", "y"], (
        f"your names {[*yours.values]}, expected those of the first Batch"
    )
    expected = [a["x"].tolist(), b["x"].tolist()]
    found = yours.values["x"].tolist()
    assert found == expected, f"x of both: yours {found}, expected {expected}"
    alone = [*stack([a]).batch_size]
    assert alone == [1, 2], f"a stack of one: your batch size is {alone}, expected [1, 2]"


def test_a_dim_that_is_none() -> None:
    """A batch dim cannot be among the pixels' own dims."""
    batch = Batch({"pixels": numbers(2, 2, 2, 2)}, [2, 2])
    for dim in (3, -4):
        try:
            yours = stack([batch, batch], dim)
        except IndexError:
            continue
        except ValueError as error:
            raise AssertionError(
                f"stack, dim {dim}: yours raises ValueError, not IndexError"
            ) from error
        raise AssertionError(
            f"stack of batch size [2, 2], dim {dim}: yours has size {[*yours.batch_size]}, "
            "expected IndexError; the dims are 0 to 2, and -1 to -3"
        )


def test_unequal_stack() -> None:
    """Different names or sizes are refused, in a nested batch too."""
    x = numbers(2, 3)
    flat, deep = Batch({"x": x}, [2]), Batch({"in": Batch({"x": x}, [2])}, [2])
    others = [
        (flat, Batch({"y": x}, [2]), "names differ"),
        (flat, Batch({"x": x}, [2, 3]), "sizes differ"),
        (deep, Batch({"in": Batch({"z": x}, [2])}, [2]), "names differ"),
    ]
    for one, two, text in others:
        with pytest.raises(ValueError, match=re.escape(text)):
            stack([one, two])


def test_there_and_back() -> None:
    """The results of flatten give the same Batch back, with its sizes."""
    batch = rollout()
    values, context = flatten(batch)
    assert [id(value) for value in values] == [id(value) for value in batch.values.values()], (
        f"flatten: yours {[type(value).__name__ for value in values]}, expected the three values, "
        "in the order of the dict"
    )
    is_batch(unflatten(values, context), [4, 5], {}, "unflatten of what flatten returns")
    alone = [*unflatten(*flatten(Batch({"reward": batch["reward"]}, [4, 5]))).batch_size]
    assert alone == [4, 5], (
        f"a value with no dims of its own: your batch size is {alone}, expected [4, 5]; a "
        "slice [:-0] is [:0], which is empty"
    )
    scaled = tree_map(lambda x: 2 * x, Batch({"next": batch, "reward": batch["reward"]}, [4]))
    found = [*scaled.batch_size]
    assert found == [4], (
        f"a Batch whose first value is a Batch: size {found} after tree_map, expected [4]"
    )
    assert torch.equal(scaled.values["next"].values["reward"], 2 * batch["reward"]), (
        "expected tree_map to double the reward of next"
    )


@pytest.mark.parametrize("dim", [0, 1])
def test_vmap(dim: int) -> None:
    """Inside vmap the mapped dim is hidden: the batch size has the other dims."""
    batch, seen = rollout(), list[Any]()

    def function(inside: Batch) -> Batch:
        seen.append([*inside.batch_size])
        seen.append([*inside[2:4].batch_size])
        return inside

    yours = torch.vmap(function, in_dims=dim, out_dims=dim)(batch)
    rest = [5, 4][dim]
    assert seen == [[rest], [2]], (
        f"inside vmap, sizes of your batch and its [2:4]: {seen}, expected {[[rest], [2]]}"
    )
    right = {"pixels": batch.values["pixels"], "reward": batch.values["reward"]}
    is_batch(yours, [4, 5], right, f"vmap with dim {dim}, there and back")


def test_vmap_over_all_there_is() -> None:
    """A Batch with one batch dim has none inside vmap, and two outside if a function adds one."""
    batch = Batch({"x": numbers(3), "y": numbers(3, 2)}, [3])
    sizes = list[Any]()

    def function(inside: Batch) -> Batch:
        sizes.append([*inside.batch_size])
        return stack([inside, inside])

    yours = torch.vmap(function)(batch)
    assert sizes == [[]], f"inside vmap your batch size is {sizes[0]}, expected []"
    assert [*yours.batch_size] == [3, 2], f"yours {[*yours.batch_size]}, expected [3, 2]"
    assert [*yours.values["y"].shape] == [3, 2, 2], f"y has shape {[*yours.values['y'].shape]}"


@pytest.mark.backend("torchrl")
def test_tensordict_agrees() -> None:
    """TensorDict gives the same sizes and values for the same calls."""
    from tensordict import TensorDict  # noqa: PLC0415 - optional

    batch = rollout()
    theirs = TensorDict(
        {"pixels": batch.values["pixels"], "reward": batch.values["reward"]}, batch_size=[4, 5]
    )
    pairs = [(batch[at], theirs[at]) for _, at in INDICES.values()]
    pairs += [(stack([batch, batch], dim), torch.stack([theirs, theirs], dim)) for dim in (1, -1)]
    for yours, right in pairs:
        assert yours.batch_size == right.batch_size, (
            f"your batch size is {[*yours.batch_size]}, TensorDict's {[*right.batch_size]}"
        )
        for name in ("pixels", "reward"):
            same = torch.equal(yours.values[name], right[name])
            assert same, f"{name}: your values differ from TensorDict's"
