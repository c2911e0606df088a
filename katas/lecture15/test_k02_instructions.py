"""Tests of k02_instructions: exported programs become plans, and run in given memory."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest
import torch
from expecttest import assert_expected_inline
from torch import nn

from katas.lecture15.k02_instructions import Plan
from katas.lecture15.k02_instructions import copying
from katas.lecture15.k02_instructions import emit
from katas.lecture15.k02_instructions import execute
from katas.lecture15.k02_instructions import out_variant
from plugins.kit import unchanged
from plugins.kit import watched_operators


if TYPE_CHECKING:
    from collections.abc import Callable


class Function(nn.Module):
    """A function of tensors, as a Module."""

    def __init__(self, function: Callable[..., object]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> object:
        """Call it."""
        return self.function(*inputs)


class Model(nn.Module):
    """A layer whose weight is transposed on the way, and a buffer that no state dict holds."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 3))
        self.bias = nn.Parameter(torch.randn(4))
        self.mean = nn.Buffer(torch.randn(3), persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Concatenate the hidden layer and its input."""
        centred = x - self.mean
        hidden = torch.relu(torch.addmm(self.bias, centred, self.weight.permute(1, 0)))
        return torch.cat([hidden, centred], 1)


def program_of(
    function: Callable[..., object], *inputs: torch.Tensor
) -> torch.export.ExportedProgram:
    """Export a function."""
    return torch.export.export(Function(function), inputs)


@cache
def model() -> tuple[nn.Module, torch.export.ExportedProgram]:
    """Return the model and its program."""
    made = Model()
    return made, torch.export.export(made, (torch.randn(2, 3),))


def memory_for(plan: Plan) -> list[torch.Tensor]:
    """Return memory for each value, full of unexpected numbers."""
    return [torch.empty(shape, dtype=dtype).fill_(77) for shape, dtype in plan.values]


def run(
    program: torch.export.ExportedProgram,
    *inputs: torch.Tensor,
    memory: list[torch.Tensor] | None = None,
) -> list[torch.Tensor]:
    """Emit a plan and execute it."""
    plan = emit(program)
    constants = {**program.state_dict, **program.constants}
    memory = memory_for(plan) if memory is None else memory
    with torch.no_grad(), unchanged(constants, inputs=inputs, but=("torch.get_rng_state()",)):
        return execute(plan, constants, list(inputs), memory)


def says(program: torch.export.ExportedProgram, expected: str, why: str) -> None:
    """Compare a plan, as text."""
    yours = str(emit(program))

    assert expected == yours, f"yours\n{yours}\n\nexpected\n{expected}\n\n{why}"


@pytest.mark.given
def test_the_given_functions() -> None:
    """An operator that returns a view has no out variant, but its copy has one."""
    aten = torch.ops.aten

    assert aten.add.out == out_variant(aten.add.Tensor), "the given `out_variant` was modified"
    with pytest.raises(LookupError, match="emit its copy"):
        out_variant(aten.permute.default)
    with pytest.raises(LookupError, match="run_decompositions"):
        out_variant(aten.conv2d.default)
    assert aten.permute_copy.out == out_variant(copying(aten.permute.default)), (
        "the given `copying` was modified"
    )


def test_one_call() -> None:
    """A program may be one input, and one call that writes value 1."""
    text = "0  float32[2, 3] input\n1  float32[2, 3]\naten.relu.out(%0) -> %1\nreturn %1"

    says(program_of(torch.relu, torch.randn(2, 3)), text, "each node is a value, in its order")


def test_a_view_is_a_copy() -> None:
    """A view has no out variant, so the plan copies."""
    text = "0  float64[2, 3] input\n1  float64[3, 2]\n"
    text += "aten.permute_copy.out(%0, [1, 0]) -> %1\nreturn %1"
    program = program_of(lambda x: x.permute(1, 0), torch.randn(2, 3).double())

    says(program, text, "function.is_view: emit the out variant of copying(function)")


def test_arguments_with_names_and_in_lists() -> None:
    """The lists of cat hold values, and alpha is a number with a name."""
    text = "0  float32[2] input\n1  float32[2] input\n2  float32[2]\n3  float32[6]\n"
    text += "aten.add.out(%0, %1, alpha=2) -> %2\naten.cat.out([%0, %2, %0]) -> %3\n"
    text += "return %3, %0, %0"
    program = program_of(
        lambda x, y: (torch.cat([x, torch.add(x, y, alpha=2), x]), x, x),
        *(torch.ones(2), torch.ones(2)),
    )

    says(program, text, "the given replaced goes into lists, and an output may be there twice")


def test_a_value_with_a_name() -> None:
    """The sorter of searchsorted is a tensor among the keyword arguments."""
    x, order = torch.tensor([3.0, 1.0, 2.0]), torch.tensor([1, 2, 0])
    text = "0  float32[3] input\n1  int64[3] input\n2  int64[3]\n"
    text += "aten.searchsorted.Tensor_out(%0, %0, sorter=%1) -> %2\nreturn %2"
    program = program_of(lambda x, order: torch.searchsorted(x, x, sorter=order), x, order)

    says(program, text, "node.kwargs may have nodes, too: they become Refs")
    (yours,) = run(program, x, order)
    assert [2, 0, 1] == yours.tolist(), f"yours {yours.tolist()}, expected the ranks [2, 0, 1]"


def test_a_model() -> None:
    """Weights and the buffer are constants, by their names in the Module."""
    assert_expected_inline(
        str(emit(model()[1])),
        """\
0  float32[4, 3] = weight
1  float32[4] = bias
2  float32[3] = mean
3  float32[2, 3] input
4  float32[2, 3]
5  float32[3, 4]
6  float32[2, 4]
7  float32[2, 4]
8  float32[2, 7]
aten.sub.out(%3, %2) -> %4
aten.permute_copy.out(%0, [1, 0]) -> %5
aten.addmm.out(%1, %4, %5) -> %6
aten.relu.out(%6) -> %7
aten.cat.out([%7, %4], 1) -> %8
return %8""",
    )


def test_it_computes_the_same() -> None:
    """The plan computes what the Module does, for any input of this shape."""
    module, program = model()
    for x in (torch.randn(2, 3), torch.tensor([[0.0, -0.0, torch.inf], [torch.nan, 1, -7]])):
        (yours,) = run(program, x)
        says_so = f"for x = {x.tolist()}: yours is not what the Module returns\n".__add__

        torch.testing.assert_close(yours, module(x).detach(), equal_nan=True, msg=says_so)


def test_arguments_reach_the_kernel() -> None:
    """Keyword numbers, values in lists, and inputs that are outputs all work."""
    x, y = torch.randn(2), torch.randn(2)
    program = program_of(lambda x, y: (torch.cat([x, torch.add(x, y, alpha=2)]), x), x, y)
    yours = run(program, x, y)

    expected = torch.cat([x, x + 2 * y])
    assert torch.equal(expected, yours[0]), f"yours {yours[0]}, expected {expected}"
    assert yours[1] is x, f"the second output should be the first input itself, yours is {yours[1]}"


def test_it_writes_to_the_given_memory() -> None:
    """The result is the memory of the last value, and each value is written to its own."""
    program, x = model()[1], torch.randn(2, 3)
    memory = memory_for(emit(program))
    (yours,) = run(program, x, memory=memory)

    assert yours is memory[-1], "your function returns a tensor other than memory[8]"
    assert torch.equal(memory[4], x - program.constants["mean"]), "value 4 is not in memory[4]"
    kept = all(bool((memory[number] == 77).all()) for number in range(4))
    assert kept, "your function wrote to the memory of constants or inputs: read them in place"


def test_it_makes_no_memory() -> None:
    """A kernel that writes to out= allocates none, and nothing is copied."""
    x = torch.randn(2, 3)
    plan = emit(program_of(lambda x: torch.sigmoid(torch.neg(x)), x))
    memory = memory_for(plan)
    with watched_operators() as ran:
        execute(plan, {}, [x], memory)
    extra = sorted({"aten::empty", "aten::clone", "aten::copy_", "aten::empty_like"} & {*ran})

    assert not extra, (
        f"your function runs {extra}: each call should write to the memory of its value, with out="
    )


def test_a_plan_runs_again() -> None:
    """A plan runs again in the same memory, with another input."""
    module, program = model()
    memory = memory_for(emit(program))
    for x in (torch.randn(2, 3), torch.randn(2, 3)):
        (yours,) = run(program, x, memory=memory)

        torch.testing.assert_close(yours, module(x).detach(), msg="the second run: ".__add__)
