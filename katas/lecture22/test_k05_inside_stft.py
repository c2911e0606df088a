"""Tests of k05_inside_stft: small programs first, then what torch.stft runs."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from expecttest import assert_expected_inline
from torch import nn

from katas.lecture22.k05_inside_stft import Log
from katas.lecture22.k05_inside_stft import eager
from katas.lecture22.k05_inside_stft import exported
from plugins.kit import unchanged


SOUND = torch.randn(40, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
WINDOW = torch.linspace(0.3, 1.7, 8, dtype=torch.float64)
# The operators that matter, in order; the others only change shapes, and differ by release.
SHOWN = ("reflection_pad1d", "index", "as_strided", "unfold", "mul", "_fft_r2c", "stft")


class Small(nn.Module):
    """Adds 1, splits, and divides one part by the other."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return a result of three operators, with two more calls in the graph."""
        first, second = torch.split(x + 1, 2)
        return first / second


class Mixed(nn.Module):
    """Calls an operator that is not in ATen, as your own library might."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return a result of an operator of prims and one of aten."""
        return torch.ops.prims.sin(x) + 1


class Columns(nn.Module):
    """A front end, such as a model may have."""

    def forward(self, x: torch.Tensor, window: torch.Tensor) -> torch.Tensor:
        """Return the spectrum."""
        return torch.stft(x, 8, 4, window=window, return_complex=True)


def graph(module: nn.Module, *args: Any) -> list[str]:
    """Return your list, without torch.export's warnings about itself."""
    __tracebackhide__ = True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return exported(module, *args)


def table(ran: list[str], nodes: list[str]) -> str:
    """Return a line for each operator of SHOWN: which of your lists have it."""
    found = {"eager": {*ran}, "exported": {*nodes}}
    lines = []
    for operator in SHOWN:
        where = [kind for kind, names in found.items() if f"aten.{operator}" in names]
        lines.append(" ".join([f"{operator}:", *where]))
    return "\n".join(lines)


def test_two_operators() -> None:
    """Each operator is listed as often as it runs, in order, without its overload."""
    yours = eager(lambda x: ((x + 1) * x + 1).relu(), SOUND)

    expected = ["aten.add", "aten.mul", "aten.add", "aten.relu"]
    assert yours == expected, f"for ((x + 1) * x + 1).relu(): yours {yours}, expected {expected}"


def test_the_call_still_computes() -> None:
    """Each operator gets its positional and keyword arguments, and its result is returned."""
    kept = []

    def program(x: torch.Tensor, *, scale: float) -> None:
        kept.append(torch.sum(x * scale, 0, dtype=torch.float32))

    with unchanged(sound=SOUND):
        eager(program, SOUND, scale=2.0)
    dtype = kept[0].dtype
    assert dtype == torch.float32, f"sum(dtype=torch.float32) gave {dtype}: pass kwargs on"
    torch.testing.assert_close(kept[0], (SOUND * 2).sum().float(), msg="a wrong sum of x * scale")
    yours = Log().__torch_dispatch__(torch.ops.aten.neg.default, (), (SOUND,))
    torch.testing.assert_close(yours, -SOUND, msg="a wrong neg, called with kwargs None")


def test_a_second_call_starts_anew() -> None:
    """The list covers only this call, and nothing is recorded afterwards."""
    first = eager(torch.relu, SOUND)
    torch.add(SOUND, 1)
    second = eager(torch.neg, SOUND)

    found = (first, second)
    expected = (["aten.relu"], ["aten.neg"])
    assert found == expected, f"two calls, relu and neg: yours {found}, expected {expected}"


def test_a_small_graph() -> None:
    """Operators of the graph, without inputs, outputs and getitem."""
    yours = graph(Small(), torch.randn(4))

    expected = ["aten.add", "aten.split_with_sizes", "aten.div"]
    assert yours == expected, f"x + 1, split, first / second: yours {yours}, expected {expected}"


def test_operators_that_are_not_of_aten() -> None:
    """Operators from other namespaces are listed too."""
    expected = ["prims.sin", "aten.add"]
    yours = eager(Mixed(), SOUND)
    assert yours == expected, f"for prims.sin(x) + 1, eager: yours {yours}, expected {expected}"
    yours = graph(Mixed(), SOUND)
    assert yours == expected, f"for prims.sin(x) + 1, exported: yours {yours}, expected {expected}"


def test_what_stft_runs_in_eager() -> None:
    """Frames are a view of the padded sound; one product and one transform follow."""
    yours = eager(Columns(), SOUND, WINDOW)

    order = ["aten.reflection_pad1d", "aten.as_strided", "aten.mul", "aten._fft_r2c"]
    found = [each for each in yours if each in order]
    assert found == order, (
        f"expected pad, frames, window, transform in that order: yours {found} of {yours}"
    )


def test_eager_and_exported() -> None:
    """The graph has no stft either, but pads by an index, and splits frames by unfold."""
    assert_expected_inline(
        table(eager(Columns(), SOUND, WINDOW), graph(Columns(), SOUND, WINDOW)),
        """\
reflection_pad1d: eager
index: exported
as_strided: eager
unfold: exported
mul: eager exported
_fft_r2c: eager exported
stft:""",
    )


def test_the_way_back_borrows_a_gradient() -> None:
    """The overlap-add of istft is the backward of unfold."""
    spectrum = Columns()(SOUND, WINDOW)
    yours = eager(torch.istft, spectrum, 8, 4, window=WINDOW)

    assert "aten.unfold_backward" in yours, (
        f"torch.istft runs unfold_backward, but your list is {yours}"
    )
