"""Tests of k01_artefact: your answers are compared with the Module and with PyTorch's signature."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from torch import nn

from katas.lecture08 import k01_artefact as kata
from katas.lecture08.k01_artefact import Scorer
from katas.lecture08.k01_artefact import call
from katas.lecture08.k01_artefact import origins
from plugins.kit import forbids
from plugins.kit import unchanged


if TYPE_CHECKING:
    from torch.export import ExportedProgram


WHERE = "look at print(program), and at torch/export/graph_signature.py"


class Two(nn.Module):  # type: ignore[misc, unused-ignore]
    """Two inputs that must not be swapped, a weight between them, two outputs."""

    factor: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("factor", torch.tensor(0.5, dtype=torch.float64))
        self.weight = nn.Parameter(torch.tensor([2.0, 3.0], dtype=torch.float64).sqrt())

    def forward(self, first: torch.Tensor, second: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Return a difference and a product."""
        return first - second * self.weight, first * self.factor


def exported(model: nn.Module, *inputs: torch.Tensor) -> ExportedProgram:
    """Return the exported program of a Module."""
    from torch.export import export  # noqa: PLC0415 - imports sympy

    return export(model, inputs)


def rows(count: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Return irrational numbers of shape (4, count)."""
    return torch.arange(4 * count, dtype=dtype).sqrt().reshape(4, count) - 1.5


def expected_origins(program: ExportedProgram) -> dict[str, str | None]:
    """Return PyTorch's answer, from four properties of the signature."""
    signature = program.graph_signature
    names = {
        **signature.inputs_to_parameters,
        **signature.inputs_to_buffers,
        **signature.inputs_to_lifted_tensor_constants,
    }
    placeholders = [node.name for node in program.graph.nodes if node.op == "placeholder"]
    return {name: names.get(name) for name in placeholders}


def check(program: ExportedProgram, expected: Any, *inputs: torch.Tensor) -> None:
    """Compare what your call returns with what the Module returns."""
    kept = dict(program.state_dict), dict(program.constants)
    yours = call(program, *inputs)
    for before, after in zip(kept, (program.state_dict, program.constants), strict=True):
        says = f"yours changed a dict of the program: it had {[*before]}, now {[*after]}"
        assert before.keys() == after.keys(), says
    assert isinstance(yours, tuple), f"yours is a {type(yours).__name__}, expected a tuple"
    assert len(yours) == len(expected), f"yours {len(yours)} outputs, expected {len(expected)}"
    for number, (mine, theirs) in enumerate(zip(yours, expected, strict=True)):
        says = f"output {number} differs from the Module's: a placeholder has got another tensor"
        torch.testing.assert_close(mine, theirs, rtol=0, atol=0, msg=f"{says}; {WHERE}\n{program}")


@pytest.mark.given
def test_python_ran_while_it_was_exported(capsys: pytest.CaptureFixture[str]) -> None:
    """Export runs forward on a tensor without values; the artefact prints and appends nothing."""
    model = Scorer()
    program = exported(model, rows(3))
    while_exported = capsys.readouterr().out
    program.module()(rows(3))
    while_called = capsys.readouterr().out

    assert "forward of FakeTensor" in while_exported, f"export printed {while_exported!r}"
    assert not while_called, f"the artefact printed {while_called!r}, expected nothing"
    assert [] == model.shapes, f"model.shapes is {model.shapes}, expected []: export restores it"


def test_origins_of_a_linear() -> None:
    """A linear layer has two parameters, and the caller passes the input."""
    program = exported(nn.Linear(3, 2), rows(3))
    yours, theirs = origins(program), expected_origins(program)

    assert yours == theirs, f"yours     {yours}\nPyTorch's {theirs}\n{WHERE}"


def test_origins_of_each_kind() -> None:
    """Parameters, both kinds of buffer and a constant come in placeholder order."""
    program = exported(Scorer(), rows(3))
    yours, theirs = origins(program), expected_origins(program)

    assert [*yours.items()] == [*theirs.items()], f"yours     {yours}\nPyTorch's {theirs}\n{WHERE}"


def test_call_a_linear() -> None:
    """The tensors of a linear layer are all in the state dict."""
    model = nn.Linear(3, 2)
    program = exported(model, rows(3))

    check(program, (model(rows(3)),), rows(3))


def test_call_with_each_kind() -> None:
    """A non-persistent buffer is not in the state dict; find out where it is."""
    model = Scorer()
    program = exported(model, rows(3))

    check(program, (model(rows(3) / 3),), rows(3) / 3)


def test_call_with_two_inputs() -> None:
    """Inputs keep the caller's order; a call changes neither its inputs nor the Module."""
    model = Two()
    first, second = rows(2, torch.float64), rows(2, torch.float64) * 0.7
    program = exported(model, first, second)
    with unchanged(first=first, second=second, model=model):
        check(program, model(first, second), first, second)
        check(program, model(second, first), second, first)


def test_weights_are_arguments() -> None:
    """The graph holds no weights: different values in the state dict give a different answer."""
    model = Two()
    x = rows(2, torch.float64)
    program = exported(model, x, x)
    check(program, model(x, x), x, x)
    program.state_dict["weight"] = nn.Parameter(torch.zeros(2, dtype=torch.float64))

    check(program, (x, x * 0.5), x, x)


def test_nobody_else_calls() -> None:
    """``module()`` puts the tensors back; you do that by hand."""
    program = exported(nn.Linear(3, 2), rows(3))
    others = "torch.export.ExportedProgram.module", "torch.export.unflatten", "torch.export._unlift"
    with forbids(kata, *others) as fresh:
        yours = fresh.call(program, rows(3))
    assert (4, 2) == tuple(yours[0].shape), (
        f"your shape is {tuple(yours[0].shape)}, expected (4, 2)"
    )
