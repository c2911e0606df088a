"""Tests of k06_rewrite: PyTorch's own passes rewrite the same graphs, and both graphs are run."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch
from expecttest import assert_expected_inline
from hypothesis import given
from hypothesis import strategies as st

from katas.lecture08 import k06_rewrite as kata
from katas.lecture08.k06_rewrite import acts
from katas.lecture08.k06_rewrite import fold
from katas.lecture08.k06_rewrite import nodes_of
from katas.lecture08.k06_rewrite import sweep
from plugins.kit import forbids
from plugins.kit import unchanged


PASSES = ("torch._C._jit_pass_dce", "torch._C._jit_pass_constant_propagation")
BRIEF = """
graph(%x : Tensor):
  %1 : int = prim::Constant[value=2]()
  %2 : int = prim::Constant[value=3]()
  %3 : int = aten::mul(%1, %2)
  %4 : Tensor = aten::add(%x, %3, %1)
  return (%4)
"""


OVERFLOW = """
graph(%x : Tensor):
  %1 : int = prim::Constant[value=4611686018427387904]()
  %2 : int = aten::add(%1, %1)
  %3 : int = aten::sub(%2, %1)
  return (%3)
"""


def parse(text: str) -> Any:
    """Return a TorchScript graph, parsed from its text."""
    return torch._C.parse_ir(text)  # noqa: SLF001 - a graph has no public constructor


def text_of(graph: Any) -> str:
    """Return a graph as text, with its values renumbered from the top."""
    copy = graph.copy()
    torch._C._jit_pass_canonicalize(copy)  # noqa: SLF001
    return str(copy)


def swept(graph: Any) -> Any:
    """Return a copy of a graph after PyTorch's own dead code elimination."""
    copy = graph.copy()
    torch._C._jit_pass_dce(copy)  # noqa: SLF001
    return copy


def folded(graph: Any) -> Any:
    """Return a copy of a graph after PyTorch's constant propagation and dead code elimination."""
    copy = graph.copy()
    torch._C._jit_pass_constant_propagation(copy)  # noqa: SLF001
    return swept(copy)


def run(graph: Any, *inputs: object) -> object:
    """Compile a graph and call it."""
    return torch._C._create_function_from_graph("f", graph.copy())(*inputs)  # noqa: SLF001


def check_fold(source: str) -> Any:
    """Fold a graph; after PyTorch's sweep it must equal PyTorch's constant propagation."""
    __tracebackhide__ = True
    graph, before = parse(source), parse(source)
    fold(graph)
    graph.lint()
    yours, right = text_of(swept(graph)), text_of(folded(before))
    assert yours == right, (
        f"given\n{before}\nyours, after fold and PyTorch's own sweep\n{yours}\nPyTorch's\n{right}"
    )
    return graph


def check_sweep(source: str) -> Any:
    """Sweep a graph, and compare with PyTorch's dead code elimination."""
    __tracebackhide__ = True
    graph, before = parse(source), parse(source)
    sweep(graph)
    graph.lint()
    yours, right = text_of(graph), text_of(swept(before))
    assert yours == right, f"given\n{before}\nyours\n{yours}\nPyTorch's\n{right}"
    return graph


def test_the_product_of_the_brief() -> None:
    """One product becomes 6; its operands stay, since fold does not sweep."""
    graph = check_fold(BRIEF)
    kinds = [node.kind() for node in graph.nodes()]
    expected = ["prim::Constant"] * 3 + ["aten::add"]
    assert kinds == expected, (
        f"kinds of the nodes, in order: yours {kinds}, expected {expected}: put the new constant "
        "where the product was, and remove nothing else"
    )


def test_one_fold_makes_the_next_possible() -> None:
    """(2 - 3) * 2 // 3 folds step by step, and the order of the operands matters."""
    check_fold("""
graph(%x : Tensor):
  %1 : int = prim::Constant[value=2]()
  %2 : int = prim::Constant[value=3]()
  %3 : int = aten::sub(%1, %2)
  %4 : int = aten::mul(%3, %1)
  %5 : int = aten::floordiv(%4, %2)
  %6 : Tensor = aten::add(%x, %5, %1)
  return (%6)
""")


def test_inputs_of_the_graph_are_no_constants() -> None:
    """A node with one constant and one input stays, and so does the addition of a tensor."""
    check_fold("""
graph(%x : Tensor, %n : int):
  %1 : int = prim::Constant[value=2]()
  %2 : int = aten::mul(%n, %1)
  %3 : int = aten::mul(%1, %n)
  %4 : int = aten::add(%2, %3)
  %5 : Tensor = aten::add(%x, %4, %1)
  return (%5)
""")


def test_other_kinds_stay() -> None:
    """A kind that is not in FOLDS stays, even if its inputs are constants."""
    graph = parse("""
graph(%x : Tensor):
  %1 : int = prim::Constant[value=2]()
  %2 : int = aten::neg(%1)
  %3 : int = aten::remainder(%1, %1)
  %4 : Tensor = aten::add(%x, %2, %3)
  return (%4)
""")
    before = str(graph)
    fold(graph)
    assert str(graph) == before, (
        f"yours\n{graph}\nexpected no change: neither aten::neg nor aten::remainder is in FOLDS"
    )


def test_a_branch_has_a_block() -> None:
    """A fold inside a block puts its constant in that block."""
    check_fold("""
graph(%x : Tensor, %flag : bool):
  %1 : int = prim::Constant[value=2]()
  %2 : int = prim::Constant[value=3]()
  %3 : Tensor = prim::If(%flag)
    block0():
      %4 : int = aten::add(%1, %2)
      %5 : Tensor = aten::mul(%x, %4)
      -> (%5)
    block1():
      -> (%x)
  return (%3)
""")


def test_a_division_by_zero_raises_when_it_runs() -> None:
    """Rewriting must not raise: the branch may never run."""
    graph = parse("""
graph(%x : Tensor, %flag : bool):
  %1 : int = prim::Constant[value=2]()
  %2 : int = prim::Constant[value=0]()
  %3 : Tensor = prim::If(%flag)
    block0():
      %4 : int = aten::floordiv(%1, %2)
      %5 : int = aten::add(%1, %1)
      %6 : int = aten::add(%4, %5)
      %7 : Tensor = aten::mul(%x, %6)
      -> (%7)
    block1():
      -> (%x)
  return (%3)
""")
    right = text_of(folded(graph))
    fold(graph)
    yours = text_of(swept(graph))
    assert yours == right, f"yours\n{yours}\nPyTorch's keeps the division\n{right}"
    with pytest.raises(RuntimeError, match="division by 0"):
        run(graph, torch.ones(2), True)  # noqa: FBT003


def test_an_overflow_wraps_when_it_runs() -> None:
    """TorchScript's ints have 64 bits, Python's are unbounded."""
    graph = parse(OVERFLOW)
    fold(graph)
    yours, right = run(graph, torch.ones(2)), run(parse(OVERFLOW), torch.ones(2))
    assert yours == right, f"2**62 + 2**62 - 2**62: yours {yours}, unchanged {right}\n{graph}"


@pytest.mark.parametrize(
    "operands",
    [(torch.tensor(2.0), 2), (2, torch.tensor(2.0)), (2.5, 2.5), (True, 2), (2, True), ("a", "b")],
    ids=["0", "1", "floats", "bool first", "bool second", "texts"],
)
def test_constant_tensors_stay(operands: tuple[object, object]) -> None:
    """A constant tensor is shared by all runs and may be mutated, so fold only ints."""
    graph = parse("graph(%x : Tensor):\n  return (%x)")
    constants = [graph.insertConstant(each) for each in operands]
    graph.insertNode(graph.create("aten::add", constants, 1))
    before = str(graph)
    fold(graph)
    assert str(graph) == before, (
        f"{operands[0]!r} + {operands[1]!r}: yours\n{graph}\nexpected no change: fold only two"
        f" ints, and in TorchScript a bool is not an int\n{before}"
    )


def test_the_insert_point_stays() -> None:
    """Code that goes on building the graph inserts at its end, or at the old insert point."""
    graph = parse(BRIEF)
    last = list(graph.nodes())[-1]
    graph.setInsertPoint(last)
    fold(graph)
    graph.insertConstant(7)
    assert list(graph.nodes())[-1].kind() == last.kind(), (
        f"the insert point was before aten::add, but your fold moved it to the end:\n{graph}"
    )
    graph = parse(BRIEF)
    fold(graph)
    try:
        graph.insertConstant(7)
    except RuntimeError as error:
        raise AssertionError(
            f"after your fold, graph.insertConstant fails: {str(error)[:90]}... the insert point"
            " is at a destroyed node; see Graph.insert_point_guard"
        ) from None
    last = list(graph.nodes())[-1]
    assert last.kind() == "prim::Constant", (
        f"after your fold, a new node is not inserted at the end:\n{graph}"
    )
    graph = parse(OVERFLOW)
    fold(graph)
    graph.insertConstant(7)
    last = list(graph.nodes())[-1]
    assert last.kind() == "prim::Constant", (
        f"after an overflow, a new node is not inserted at the end:\n{graph}"
    )


def test_nothing_is_left_of_a_dead_chain() -> None:
    """A chain of three unused nodes is removed; a node with one used output of two stays."""
    check_sweep("""
graph(%x : Tensor):
  %1 : int = prim::Constant[value=2]()
  %2 : int = prim::Constant[value=3]()
  %3 : int = aten::mul(%1, %2)
  %4 : Tensor = aten::mul(%x, %3)
  %5 : Tensor = aten::relu(%4)
  %6 : Tensor = aten::add(%x, %1, %1)
  return (%6)
""")
    # The values of max are unused, but its indices are used.
    check_sweep("""
graph(%x : Tensor):
  %1 : int = prim::Constant[value=0]()
  %2 : bool = prim::Constant[value=0]()
  %3 : Tensor, %4 : Tensor = aten::max(%x, %1, %2)
  return (%4)
""")


def test_writes_stay() -> None:
    """An in-place operator writes, even if its result has no uses."""
    graph = check_sweep("""
graph(%x : Tensor):
  %1 : int = prim::Constant[value=2]()
  %2 : Tensor = aten::add_(%x, %1, %1)
  %3 : Tensor = aten::mul(%x, %1)
  return (%x)
""")
    x = torch.tensor([2**0.5, 0.0, -torch.inf])
    result = run(graph, x)
    assert result is not None, "run returns None, expected the value that the graph returns"
    torch.testing.assert_close(
        x,
        torch.tensor([2**0.5 + 4, 4.0, -torch.inf]),
        msg=lambda text: f"yours removed add_: {text}",
    )


class Counts(torch.nn.Module):
    """Counts its calls in an attribute."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the input."""
        self.calls = self.calls + 1
        return x


def test_attributes_are_written() -> None:
    """prim::SetAttr has no outputs and no schema, but the next call sees what it wrote."""
    with warnings.catch_warnings():
        # TorchScript is deprecated.
        warnings.simplefilter("ignore")
        graph = torch.jit.script(Counts()).graph.copy()
    sweep(graph)
    kinds = [node.kind() for node in graph.nodes()]
    assert kinds[-1:] == ["prim::SetAttr"], (
        f"your sweep removed the write to an attribute:\n{graph}"
    )


@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        ("prim::Print(%x)", True),
        ("prim::RaiseException(%m, %m)", True),
        ("%w : Tensor = aten::relu_(%x)", True),
        ("%w : int[] = aten::append(%l, %n)", True),
        ("%w : Tensor = aten::abs(%x, %x)", True),
        ("aten::warn(%m, %n)", True),
        ("%w : Tensor = aten::relu(%x)", False),
    ],
    ids=["print", "raise", "write", "append", "out", "warn", "compute"],
)
def test_what_acts(inside: str, *, expected: bool) -> None:
    """If a node acts, so do the If around it and the If around that."""
    graph = parse(f"""
graph(%x : Tensor, %flag : bool, %m : str, %l : int[], %n : int):
  prim::If(%flag)
    block0():
      prim::If(%flag)
        block0():
          -> ()
        block1():
          {inside}
          -> ()
      -> ()
    block1():
      -> ()
  return (%x)
""")
    yours = [acts(node) for node in nodes_of(graph)]
    assert yours == [expected] * 3, (
        f"`acts` of the outer If, the inner If and {inside}: yours {yours}, expected {expected}"
        " for each"
    )


def test_branches_that_lead_nowhere() -> None:
    """An If that prints stays, with what it prints; the other If is removed with its blocks."""
    check_sweep("""
graph(%x : Tensor, %flag : bool):
  %1 : int = prim::Constant[value=2]()
  %2 : int = prim::Constant[value=3]()
  prim::If(%flag)
    block0():
      %3 : Tensor = aten::mul(%x, %1)
      %4 : Tensor = aten::relu(%3)
      prim::Print(%3)
      -> ()
    block1():
      -> ()
  %5 : Tensor = prim::If(%flag)
    block0():
      %6 : Tensor = aten::mul(%x, %2)
      -> (%6)
    block1():
      -> (%x)
  return (%x)
""")


@st.composite
def programs(draw: st.DrawFn) -> str:
    """Draw a graph of ints: two constants, an input, up to four operators, prints."""
    numbers = [draw(st.integers(-3, 4)) for _ in range(2)]
    lines = [f"%{name} : int = prim::Constant[value={n}]()" for name, n in enumerate(numbers)]
    values = ["0", "1", "n"]
    for number in range(2, draw(st.integers(2, 6))):
        kind = draw(st.sampled_from(["add", "sub", "mul", "floordiv", "remainder"]))
        left, right = draw(st.sampled_from(values)), draw(st.sampled_from(values))
        lines.append(f"%{number} : int = aten::{kind}(%{left}, %{right})")
        if draw(st.integers(0, 3)) == 0:
            lines.append(f"prim::Print(%{number})")
        values.append(str(number))
    body = "\n".join(f"  {line}" for line in lines)
    return f"\ngraph(%n : int):\n{body}\n  return (%{draw(st.sampled_from(values))})\n"


@given(programs())
def test_any_program(source: str) -> None:
    """Any swept program equals PyTorch's; folded first, it returns the same result."""
    check_sweep(source)
    if "remainder" in source:
        return
    graph = check_fold(source)
    sweep(graph)
    try:
        right = run(parse(source), 5)
    except RuntimeError:  # it divides by zero
        return
    yours = run(graph, 5)
    assert yours == right, f"given\n{source}\nfor n = 5: yours {yours}, unchanged {right}\n{graph}"


def test_no_pass_of_pytorch_is_called() -> None:
    """Your answer calls no pass of torch._C or torch.jit: you write the pass."""
    with forbids(kata, *PASSES, "torch.jit") as fresh, unchanged():
        graph = parse(BRIEF)
        fresh.fold(graph)
        fresh.sweep(graph)
    assert_expected_inline(
        text_of(graph),
        """\
graph(%x : Tensor):
  %1 : int = prim::Constant[value=2]()
  %2 : int = prim::Constant[value=6]()
  %3 : Tensor = aten::add(%x, %2, %1)
  return (%3)
""",
    )
