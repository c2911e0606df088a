"""Tests of k16_formats: meta kernels, other sizes and operators defined here are the oracle."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
import torch.nn.functional as F
from torch._subclasses.fake_tensor import FakeTensorMode

from katas.lecture02.k16_formats import OPERATORS
from katas.lecture02.k16_formats import deciders
from katas.lecture02.k16_formats import format_of
from katas.lecture02.k16_formats import survey
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable


def ordered(tensor: torch.Tensor) -> str:
    """Return the format, computed another way: compare strides with those of new tensors."""
    found = []
    for name in ("contiguous_format", "channels_last"):
        new = torch.empty(tensor.shape, memory_format=getattr(torch, name)).stride()
        sizes = tuple(tensor.shape)
        used = [dim for dim in range(4) if sizes[dim] > 1]
        if all(new[dim] == tensor.stride(dim) for dim in used):
            found.append(name.removesuffix("_format"))
    return {0: "neither", 1: "".join(found), 2: "both"}[len(found)]


def images(device: str, sizes: tuple[int, ...] = (3, 6, 10, 8)) -> torch.Tensor:
    """Return channels-last images, of sizes that a learner would not choose."""
    return torch.empty(sizes, device=device).contiguous(memory_format=torch.channels_last)


@pytest.mark.given
@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: torch.empty(2, 3, 4, 5), "contiguous"),
        (lambda: images("cpu"), "channels_last"),
        (lambda: torch.empty(2, 1, 4, 5), "both"),
        (lambda: images("cpu", (2, 3, 1, 1)), "both"),
        (lambda: images("cpu")[:, 1:3], "neither"),
    ],
    ids=["row-major", "channels-last", "one channel", "one pixel", "slice"],
)
def test_a_tensor_has_one_of_four_formats(make: Callable[[], torch.Tensor], expected: str) -> None:
    """With one channel or one pixel it is both; a slice of the channels is neither."""
    yours = format_of(make())

    assert expected == yours, f"yours {yours}, expected {expected}"


def test_each_operator_gets_images_in_channels_last(device: str) -> None:
    """A size of 1, or H, W or C too small, would make the answers worthless."""
    seen: list[torch.Tensor] = []

    def look(x: torch.Tensor) -> torch.Tensor:
        seen.append(x)
        return x

    with torch.device("meta"):  # the default device, not the device that was asked for
        found = survey({"look": look}, device)
    assert {"look": "channels_last"} == found, (
        f"an operator that returns its input: yours {found}, expected channels_last"
    )
    (x,) = seen
    n, c, h, w = x.shape
    assert n >= 2, f"N is {n}, expected 2 or more"
    assert c >= 4, f"C is {c}, expected 4 or more"
    assert min(h, w) >= 6, f"H and W are {h} and {w}, expected 6 or more"
    assert (0, 0, 0) == (c % 2, h % 2, w % 2), f"C, H and W are {c}, {h} and {w}, not all even"
    assert "channels_last" == ordered(x), (
        f"your input is {ordered(x)}, with strides {x.stride()}, expected channels_last"
    )
    assert (torch.float32, device) == (x.dtype, x.device.type), (
        f"your input is {x.dtype} on {x.device}, expected torch.float32 on {device}"
    )


def test_the_survey_names_all_four_formats() -> None:
    """Also for operators that you have not seen: run the ones passed in."""
    operators = {
        "kept": lambda x: x + 1,
        "lost": lambda x: torch.empty(x.shape),
        "hidden": lambda x: x.sum((2, 3), keepdim=True),
        "part": lambda x: x[..., 1:],
        # A name that you know, with a different operator.
        "relu": lambda x: torch.empty(x.shape),
    }
    expected = {"kept": "channels_last", "lost": "contiguous", "hidden": "both", "part": "neither"}
    # The inputs may be random numbers; grad mode is switched on here, and must stay so.
    with torch.enable_grad(), unchanged(but=["torch.get_rng_state()"]):
        yours = survey(operators)

    assert yours == {**expected, "relu": "contiguous"}, (
        f"run the operators passed in; yours: {yours}, expected {expected} and relu contiguous"
    )


def test_each_operator_gets_an_input_of_its_own() -> None:
    """The first operator here reverses its input in place."""
    operators = {"turn": lambda x: x.transpose_(1, 3), "look": lambda x: x}

    assert "channels_last" == survey(operators)["look"], (
        "the first operator changed the second one's input"
    )
    seen: list[torch.Tensor] = []

    def look(x: torch.Tensor) -> torch.Tensor:
        seen.append(x)
        return x

    survey({"one": look, "two": look})
    shared = len({x.untyped_storage().data_ptr() for x in seen}) < len(seen)

    assert not shared, "your inputs share one storage: what one operator writes, the next one reads"


@pytest.mark.parametrize("name", OPERATORS)
def test_the_survey_agrees_with_the_operators(device: str, name: str) -> None:
    """On other sizes. Meta kernels are no oracle: that of group norm is wrong in torch 2.14."""
    expected = ordered(OPERATORS[name](images(device)))

    yours = survey({name: OPERATORS[name]}, device)[name]

    assert expected == yours, f"{name}: yours {yours}, PyTorch's at other sizes {expected}"


def decided(operator: Callable[..., torch.Tensor], expected: set[str], case: str) -> None:
    """Compare the answer of deciders."""
    yours = deciders(operator)

    assert expected == yours, f"{case}: yours {sorted(yours)}, expected {sorted(expected)}"


def test_the_first_operand_of_add_decides() -> None:
    """An elementwise operator follows the first operand with unambiguous strides."""
    decided(torch.add, {"first"}, "torch.add")
    decided(lambda a, b: torch.add(b, a), {"second"}, "torch.add, its operands exchanged")


def test_each_experiment_has_operands_of_its_own() -> None:
    """The operators here convert an operand to the other format."""

    def turn(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        result = a.clone()
        b.data = b.contiguous(memory_format=torch.channels_last)
        return result

    yours = deciders(turn)

    assert yours == {"first"}, (
        f"an operator that clones its first operand: yours {yours}, expected first"
    )

    def turn_back(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        result = b.clone()
        a.data = a.contiguous()
        return result

    yours = deciders(turn_back)

    assert yours == {"second"}, (
        f"an operator that clones its second operand: yours {yours}, expected second"
    )


def test_some_operators_need_both_and_some_one() -> None:
    """Concatenation falls back to row-major if its inputs differ; conv2d needs only one."""
    decided(lambda a, b: torch.cat([a, b]), set(), "torch.cat of two")
    decided(lambda a, b: F.conv2d(a, b[..., :3, :3]), {"first", "second"}, "conv2d")


def test_an_ambiguous_result_decides_nothing() -> None:
    """With one channel left, every format fits."""
    decided(lambda a, b: (a + b).sum(1, keepdim=True), set(), "a sum over the channels is both")


def test_one_operand_is_channels_last_at_a_time(device: str) -> None:
    """The other one is row-major; both have the same sizes, dtype and device."""
    seen: list[tuple[torch.Tensor, torch.Tensor]] = []

    def look(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        seen.append((a, b))
        return a

    yours = deciders(look, device)
    assert {"first"} == yours, (
        f"an operator that returns its first operand: yours {yours}, expected first"
    )
    formats = sorted((ordered(a), ordered(b)) for a, b in seen)
    assert [("channels_last", "contiguous"), ("contiguous", "channels_last")] == formats, (
        f"your calls have operands {formats}; make two, each with one in channels-last"
    )
    storages = {x.untyped_storage().data_ptr() for pair in seen for x in pair}
    assert len(storages) == 4, (
        f"your four operands share {len(storages)} storages, expected one for each"
    )
    for a, b in seen:
        assert a.shape == b.shape, (
            f"your operands have sizes {a.shape} and {b.shape}, expected equal sizes"
        )
        kinds = {(x.dtype, x.device.type) for x in (a, b)}
        assert {(torch.float32, device)} == kinds, (
            f"your operands are {kinds}, expected float32 on {device}"
        )


BINARY = {
    "maximum": torch.maximum,
    "where": lambda a, b: torch.where(a > 0, a, b),
    "stack": lambda a, b: torch.stack([a, b])[1],
}


@pytest.mark.parametrize("name", BINARY)
def test_deciders_agree_with_meta_kernels(name: str) -> None:
    """On other sizes."""
    operator = BINARY[name]
    with FakeTensorMode():
        last, row_major = images("cpu"), torch.empty(3, 6, 10, 8)
        results = {"first": operator(last, row_major), "second": operator(row_major, last)}
        expected = {name for name, result in results.items() if ordered(result) == "channels_last"}

    decided(operator, expected, f"{name}; expected is what fake tensors of other sizes do")
