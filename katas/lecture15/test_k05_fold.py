"""Tests of k05_fold: programs are folded, run next to the originals, and counted."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch
from torch import nn

from katas.lecture15.conftest import exported
from katas.lecture15.k05_fold import Folded
from katas.lecture15.k05_fold import fold
from katas.lecture15.k05_fold import foldable
from katas.lecture15.k05_fold import never_written
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable

W = torch.randn(4, 3, dtype=torch.float64)
X = torch.randn(2, 3, dtype=torch.float64)


def calls_of(graph: torch.fx.Graph) -> list[torch.fx.Node]:
    """Return the calls of a graph."""
    return [node for node in graph.nodes if node.op == "call_function"]


def folds(
    function: Callable[..., object], expected: list[str], why: str, w: torch.Tensor = W
) -> None:
    """Compare which calls can be made before the run, by the names of operators."""
    program = exported(function, X, w=w)
    known = {"b_w"}
    yours = [str(node.target).split(".")[1] for node in foldable(program.graph, known)]

    assert expected == yours, (
        f"{program.graph}\nknown: {known}\nyour code folds {yours}, expected {expected}: {why}"
    )


def test_a_call_of_a_constant() -> None:
    """A call that reads only the weight is folded; one that also reads the input is not."""
    folds(lambda x, w: x + torch.exp(w[0]), ["select", "exp"], "only add reads the input")


def test_a_chain_of_calls() -> None:
    """Folded results are known to later calls, through several inputs and a list."""
    folds(
        lambda x, w: x @ torch.cat([w.neg(), w.neg().exp()]).t(),
        ["neg", "neg", "exp", "cat", "t"],
        "each of these reads what is known",
    )


def test_a_call_that_reads_the_input_too() -> None:
    """A call that reads the input is not folded, and no call that depends on it is."""
    folds(lambda x, w: w[0] * (w[1] + x).exp(), ["select", "select"], "x comes with the run")


def test_numbers_are_not_folded() -> None:
    """`full` reads no tensor, so its result is larger than what it reads."""
    folds(
        lambda x, w: x + torch.full([3], 2.0, dtype=torch.float64) * w[0],
        ["select"],
        "full has read no bytes, and would store 24; what reads it is not known either",
    )


def test_random_numbers_are_not_folded() -> None:
    """Random numbers differ in each run, although their probabilities are constants."""
    folds(
        lambda x, w: x * torch.bernoulli(w[0]).neg(),
        ["select"],
        "bernoulli is tagged nondeterministic_seeded, and neg reads what it returns",
        torch.full((4, 3), 0.5, dtype=torch.float64),
    )


def test_what_would_make_the_file_larger() -> None:
    """A result with more bytes than its inputs is not folded; one with as many bytes is."""
    folds(
        lambda x, w: x + w.t().expand(8, 3, 4).sum((0, 2)),
        ["t"],
        "expand: 96 bytes are read, and 768 would be stored",
    )
    folds(
        lambda x, w: x + w[0].cumsum(0),
        ["select"],
        "cumsum of int32 is int64: as many elements, 12 bytes are read, and 24 would be stored",
        W.int(),
    )


class Counter(nn.Module):
    """Counts its runs in a buffer; has a parameter, and a table that no state dict holds."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(W[0].clone())
        self.count = nn.Buffer(torch.zeros(3, dtype=torch.float64))
        self.table = torch.tensor([1.0, 2.0, 4.0], dtype=torch.float64)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Add the count."""
        self.count.add_(1)
        return x * self.weight.exp() + self.count.neg() + self.table.neg()


def counter() -> torch.export.ExportedProgram:
    """Return its program, in which writes are outputs."""
    program: torch.export.ExportedProgram = torch.export.export(Counter(), (X,))
    return program.run_decompositions({})  # type: ignore[no-any-return, unused-ignore]


def test_constants_are_what_is_never_written() -> None:
    """The buffer is written in each run, so it is not a constant."""
    program = counter()
    yours = never_written(program)
    expected = {
        spec.arg.name: {**program.state_dict, **program.constants}[spec.target]
        for spec in program.graph_signature.input_specs
        if spec.target in {"weight", "table"}
    }

    assert {*expected} == {*yours}, (
        f"yours {[*yours]}, expected {[*expected]}: leave out `count`, which each run writes"
    )
    for name, tensor in expected.items():
        assert tensor is yours[name], f"{name}: yours is a different tensor from the program's"


def run(
    folded: Folded, program: torch.export.ExportedProgram, *inputs: torch.Tensor
) -> list[torch.Tensor]:
    """Run a folded graph; what is neither constant nor input is a buffer."""
    tensors = {**program.state_dict, **program.constants}
    values: dict[str, Any] = dict(folded.constants)
    for spec in program.graph_signature.input_specs:
        if spec.target in tensors and spec.arg.name not in values:
            values[spec.arg.name] = tensors[spec.target]
    values.update(zip(program.graph_signature.user_inputs, inputs, strict=True))
    for node in folded.graph.nodes:
        if node.op == "call_function":
            args, kwargs = torch.fx.map_arg((node.args, node.kwargs), lambda n: values[n.name])
            values[node.name] = node.target(*args, **kwargs)
    outputs: Any = folded.graph.output_node().args[0]
    return [values[node.name] for node in outputs]


class Model(nn.Module):
    """A layer with weight norm, and a mask that is the same at each run."""

    def __init__(self) -> None:
        super().__init__()
        self.direction = nn.Parameter(W.clone())
        self.length = nn.Parameter(torch.rand(4, 1, dtype=torch.float64))
        self.bias = nn.Parameter(torch.rand(4, dtype=torch.float64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Compute the weight, and use it."""
        norm = torch.sqrt(torch.sum(self.direction * self.direction, 1, keepdim=True))
        weight = self.direction / norm * self.length
        mask = torch.logical_not(torch.isnan(weight[:, 0]))
        return torch.relu(torch.addmm(self.bias.neg().exp(), x, weight.t())) * mask


def model() -> torch.export.ExportedProgram:
    """Return its program."""
    return torch.export.export(Model(), (X,))


def test_the_program_stays_as_it_is() -> None:
    """Folding changes neither the program's graph nor its weights."""
    program = model()
    text, weights = str(program.graph), dict(program.state_dict)
    with unchanged(weights):
        fold(program)

    assert text == str(program.graph), f"your code modified the program itself: {program.graph}"


def test_it_computes_the_same() -> None:
    """The folded program gives the same results for any input, up to rounding."""
    program = model()
    folded = fold(program)
    for x in (torch.randn_like(X), torch.full_like(X, torch.nan)):
        (yours,) = run(folded, program, x)
        expected = program.module()(x)

        assert torch.allclose(expected, yours, rtol=1e-12, atol=0, equal_nan=True), (
            f"yours {yours}, expected {expected}\n{folded.graph}"
        )


def test_the_folded_work_is_gone() -> None:
    """Only the three calls that need the input are left."""
    program = model()
    before, after = len(calls_of(program.graph)), calls_of(fold(program).graph)
    names = [str(node.target).split(".")[1] for node in after]

    assert ["addmm", "relu", "mul"] == names, (
        f"your graph makes {len(names)} calls per run: {names}; there were {before} before folding,"
        " and only 3 need x"
    )


def test_the_file_is_no_larger() -> None:
    """Constants that only folded calls read do not ship."""
    program = model()
    before, yours = never_written(program), fold(program)
    bytes_before = sum(tensor.nbytes for tensor in before.values())
    bytes_after = sum(tensor.nbytes for tensor in yours.constants.values())
    listed = {node.name for node in yours.graph.nodes if node.op == "placeholder"}

    assert 4 * 3 * 8 + 4 * 8 + 4 == bytes_after, (
        f"yours has {bytes_after} bytes in {[*yours.constants]}; before folding {bytes_before},"
        " expected 132: a weight, a bias and a mask"
    )
    assert {*yours.constants} < listed, f"yours has constants without placeholders: {listed}"
    assert len(listed) == len(yours.constants) + 1, (
        f"expected only x besides the constants, yours has {listed}"
    )


def test_constants_need_no_gradient() -> None:
    """A phone has no autograd, so no constant requires a gradient."""
    guilty = [name for name, tensor in fold(model()).constants.items() if tensor.requires_grad]

    assert not guilty, f"yours has constants that require a gradient: {guilty}"


def test_a_buffer_that_is_written() -> None:
    """Folding the buffer would freeze the count: each run reads what the last one wrote."""
    program = counter()
    folded = fold(program)
    with torch.no_grad():
        first = run(folded, program, X)[-1]
        program.state_dict["count"].add_(1)
        second = run(folded, program, X)[-1]

    assert torch.allclose(first - 1, second), (
        f"the second run: yours {second}, after {first}; the buffer has changed in between\n"
        f"{folded.graph}"
    )


def test_an_output_that_is_known() -> None:
    """A known output becomes a placeholder and ships, though no call reads it."""
    program = exported(lambda x, w: (x.neg(), w.exp()), X, w=W)
    folded = fold(program)
    yours = run(folded, program, X)[1]

    assert torch.equal(W.exp(), yours), f"yours {yours}, expected {W.exp()}"
    assert 1 == len(calls_of(folded.graph)), f"expected only neg to be left: {folded.graph}"


def test_nothing_but_a_known_output() -> None:
    """An input that no call reads stays an input."""
    program = exported(lambda _, w: w.exp(), X, w=W)
    folded = fold(program)
    (yours,) = run(folded, program, X)

    assert torch.equal(W.exp(), yours), f"yours {yours}, expected {W.exp()}"
    assert not calls_of(folded.graph), f"expected no call to be left: {folded.graph}"
