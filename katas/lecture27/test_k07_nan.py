"""Tests of k07_nan: operators that make NaN, and a comparison with PyTorch's anomaly mode."""

from __future__ import annotations

import math
import re
import warnings
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch

from katas.lecture27 import k07_nan as kata
from katas.lecture27.k07_nan import Hunt
from katas.lecture27.k07_nan import first_node
from plugins.kit import forbids
from plugins.kit import freed
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterator


NAN, INF = math.nan, math.inf


def hunted(f: Callable[[], object]) -> str | None:
    """Return the operator that your mode finds."""
    with Hunt() as hunt:
        f()
    return hunt.first  # type: ignore[no-any-return, unused-ignore]


def check(f: Callable[[], object], expected: str | None, why: str) -> None:
    """Compare the operator."""
    __tracebackhide__ = True
    yours = hunted(f)
    assert yours == expected, f"yours {yours}, expected {expected}: {why}"


def column(*numbers: float, grad: bool = False) -> torch.Tensor:
    """Return float64 numbers."""
    return torch.tensor(numbers, dtype=torch.float64, requires_grad=grad)


@pytest.fixture
def filled() -> Iterator[None]:
    """Let PyTorch fill uninitialised memory with NaN."""
    torch.use_deterministic_algorithms(mode=True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(mode=False)


def test_a_root_of_a_negative_number() -> None:
    """The first of three operators that return NaN; the mode changes no result."""
    x = column(2, -3)
    with Hunt() as hunt, unchanged(x=x):
        y = torch.exp(torch.sqrt(x + 1)) * 2
    assert hunt.first == "aten.sqrt.default", f"yours {hunt.first}, expected aten.sqrt.default"
    right = torch.exp(torch.sqrt(x + 1)) * 2
    torch.testing.assert_close(
        y, right, rtol=0, atol=0, equal_nan=True, msg="yours does not return PyTorch's result"
    )


def test_there_is_none() -> None:
    """Infinities and integers are not NaN."""
    check(lambda: column(1, 0).log().exp() + torch.arange(2), None, "no NaN is made")
    with Hunt() as hunt:
        y = torch.ones(2).to(torch.float64)
    assert y.dtype == torch.float64, f"yours {y.dtype}, expected torch.float64, as in kwargs"
    z = hunt.__torch_dispatch__(torch.ops.aten.sqrt.default, (), (column(4),))
    assert z.item() == 2, f"without kwargs: yours {z}, expected 2"


def test_infinities() -> None:
    """Blame the operator that makes a NaN, not the one that made an infinity."""
    check(lambda: column(1, 0).log() * 0, "aten.mul.Tensor", "log(0) is -inf, times 0 is NaN")


def test_the_first_stays() -> None:
    """The first NaN stays in `first` when a second one is made later."""
    x = column(INF, 1)
    check(lambda: (x - x, x * 0), "aten.sub.Tensor", "both make one, sub is first")


def test_what_comes_in() -> None:
    """No operator is to blame for a NaN that was an input, as an element or a number."""
    x = column(NAN, 1)
    check(lambda: [x + 1, torch.cat([x, x]), torch.stack([x.sum()])], None, "x has a NaN")
    check(lambda: column(1, 2) * NAN, None, "the number is a NaN")
    check(lambda: torch.nan_to_num(x) / 0, "aten.div.Tensor", "nan_to_num makes 0, and 0/0 is NaN")
    check(lambda: torch.clamp(column(1), max=NAN), None, "the number is a NaN, by its name")
    check(lambda: torch.sqrt(column(-1, 1), out=x.clone()), None, "out has a NaN")


def test_one_of_many() -> None:
    """The inputs are in a list and the outputs in a tuple, whose second tensor has the NaN."""
    x, y = column(1, 2), column(NAN, 1)
    check(lambda: torch.cat([x, y]).sum(), None, "y has a NaN")
    pair = [column(1), column(-1)]
    check(lambda: torch._foreach_sqrt(pair), "aten._foreach_sqrt.default", "the second is NaN")  # noqa: SLF001 - there is no other name


def test_in_place() -> None:
    """An in-place operator overwrites its input."""
    check(lambda: column(0, 1).div_(0), "aten.div_.Tensor", "0/0 is NaN")


@pytest.mark.usefixtures("filled")
def test_memory_that_was_not_written_to() -> None:
    """No operator is to blame for a NaN in uninitialised memory."""
    x = column(1, 2)
    for f in (lambda: torch.empty(2), lambda: torch.empty_like(x), lambda: x.new_empty(2)):
        check(f, None, "it is uninitialised; here PyTorch fills it with NaN")


def masked() -> tuple[torch.Tensor, torch.Tensor]:
    """Return x, and a loss whose gradient has a NaN."""
    x = column(0, 1, 4, grad=True)
    return x, torch.where(x > 0, x.sqrt(), 0.0).sum()


def test_in_the_backward() -> None:
    """The forward is clean; the mode stays open for the backward."""
    with Hunt() as hunt:
        _, loss = masked()
        assert hunt.first is None, f"yours {hunt.first} in the forward, expected None"
        torch.autograd.backward(loss)
    assert hunt.first == "aten.div.Tensor", f"yours {hunt.first}, expected aten.div.Tensor: 0/0"


def test_a_hunt_in_a_hunt() -> None:
    """Each mode reports only operators that ran inside it."""
    with Hunt() as outer:
        column(-1).log()
        with Hunt() as inner:
            column(-1).sqrt()
    column(INF) - INF
    found = (outer.first, inner.first)
    right = ("aten.log.default", "aten.sqrt.default")
    assert found == right, f"outer, inner: yours {found}, expected {right}"


def anomaly(loss: torch.Tensor) -> str | None:
    """Return the node that PyTorch's anomaly mode names."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with torch.autograd.detect_anomaly():
                torch.autograd.backward(loss)
        except RuntimeError as error:
            named = re.search(r"Function '(\w+)' returned nan", str(error))
            return named[1] if named else str(error)
    return None


def root_of_zero(x: torch.Tensor) -> torch.Tensor:
    """Return a loss whose third node from the end makes a NaN."""
    return ((x * 0).sqrt() * 0).cos().sum()


def shared(x: torch.Tensor) -> torch.Tensor:
    """Return a loss with a node that two others read."""
    y = x * 2
    return (y.sin() + torch.where(y > 0, (y * 0).sqrt(), y) * 0).sum()


LOSSES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "mask": lambda x: torch.where(x > 0, x.sqrt(), 0.0).sum(),
    "none": lambda x: (x.sin() * x.cos()).sum(),
    "norm": lambda x: (x * 0).norm() + x.pow(2).sum().sqrt(),
    "root of zero": root_of_zero,
    "shared": shared,
    "two": lambda x: ((x * 0).sqrt() * 0 + torch.acos((x * 0) + 1) * 0).sum(),
    "acos": lambda x: (torch.acos((x * 0) + 1) * 0).sum(),
}


@pytest.mark.parametrize("name", LOSSES)
def test_the_node(name: str) -> None:
    """Your node is the one at which PyTorch's anomaly mode stops."""
    yours = first_node(LOSSES[name](column(0, 1, 4, grad=True)))
    right = anomaly(LOSSES[name](column(0, 1, 4, grad=True)))
    assert yours == right, f"{name}: yours {yours}, PyTorch's {right}"


def test_a_hook_of_the_program() -> None:
    """A tensor's own hook is outside the graph: no node is to blame for its NaN."""
    x = column(1, 4, grad=True)
    y = x * 2
    y.register_hook(lambda grad: grad * NAN)  # type: ignore[no-untyped-call, unused-ignore]
    yours = first_node(y.sin().sum())
    assert yours is None, f"yours {yours}, expected None: a hook made the NaN"


def test_a_node_that_is_read_twice() -> None:
    """A graph of 130 nodes has 2**65 paths: visit each node once."""
    x = column(1, 4, grad=True)
    y = x
    for _ in range(65):
        y = (y + y) / 2
    yours = first_node((y * 0).sqrt().sum() * 0)
    assert yours == "SqrtBackward0", f"yours {yours}, expected SqrtBackward0: 0/0"


def test_the_gradients_are_there() -> None:
    """The backward still does its work: .grad is set as usual."""
    x, loss = masked()
    first_node(loss)
    y, again = masked()
    torch.autograd.backward(again)
    assert x.grad is not None, "x.grad is None after your code: call loss.backward()"
    torch.testing.assert_close(
        x.grad, y.grad, rtol=0, atol=0, equal_nan=True, msg="x.grad: yours is not PyTorch's"
    )
    with pytest.raises(RuntimeError, match="a second time"):
        pytest.fail(
            f"your code keeps the graph, expected it freed: {torch.autograd.backward(loss)}"
        )
    leaf = torch.ones((), requires_grad=True)
    yours = first_node(leaf)
    assert yours is None, f"yours {yours}, expected None, since a leaf has no node"
    assert leaf.grad is not None, "the leaf's .grad is None after your code: call loss.backward()"


class Blow(torch.autograd.Function):  # type: ignore[misc, unused-ignore]
    """Raises in its backward, if told to."""

    told = True

    @staticmethod
    def forward(_ctx: Any, x: torch.Tensor) -> torch.Tensor:
        """Return a copy."""
        return x.clone()

    @staticmethod
    def backward(_ctx: Any, grad: torch.Tensor) -> Any:
        """Raise, or return the gradient."""
        if Blow.told:
            raise ValueError("the backward of the test")
        return grad


def test_no_hook_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """A graph that stays alive would call the hooks again, and keep their objects alive."""

    def make() -> torch.Tensor:
        x, loss = masked()
        first_node(loss)
        return x.sqrt()

    freed(make, "A hook that holds its node is a cycle through C++: remove the hooks.")
    loss = Blow.apply(masked()[1])  # type: ignore[no-untyped-call, unused-ignore]
    with pytest.raises(ValueError, match="the backward of the test"):
        first_node(loss)
    monkeypatch.setattr(Blow, "told", False)
    calls: list[int] = []
    monkeypatch.setattr(kata, "has_nan", lambda _: calls.append(1))
    torch.autograd.backward(loss)
    assert not calls, f"after a backward that raised, {len(calls)} calls of hooks, expected none"


def test_it_is_written_here() -> None:
    """Your code does not use PyTorch's anomaly mode."""
    with forbids(
        kata,
        "torch.autograd.detect_anomaly",
        "torch.autograd.set_detect_anomaly",
        "torch.autograd.anomaly_mode",
    ) as fresh:
        assert fresh.first_node(masked()[1]) == "SqrtBackward0", (
            "expected the node of the square root"
        )
