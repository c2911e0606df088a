"""Tests of k21_anomaly: PyTorch's anomaly mode must name the same node and line."""

from __future__ import annotations

import re
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch
from torch.overrides import handle_torch_function
from torch.overrides import has_torch_function

from katas.lecture03 import k21_anomaly as kata
from katas.lecture03.k21_anomaly import Anomaly
from plugins.kit import forbids
from plugins.kit import freed
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable


def leaf(*values: float) -> torch.Tensor:
    """Return a leaf that requires a gradient."""
    return torch.tensor(values, requires_grad=True)


def roots(x: torch.Tensor) -> torch.Tensor:
    """Take two roots in two lines; the second is at 0."""
    a = (x + 1).sqrt()
    b = x.sqrt()
    return (a + b * 0).sum()


def power(x: torch.Tensor) -> torch.Tensor:
    """Take a root by a power, in the second line."""
    y = x * 0
    return (y**0.5 * 0).sum()


def two_results(x: torch.Tensor) -> torch.Tensor:
    """Make two results with one call."""
    sign, log = torch.linalg.slogdet((x * 0).diag())
    return sign + log


def infinite(x: torch.Tensor) -> torch.Tensor:
    """Let a root return infinity, which is not NaN."""
    return x.sqrt().sum()


def from_outside(x: torch.Tensor) -> torch.Tensor:
    """Let a hook make the NaN, which the node then receives and returns."""
    y = x.exp()
    y.register_hook(lambda grad: grad * torch.nan)
    return y.sum()


def fine(x: torch.Tensor) -> torch.Tensor:
    """Do nothing wrong."""
    return x.exp().sum()


def outcome(call: Callable[[], object]) -> str:
    """Return the text of the RuntimeError that a call raises, or say that there was none."""
    try:
        call()
    except NotImplementedError:
        raise
    except RuntimeError as error:
        return str(error)
    return "no error"


def accused(program: Callable[[torch.Tensor], torch.Tensor]) -> tuple[str, str] | None:
    """Return the node and the line that PyTorch's anomaly mode names, or None."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with torch.autograd.detect_anomaly():
            text = outcome(program(leaf(0.0, 1.0)).backward)
    if text == "no error":
        return None
    trace = next(str(w.message) for w in caught if "Traceback of forward call" in str(w.message))
    # `**` runs a line of torch's own Python: take the last line in this file.
    mine = re.findall(rf'File "{re.escape(__file__)}", line (\d+), in', trace)
    name = re.findall("Function '(.*)' returned nan", text)[0]
    return name, f"{Path(__file__).name}:{mine[-1]}"


@pytest.mark.parametrize("program", [roots, power, two_results, infinite, from_outside, fine])
def test_node_and_line_are_those_of_anomaly_mode(
    program: Callable[[torch.Tensor], torch.Tensor],
) -> None:
    """Node and line name the forward call that created the node, in the program's file."""
    theirs = accused(program)
    with Anomaly():
        loss = program(leaf(0.0, 1.0))
    yours = outcome(loss.backward)
    expected = "no error" if theirs is None else str(kata.anomaly(*theirs))

    assert expected == yours, f"{program.__name__}: yours      {yours}\nPyTorch's  {expected}"


def composite(x: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Return a result with several nodes behind it, which the mode sees as a single call."""
    if has_torch_function((x, other)):
        return handle_torch_function(composite, (x, other), x, other)
    return (other + x.sqrt() * 0 + other).exp()


def test_a_call_may_leave_several_nodes() -> None:
    """The mode sees only the outer call; the failing node is behind the result's node."""
    with Anomaly():
        y = composite(leaf(0.0), leaf(1.0).exp())
    yours = outcome(y.sum().backward)

    assert "SqrtBackward0 returned NaN" in yours, (
        f"yours: {yours}; a call's result may have other new nodes behind it, on every branch, "
        "next to marked ones: mark them all"
    )


def test_a_node_keeps_its_first_line() -> None:
    """A node keeps its line when its result is used later."""
    with Anomaly():
        y = leaf(0.0).sqrt()
        first = y.grad_fn.metadata.get("line")
        z = (y * 0).sum()
    assert y.grad_fn.metadata.get("line") == first, "your code marked a node again when it was used"
    lines = {first, z.grad_fn.metadata.get("line")}

    assert len(lines) == 2, f"two lines of this test created nodes, but you recorded {lines}"


def test_other_notes_stay() -> None:
    """Leave other entries alone, since other code uses the dict too."""
    x = leaf(1.0)
    y = x.exp()
    y.grad_fn.metadata["mine"] = 1
    kata.mark(y.grad_fn, "a.py:1")

    yours = dict(y.grad_fn.metadata)
    assert yours == {"mine": 1, "line": "a.py:1"}, (
        f"yours {yours}, expected the line next to the entry mine"
    )


def test_outside_nothing_is_watched() -> None:
    """A graph that was built before or after works as usual."""
    before = (leaf(0.0).sqrt() * 0).sum()
    with Anomaly():
        leaf(0.0).exp()
    after = (leaf(0.0).sqrt() * 0).sum()
    for name, loss in {"before": before, "after": after}.items():
        yours = outcome(loss.backward)
        assert yours == "no error", f"graph built {name} the with block: your code raises {yours}"


def test_values_and_gradients_stay() -> None:
    """Every result of a call is returned, numbers and lists too."""
    x = leaf(0.3, 0.7)
    with Anomaly(), unchanged(x=x):
        y = x.exp()
        shape, size, parts = y.shape, y.dim(), y.split(1)
    (grad,) = torch.autograd.grad(sum(part.sum() for part in parts), x)

    yours = (tuple(shape), size, len(parts))
    assert yours == ((2,), 1, 2), (
        f"expected shape, dim and number of parts, ((2,), 1, 2), yours {yours}"
    )
    says = "the gradient under your mode is another one\n".__add__
    torch.testing.assert_close(grad, x.detach().exp(), msg=says)


def test_every_backward_is_checked() -> None:
    """Even the second backward of a graph is checked."""
    with Anomaly():
        loss = roots(leaf(0.0))
    for count in ("first", "second"):
        yours = outcome(lambda: loss.backward(retain_graph=True))
        assert "SqrtBackward0 returned NaN" in yours, f"{count} backward: yours {yours}"


def test_a_long_program() -> None:
    """Five thousand calls: each marks only the new nodes and does not walk all the old ones."""
    x = leaf(1.0)
    start = time.process_time()
    with Anomaly():
        y = x
        for _ in range(5000):
            y = y + 1
    y.backward()
    seconds = time.process_time() - start

    assert x.grad is not None, "backward reached the leaf, but it has no gradient"
    assert seconds < 4, f"it took {seconds:.1f} s, expected far below 1: stop at marked nodes"


def test_a_long_graph_of_before() -> None:
    """An old graph is behind the first result, and its nodes exceed Python's recursion limit."""
    x = leaf(1.0)
    y = x
    for _ in range(5000):
        y = y + 1
    try:
        with Anomaly():
            y = y.exp()
    except RecursionError:
        raise AssertionError("your code uses recursion, but the graph is 5000 nodes deep") from None
    y.backward()

    assert x.grad is not None, "backward reached the leaf, but it has no gradient"


class Bystander:
    """An object that lives as long as the node that holds it."""


def test_the_graph_is_freed() -> None:
    """The graph dies with its last tensor, by reference counting."""

    def made() -> Bystander:
        bystander = Bystander()
        with Anomaly():
            loss = leaf(1.0).exp().sum()
        loss.grad_fn.metadata["bystander"] = bystander
        return bystander

    freed(made, "A hook that names its node is owned by it, and owns it: note name and line.")


def test_pytorchs_mode_is_not_asked() -> None:
    """The kata builds anomaly mode, so it must not call it."""
    anomaly = ("autograd.detect_anomaly", "autograd.set_detect_anomaly", "autograd.anomaly_mode")
    frames = ("sys._getframe",)
    with forbids(kata, *(f"torch.{name}" for name in anomaly), allow=frames) as fresh:
        with fresh.Anomaly():
            loss = roots(leaf(0.0))
        yours = outcome(loss.backward)

    assert "returned NaN" in yours, f"yours: {yours}"
