"""Tests of k08_torch_dispatch: a log of every operator below autograd."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from expecttest import assert_expected_inline
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from katas.lecture04.k08_torch_dispatch import OperatorLog
from plugins.kit import freed
from plugins.kit import watched_operators


class Names(TorchDispatchMode):
    """Records what the dispatcher passes to a mode, by name: the oracle for which operators run."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Record the name and run the operator."""
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


def called(log: OperatorLog) -> list[str]:
    """Return the operators in a log, without the inputs."""
    calls = [line for line in log.lines if not line.endswith(" = input")]
    return [line.partition("(")[0].rpartition(" ")[2] for line in calls]


def expect(expected: object, yours: object, why: str) -> None:
    """Compare lines of a log, and label both sides."""
    assert expected == yours, f"yours      {yours}\nexpected   {expected}\n{why}"


def test_an_operator_is_one_line() -> None:
    """The inputs come first, each with its number, dtype and sizes."""
    a, b = torch.ones(2, 3), torch.ones(3)
    with OperatorLog() as log:
        torch.mul(a, b)

    expected = [
        "$0: float32[2, 3] = input",
        "$1: float32[3] = input",
        "$2: float32[2, 3] = aten.mul.Tensor($0, $1)",
    ]
    expect(expected, log.lines, "two inputs, and str(func) with what goes in and comes out")


def test_a_tensor_keeps_its_number() -> None:
    """The log introduces a tensor once, even if it is used twice, or is a result used again."""
    a = torch.ones(2)
    with OperatorLog() as log:
        b = torch.add(a, a)
        torch.mul(b, a)

    expected = [
        "$0: float32[2] = input",
        "$1: float32[2] = aten.add.Tensor($0, $0)",
        "$2: float32[2] = aten.mul.Tensor($1, $0)",
    ]
    expect(expected, log.lines, "an input is introduced when it is first seen")


def test_the_log_keeps_no_tensor_alive() -> None:
    """A tensor and its memory die as they would without a log."""
    log = OperatorLog()

    def logged() -> list[torch.Tensor]:
        with log:
            a = torch.ones(2)
            return [a, a + 1, torch.cat([a, a])]

    freed(logged, "The log must not keep a tensor: a function that calls itself is a cycle, too.")
    expect(3, len(log.lines), "so many lines has this log: empty, add, cat")


def test_a_number_is_never_given_again() -> None:
    """Python reuses the address of a dead object; the log must not reuse its number."""
    with OperatorLog() as log:
        for size in range(200):
            torch.empty(size)

    numbers = [line.partition(":")[0] for line in log.lines]
    expect([f"${number}" for number in range(200)], numbers, "200 tensors, each dead at once")


def test_an_in_place_operator_returns_what_it_was_given() -> None:
    """The result is not a new tensor, in the log or in Python."""
    a = torch.ones(2)
    with OperatorLog() as log:
        b = a.add_(1)

    assert b is a, "add_ returned a different tensor from a: return the result unchanged"
    expect("$0 = aten.add_.Tensor($0, 1)", log.lines[-1], "the result has a number already")
    expect([2.0, 2.0], a.tolist(), "ones plus 1: the kernel runs, and runs one time")

    with OperatorLog() as log:
        a.unsqueeze_(0)
    expect("$0: float32[2] = input", log.lines[0], "its sizes before the call")


def test_a_view_is_marked() -> None:
    """A view is a new tensor on an old storage, even without elements."""
    a, empty = torch.ones(2, 3), torch.ones(0)
    with OperatorLog() as log:
        a.view(6)
        empty.view(0, 1)
        torch.neg(a)
        a.split(1)
        torch.neg(empty)
        torch.ops.aten._unsafe_view(a, [6])  # noqa: SLF001 - a view, and its schema does not say so

    expected = {
        1: "$1: float32[6] = aten.view.default($0, [6])  # alias of $0",
        3: "$3: float32[0, 1] = aten.view.default($2, [0, 1])  # alias of $2",
        4: "$4: float32[2, 3] = aten.neg.default($0)",
        5: "$5: float32[1, 3], $6: float32[1, 3] = aten.split.Tensor($0, 1)  # alias of $0",
        6: "$7: float32[0] = aten.neg.default($2)",
        7: "$8: float32[6] = aten._unsafe_view.default($0, [6])  # alias of $0",
    }
    yours = {number: log.lines[number] for number in expected}
    expect(expected, yours, "a new result in an old storage has a remark, and one only")


def test_an_alias_names_the_first_argument_that_it_shares() -> None:
    """Of two inputs on one storage the first is named; one on another storage is not."""
    a, index = torch.ones(4), torch.ones(4)
    b = a.view(2, 2)
    with OperatorLog() as log:
        torch.ops.aten.view_as(a, b)
        torch.ops.aten.expand_as(a[:1], index)

    yours = log.lines[1].rpartition("  ")[2], log.lines[-1].rpartition("  ")[2]
    expect(("# alias of $0", "# alias of $2"), yours, "the first input that shares the storage")

    with torch.library._scoped_library("lecture04_k08_test", "DEF") as library:  # noqa: SLF001
        library.define("flat(Tensor(a) x, Tensor y) -> Tensor(a)")
        library.impl("flat", lambda x, y: x.view(-1), "CompositeExplicitAutograd")
        with OperatorLog() as log:
            torch.ops.lecture04_k08_test.flat(b, a)
        assert log.lines[-1].endswith("# alias of $0"), (
            f"both inputs share the storage: {log.lines[-1]}"
        )
        library.define("pair(Tensor x, Tensor(a) y) -> (Tensor, Tensor(a))")
        library.impl("pair", lambda x, y: (x.clone(), y.view(-1)), "CompositeExplicitAutograd")
        with OperatorLog() as log:
            torch.ops.lecture04_k08_test.pair(index, b)
        why = "its second result shares the storage of the second argument"
        assert log.lines[-1].endswith("# alias of $1"), f"{why}: {log.lines[-1]}"
        library.define("crossed(Tensor(a) x, Tensor(b) y) -> (Tensor(b), Tensor(a))")
        library.impl("crossed", lambda x, y: (y.view(-1), x.view(-1)), "CompositeExplicitAutograd")
        with OperatorLog() as log:
            torch.ops.lecture04_k08_test.crossed(index, b)
    why = "both arguments share memory with the other result: name the first argument"
    assert log.lines[-1].endswith("# alias of $0"), f"{why}: {log.lines[-1]}"


def test_lists_are_looked_into() -> None:
    """Tensors in a list of arguments are inputs too; other items appear in brackets."""
    a, b = torch.ones(2), torch.ones(3)
    with OperatorLog() as log:
        torch.cat([a, b, a])

    expected = [
        "$0: float32[2] = input",
        "$1: float32[3] = input",
        "$2: float32[7] = aten.cat.default([$0, $1, $0])",
    ]
    expect(expected, log.lines, "tensors in a list are inputs, too: tensors_in finds them")

    index = torch.tensor([1])
    with OperatorLog() as log:
        a.view(1, 2)[:, index]
    assert log.lines[-1].endswith("($1, [None, $2])"), (
        f"a list may hold tensors and other values: {log.lines[-1]}"
    )


def test_keyword_arguments_are_written_with_their_names() -> None:
    """Keyword arguments come after the positional ones, and are inputs too."""
    a, out = torch.ones(2, dtype=torch.int64), torch.empty(2, dtype=torch.int64)
    with OperatorLog() as log:
        torch.ops.aten.sum.dim_IntList(a, [0], dtype=torch.float64)
        torch.ops.aten.add.out(a, a, alpha=2, out=out)

    expected = [
        "$0: int64[2] = input",
        "$1: float64[] = aten.sum.dim_IntList($0, [0], dtype=torch.float64)",
        "$2: int64[2] = input",
        "$2 = aten.add.out($0, $0, alpha=2, out=$2)",
    ]
    expect(expected, log.lines, "out is a tensor in a keyword argument")


def test_results_may_be_several_or_none() -> None:
    """Each tensor has its own dtype, and a number is written with str."""
    a = torch.ones(4)
    with OperatorLog() as log:
        torch.ops.aten.sort(a)
        a[0].item()
        torch.ops.aten._assert_async(a[0])  # noqa: SLF001 - returns nothing
        torch.empty(2, 0)
        torch.ops.aten.is_same_size(a, a[1:])

    expected = {
        1: "$1: float32[4], $2: int64[4] = aten.sort.default($0)",
        3: "1.0 = aten._local_scalar_dense.default($3)",
        5: "aten._assert_async.default($4)",
        8: "False = aten.is_same_size.default($0, $6)",
    }
    expect(expected, {number: log.lines[number] for number in expected}, "several, a number, none")
    yours = log.lines[6].partition("(")[0]
    expect("$5: float32[2, 0] = aten.empty.memory_format", yours, "a mode needs no input")


def test_composite_operators_are_decomposed() -> None:
    """``linear`` has no kernel for the CPU: there it is decomposed into others."""
    x, layer = torch.ones(2, 3), nn.Linear(3, 4)
    with OperatorLog() as log, torch.no_grad():
        layer(x).relu_()

    assert_expected_inline(
        str(log),
        """\
$0: float32[4, 3] = input
$1: float32[3, 4] = aten.t.default($0)  # alias of $0
$2: float32[4] = input
$3: float32[2, 3] = input
$4: float32[2, 4] = aten.addmm.default($2, $3, $1)
$4 = aten.relu_.default($4)""",
    )


def test_a_backward_pass_is_seen() -> None:
    """Autograd has done its work above: a derivative arrives as plain operators."""
    x = torch.ones(3, requires_grad=True)
    with OperatorLog() as log:
        x.sin().sum().backward()

    expect("$0: float32[3] = input", log.lines[0], "one tensor, in Python and in C++")
    expect("aten.sin.default", called(log)[0], "the first operator")
    assert "aten.cos.default" in called(log), (
        f"your log has {called(log)}, expected aten.cos.default in backward"
    )


def test_nothing_is_missing_and_nothing_is_added() -> None:
    """For a model's forward and backward, the log contains exactly what a mode receives."""
    model = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.GELU(), nn.Linear(4, 1))
    x = torch.ones(2, 3)
    with Names() as oracle:
        model(x).mean().backward()
    model.zero_grad()
    with OperatorLog() as log:
        model(x).mean().backward()

    expect(oracle.names, called(log), "a mode of the test's own has seen these")


def test_a_mode_around_the_log_sees_the_same() -> None:
    """The call passes through the modes that were entered earlier."""
    a = torch.ones(2)
    with Names() as outer, OperatorLog() as log:
        torch.neg(a)

    expect(["aten.neg.default"], called(log), "what the log has seen")
    expect(["aten.neg.default"], outer.names, "what the mode around it has seen")
    with watched_operators() as names, OperatorLog():
        torch.neg(a)
    expect({"aten::neg"}, set(names), "what the profiler has seen: a log computes nothing")


def test_a_call_that_raises_leaves_no_line() -> None:
    """The error must reach the caller."""
    a, b = torch.ones(2, 3), torch.ones(2, 3)
    with OperatorLog() as log:
        with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
            torch.mm(a, b)
        torch.neg(a)

    expect(["aten.neg.default"], called(log), "mm has raised")
    assert 1 == log.lines.count("$0: float32[2, 3] = input"), (
        f"expected $0 as an input once: {log.lines}"
    )
    assert log.lines[-1].endswith("aten.neg.default($0)"), (
        f"a already has the number $0: {log.lines}"
    )


def test_two_logs_number_on_their_own() -> None:
    """A tensor that one log has seen is an input to the other."""
    a = torch.ones(2)
    with OperatorLog() as first:
        b = torch.neg(a)
    with OperatorLog() as second:
        torch.neg(b)

    expect("$1: float32[2] = aten.neg.default($0)", first.lines[1], "the first log")
    expected = ["$0: float32[2] = input", "$1: float32[2] = aten.neg.default($0)"]
    expect(expected, second.lines, "the second log counts from 0")
    for _ in range(10):
        with OperatorLog() as log:
            torch.neg(b)
        expect(expected, log.lines, "a log may stand at the address of one that is gone")
