"""Tests of k08_rules: operators of the installed PyTorch, called on DTensors of two ranks."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch

from katas.lecture14.k08_rules import Verdict
from katas.lecture14.k08_rules import verdict
from plugins.kit import unchanged


if TYPE_CHECKING:
    from plugins.kit import World


TENSOR, DEBUG = "torch.distributed.tensor", "torch.distributed.tensor.debug"
pytestmark = [pytest.mark.backend("gloo"), pytest.mark.ranks_import(TENSOR, DEBUG, "torch._dynamo")]
aten = torch.ops.aten
# Name, operator, arguments after x; x is sharded by rows.
MENU: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "relu": (aten.relu.default, ()),
    "sum": (aten.sum.default, ()),
    "median": (aten.median.default, ()),
    "matmul": (aten.matmul.default, ("x",)),
    "linear": (aten.linear.default, ("x",)),
    "chunk": (aten.chunk.default, (2, 1)),
    "square": (aten.square.default, ()),
    "softmax": (aten.softmax.int, (0,)),
    "renorm": (aten.renorm.default, (2, 0, 1.0)),
    "cdist": (aten.cdist.default, ("x", "x")),
}


def sharded() -> Any:
    """Return a matrix of 4 x 4, two rows on each of two ranks."""
    tensor = import_module(TENSOR)
    mesh = import_module("torch.distributed.device_mesh").init_device_mesh("cpu", (2,))
    x = torch.rand(4, 4, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    mine = x.chunk(2)[mesh.get_local_rank()].clone()
    return tensor.DTensor.from_local(mine, mesh, [tensor.Shard(0)], run_check=False)


def arguments(name: str, x: Any) -> list[Any]:
    """Return the arguments of an operator."""
    given = [x, *(x if each == "x" else each for each in MENU[name][1])]
    return [*given[:2], 2.0] if name == "cdist" else given


def watched(name: str) -> Verdict:
    """Return the same verdict, observed by the test itself."""
    from torch.utils._python_dispatch import TorchDispatchMode  # noqa: PLC0415

    names: list[str] = []

    class Watch(TorchDispatchMode):  # type: ignore[misc, unused-ignore]
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            names.append(str(func))
            return func(*args, **(kwargs or {}))

    operator, x, failed = MENU[name][0], sharded(), False
    watch: Any = Watch
    with import_module(DEBUG).CommDebugMode() as sent, watch():
        try:
            operator(*arguments(name, x))
        except NotImplementedError:
            failed = True
    itself = names == [str(operator)]
    kind = "raises" if failed else "rule" if itself else "parts"
    return Verdict(kind, names, sent.get_total_counts())


def judged(names: list[str]) -> list[tuple[Verdict, Verdict]]:
    """Return your verdicts, and the test's."""
    found = []
    for name in names:
        x = sharded()
        with unchanged(local=x.to_local()):
            yours = verdict(MENU[name][0], *arguments(name, x))
        found.append((yours, watched(name)))
    return found


def compare(world: World, names: list[str], why: str, *, messages: bool = False) -> None:
    """Compare verdicts on two ranks, and the number of messages if asked."""
    __tracebackhide__ = True
    for rank, found in enumerate(world(judged, 2, names)):
        for name, (yours, theirs) in zip(names, found, strict=True):
            fields = Verdict._fields if messages else Verdict._fields[:2]
            for what, mine, right in zip(fields, yours, theirs, strict=False):
                assert right == mine, (
                    f"{name} on rank {rank}, {what}: yours {mine!r}, PyTorch's {right!r}. {why}"
                )


def test_an_operator_with_a_rule(world: World) -> None:
    """The operator reaches DTensor under its own name."""
    compare(world, ["relu", "sum"], "the operator itself is what is seen: it has a rule")


def test_an_operator_that_is_made_of_others(world: World) -> None:
    """DTensor sees the operators that this one is composed of."""
    names = ["matmul", "linear", "chunk", "square"]
    compare(world, names, "others reach DTensor, in the place of the one that was called")


def test_an_operator_without_a_rule(world: World) -> None:
    """The operator raises, although it may be seen, or one of its components raises."""
    compare(world, ["renorm", "cdist"], "NotImplementedError: no sharding rule")


def test_a_rule_may_send(world: World) -> None:
    """A median needs all rows, and so does a softmax over them."""
    why = "count what the call sends: get_total_counts()"
    compare(world, ["median", "softmax", "relu", "matmul"], why, messages=True)


def mistakes() -> list[str]:
    """Return the types of errors that propagate, and the verdict afterwards."""
    x, found = sharded(), []
    for operands in ((x, torch.ones(4, 4).double()), (x, 3)):
        with unchanged():
            try:
                verdict(aten.mm.default, *operands)
                found.append("no error")
            except RuntimeError as error:
                found.append(type(error).__name__)
    return [*found, verdict(aten.mm.default, x, x).kind]


def test_other_errors_come_out(world: World) -> None:
    """A plain tensor next to a DTensor, or a number as a matrix, is the caller's mistake."""
    for rank, yours in enumerate(world(mistakes, 2)):
        assert ["RuntimeError", "RuntimeError", "rule"] == yours, (
            f"rank {rank}: mm of a DTensor and a plain tensor, of a DTensor and 3, of two DTensors:"
            f" yours {yours}, expected two errors of type RuntimeError, then a rule"
        )


def calls() -> tuple[list[int], list[Verdict], int]:
    """Return how often functions are called, their verdicts, and one softmax's messages."""
    log: list[int] = []

    def works(*operands: Any) -> Any:
        log.append(len(operands))
        aten.softmax.int(*operands, 0)
        return aten.softmax.int(*operands, 0)

    def raises(*operands: Any) -> Any:
        works(*operands)
        raise NotImplementedError("two softmaxes, and then no more")

    alone = verdict(aten.softmax.int, sharded(), 0).messages
    return log, [verdict(operator, sharded()) for operator in (works, raises)], alone


def test_it_is_called_one_time(world: World) -> None:
    """Call the operator once, since a call may send gigabytes; judge by what that call does."""
    for rank, (yours, verdicts, alone) in enumerate(world(calls, 2)):
        assert [1, 1] == yours, (
            f"rank {rank}: operands in each of your calls: {yours}, expected [1, 1], one call"
            " for each function"
        )
        found = [(each.kind, each.messages) for each in verdicts]
        assert [("parts", 2 * alone), ("raises", 2 * alone)] == found, (
            f"rank {rank}: a function that calls softmax twice, and one that then raises:"
            f" yours {found}, expected parts and raises, and twice the {alone} messages of one"
            " softmax"
        )
