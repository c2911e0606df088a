"""Tests of k07_rewrite: small graphs, run by ONNX Runtime before and after your passes."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import numpy as np
import pytest
from expecttest import assert_expected_inline

from katas.lecture16 import k07_rewrite as kata
from katas.lecture16.conftest import model_of
from katas.lecture16.conftest import run
from plugins.kit import forbids


if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Sequence


pytestmark = pytest.mark.backend("onnxruntime")
SHAPES: Mapping[str, Sequence[int]] = {"x": [2, 3, 5, 5]}
NORM = ("scale", "bias", "mean", "var")


def drawn(*shape: int) -> Any:
    """Return numbers of both signs, the same in each run for each shape."""
    return np.random.default_rng(sum(shape)).normal(size=shape).astype("float32")


def numbers(channels: int = 4) -> dict[str, Any]:
    """Return a Conv's weight and bias, and a BatchNorm's four; variances are positive."""
    four = {name: drawn(channels + place)[:channels] for place, name in enumerate(NORM)}
    four["var"] = np.abs(four["var"]) + np.float32(0.25)
    return {"w": drawn(channels, 3, 3, 3), "b": drawn(channels), **four}


def node(kind: str, inputs: str, output: str, **attrs: Any) -> Any:
    """Return a node; `inputs` are names with spaces between them."""
    from onnx import helper  # noqa: PLC0415 - may be missing

    return helper.make_node(kind, inputs.split(), [output], **attrs)


def norm(inputs: str, output: str, **attrs: Any) -> Any:
    """Return a BatchNormalization."""
    return node("BatchNormalization", f"{inputs} {' '.join(NORM)}", output, **attrs)


def text(model: Any) -> str:
    """Return a line for each node."""
    return "\n".join(
        f"{', '.join(each.output)} = {each.op_type}({', '.join(each.input)})"
        for each in model.graph.node
    )


def check(
    nodes: Sequence[Any], outputs: Sequence[str], known: Mapping[str, Any], **shapes: Sequence[int]
) -> Any:
    """Compare what a graph returns before and after, with ONNX Runtime's own passes off."""
    from onnx import checker  # noqa: PLC0415 - may be missing
    from onnxruntime import GraphOptimizationLevel  # noqa: PLC0415 - may be missing

    __tracebackhide__ = True
    inputs = shapes or SHAPES
    rank = len(inputs["x"])
    model = model_of(nodes, inputs, {each: [None] * rank for each in outputs}, known)
    before = model.SerializeToString(deterministic=True)
    found = kata.optimize(model)
    kept = model.SerializeToString(deterministic=True) == before
    assert kept, "your code modified the model itself, not only its copy"
    about = f"your graph\n{text(found)}\nmade from\n{text(model)}\n"
    names = [each.name for each in found.graph.output]
    assert names == [*outputs], f"outputs {names}, expected {[*outputs]}; {about}"
    feeds = {name: drawn(*shape) for name, shape in inputs.items()}
    off = {"graph_optimization_level": GraphOptimizationLevel.ORT_DISABLE_ALL}
    try:
        yours = run(found, feeds, **off)
    except Exception as error:  # noqa: BLE001 - ONNX Runtime has one class for each status
        raise AssertionError(f"{about}ONNX Runtime refuses it: {error}") from None
    for name, mine, theirs in zip(outputs, yours, run(model, feeds, **off), strict=True):
        worst = float(np.abs(mine - theirs).max())
        assert worst < 1e-5 * max(1.0, float(np.abs(theirs).max())), (
            f"{name} differs by up to {worst:.3g}; {about}"
        )
    checker.check_model(found)
    return found


def kinds(model: Any) -> list[str]:
    """Return the operators, in order."""
    return [each.op_type for each in model.graph.node]


def test_an_identity_is_dropped() -> None:
    """Drop one Identity, two in a row, and one that two nodes read."""
    nodes = [
        node("Relu", "x", "r"),
        node("Identity", "r", "i"),
        node("Identity", "i", "j"),
        node("Mul", "j i", "m"),
        node("Add", "m j", "y"),
    ]
    found = check(nodes, ["y"], {})

    assert kinds(found) == ["Relu", "Mul", "Add"], (
        f"nodes left: {kinds(found)}, expected no Identity"
    )


def test_an_output_keeps_its_name() -> None:
    """The Identity that writes an output must stay, or callers miss its name."""
    nodes = [
        node("Relu", "x", "r"),
        node("Identity", "r", "y"),
        node("Neg", "r", "z"),
    ]
    found = check(nodes, ["z", "y"], {})

    assert "Identity" in kinds(found), f"nodes left: {kinds(found)}, expected an Identity for y"


def test_a_batch_norm_is_folded() -> None:
    """A Conv with a bias absorbs its BatchNorm."""
    found = check([node("Conv", "x w b", "c"), norm("c", "y")], ["y"], numbers())

    assert kinds(found) == ["Conv"], f"nodes left: {kinds(found)}, expected one Conv"


def test_a_conv_without_a_bias() -> None:
    """The Conv gets a bias; epsilon is the node's, not the default."""
    found = check([node("Conv", "x w", "c"), norm("c", "y", epsilon=0.5)], ["y"], numbers())

    assert kinds(found) == ["Conv"], f"nodes left: {kinds(found)}, expected one Conv"


def test_a_conv_of_one_dim() -> None:
    """Attributes stay, and the weight of a Conv1d has three dims."""
    known = numbers() | {"w": drawn(4, 2, 3)}
    conv = node("Conv", "x w b", "c", group=2, strides=[2], pads=[1, 1])
    found = check([conv, norm("c", "y")], ["y"], known, x=[2, 4, 8])

    assert kinds(found) == ["Conv"], f"nodes left: {kinds(found)}, expected one Conv"


def test_a_second_reader() -> None:
    """Do not fold if another node or the caller needs the Conv's output."""
    nodes = [node("Conv", "x w b", "c"), norm("c", "n"), node("Add", "n c", "y")]
    found = check(nodes, ["y"], numbers())
    assert kinds(found) == ["Conv", "BatchNormalization", "Add"], (
        f"nodes left: {kinds(found)}, expected no fold"
    )
    found = check(nodes[:2], ["n", "c"], numbers())
    assert kinds(found) == ["Conv", "BatchNormalization"], (
        f"nodes left: {kinds(found)}, expected no fold"
    )


def test_a_weight_that_two_convs_share() -> None:
    """The other Conv still reads the old weight; with a BatchNorm, it gets one of its own."""
    nodes = [
        node("Conv", "x w b", "c"),
        norm("c", "n"),
        node("Conv", "x w b", "d"),
        node("Add", "n d", "y"),
    ]
    found = check(nodes, ["y"], numbers())

    assert kinds(found) == ["Conv", "Conv", "Add"], f"nodes left: {kinds(found)}, expected one fold"
    nodes[3:] = [
        node("BatchNormalization", "d bias scale mean var", "e"),
        node("Add", "n e", "y"),
    ]
    found = check(nodes, ["y"], numbers())
    assert kinds(found) == ["Conv", "Conv", "Add"], (
        f"nodes left: {kinds(found)}, expected two folds"
    )


def test_a_batch_norm_of_something_else() -> None:
    """Nodes other than Convs, and nodes in between, are left alone; several Convs are folded."""
    known = numbers(3)
    square = known | {"v": drawn(3, 3, 3, 3)}
    nodes = [
        norm("x", "a"),
        node("Conv", "a w b", "c"),
        norm("c", "d"),
        node("Relu", "d", "r"),
        norm("r", "e"),
        node("Conv", "e v", "f"),
        norm("f", "y"),
    ]
    found = check(nodes, ["y"], square)
    expected = ["BatchNormalization", "Conv", "Relu", "BatchNormalization", "Conv"]

    assert kinds(found) == expected, f"nodes left: {kinds(found)}, expected {expected}"
    found = check([node("Conv", "x w b", "c"), node("Relu", "c", "y")], ["y"], known)
    assert kinds(found) == ["Conv", "Relu"], (
        f"nodes left: {kinds(found)}, expected Conv and Relu: there is no BatchNorm to fold"
    )


def test_an_identity_between() -> None:
    """The passes work together: the Identity goes first."""
    nodes = [node("Conv", "x w b", "c"), node("Identity", "c", "i"), norm("i", "y")]
    found = check(nodes, ["y"], numbers())

    assert kinds(found) == ["Conv"], f"nodes left: {kinds(found)}, expected one Conv"
    names = sorted(each.name for each in found.graph.initializer)
    old = [name for name in names if name in numbers()]
    assert not old, f"weights that nobody reads any more are still in the file: {old}"


def test_the_graph_as_text() -> None:
    """You choose the names of the Conv's weights; here they print as w and b."""
    nodes = [
        node("Conv", "x w", "c"),
        norm("c", "n"),
        node("Identity", "n", "i"),
        node("Relu", "i", "y"),
    ]
    with forbids(kata, "onnxruntime", "torch.nn.utils.fusion") as fresh:
        model = model_of(nodes, SHAPES, {"y": [None] * 4}, numbers())
        found = fresh.optimize(model)
    for each in found.graph.node:
        each.input[1:] = ["w", "b"][: len(each.input) - 1]

    assert_expected_inline(
        text(found),
        """\
n = Conv(x, w, b)
y = Relu(n)""",
    )
