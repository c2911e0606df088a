"""Tests of k14_calibrate: ranges of given numbers, and graphs that ONNX Runtime runs."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import numpy as np
import pytest
from expecttest import assert_expected_inline

from katas.lecture16 import k14_calibrate as kata
from katas.lecture16.conftest import model_of
from katas.lecture16.conftest import run
from plugins.kit import forbids


if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Sequence


pytestmark = pytest.mark.backend("onnxruntime")


def numbers(*values: float) -> Any:
    """Return float32 numbers."""
    return np.array(values, dtype=np.float32)


def check(low: float, high: float, scale: float, zero: int, why: str) -> None:
    """Compare scale and zero point of a range."""
    __tracebackhide__ = True
    with forbids(kata, "onnxruntime") as fresh:
        found = fresh.parameters(low, high)
    kinds = [np.asarray(each).dtype.name for each in found]
    assert kinds == ["float32", "uint8"], f"the dtypes are {kinds}, expected float32 and uint8"
    expected = (float(np.float32(scale)), zero)
    yours = (float(found[0]), int(found[1]))
    close = np.isclose(yours[0], expected[0], rtol=1e-6) and yours[1] == zero
    assert close, f"from {low} to {high}: yours {yours}, expected {expected}. {why}"


def test_a_range_around_zero() -> None:
    """Both rows of the table."""
    check(-0.9, 40.0, 40.9 / 255, 6, "0 is 0.9 above the lowest number, which is 5.6 steps")
    check(-0.9, 2.3, 3.2 / 255, 72, "0 is 0.9 above the lowest number, which is 71.7 steps")


def test_a_range_without_zero() -> None:
    """A range without 0 is widened, at either end, or 0 could not be represented."""
    check(0.5, 2.0, 2 / 255, 0, "the range becomes 0 to 2")
    check(-2.0, -1.0, 2 / 255, 255, "the range becomes -2 to 0")


def test_half_a_step() -> None:
    """A zero point between two numbers becomes the even one."""
    check(-0.5, 254.5, 1, 0, "0.5 becomes 0")
    check(-1.5, 253.5, 1, 2, "1.5 becomes 2")
    check(-2.5, 252.5, 1, 2, "2.5 becomes 2")


def test_nothing_but_zeros() -> None:
    """A layer that is dead for all of the data."""
    check(0.0, 0.0, 1, 0, "no scale may be 0")


def ranged(batches: Sequence[Any], share: float, expected: tuple[float, float], why: str) -> None:
    """Compare a range; the batches can be read only once."""
    __tracebackhide__ = True
    before = [batch.copy() for batch in batches]
    yours = kata.calibrate(iter(batches), share) if share < 1 else kata.calibrate(iter(batches))
    close = np.allclose(yours, expected)
    assert close, f"yours {yours}, expected {expected}. {why}"
    for batch, old in zip(batches, before, strict=True):
        kept = np.array_equal(batch, old)
        assert kept, f"your code modified a batch: it was {old}, and is {batch} now"


def test_the_range_of_all_batches() -> None:
    """The range covers all batches, not the last or an average; sizes and shapes differ."""
    batches = [numbers(1, 2, 3, 4).reshape(2, 2), numbers(-7), numbers(5, 0).reshape(1, 2, 1)]

    ranged(batches, 1.0, (-7, 5), "the lowest is in the second batch, the highest in the third")


def test_most_of_it() -> None:
    """The lowest and highest of all elements are left out."""
    batches = [numbers(*range(81)), numbers(*range(81, 101))]

    ranged(batches, 0.9, (5, 95), "of 0 to 100, five are left out at each end")
    ranged(batches, 0.5, (25, 75), "the middle half")


def made(kind: str, inputs: str, output: str) -> Any:
    """Return a node; `inputs` are names with spaces between them."""
    from onnx import helper  # noqa: PLC0415 - may be missing

    return helper.make_node(kind, inputs.split(), [output])


def rounded(x: Any, low: float, high: float) -> Any:
    """Return x rounded to eight bits, by the definition."""
    low, high = min(low, 0.0), max(high, 0.0)
    scale = np.float32((high - low) / 255)
    zero = np.rint(-low / scale)
    return (np.clip(np.rint(x / scale) + zero, 0, 255) - zero).astype("float32") * scale


def inserted(
    nodes: Sequence[Any], outputs: Sequence[str], name: str, low: float, high: float
) -> Any:
    """Insert, and check what must stay."""
    from onnx import checker  # noqa: PLC0415 - may be missing

    __tracebackhide__ = True
    model = model_of(nodes, {"x": ["n"]}, {each: ["n"] for each in outputs}, {"w": numbers(3)})
    before = model.SerializeToString(deterministic=True)
    found = kata.insert(model, name, low, high)
    kept = model.SerializeToString(deterministic=True) == before
    assert kept, "your code modified the model itself, not a copy"
    try:
        checker.check_model(found, full_check=True)
    except (checker.ValidationError, RuntimeError) as error:
        raise AssertionError(f"the checker refuses your graph: {error}\n{text(found)}") from None
    names = [each.name for each in found.graph.output]
    assert names == [*outputs], f"outputs: yours {names}, expected {[*outputs]}"
    return found


def text(model: Any) -> str:
    """Return a line for each node."""
    return "\n".join(
        f"{', '.join(each.output)} = {each.op_type}({', '.join(each.input)})"
        for each in model.graph.node
    )


def same(model: Any, x: Any, expected: Mapping[str, Any]) -> None:
    """Compare the answers of ONNX Runtime."""
    __tracebackhide__ = True
    for (name, right), yours in zip(expected.items(), run(model, {"x": x}), strict=True):
        close = np.allclose(yours, right, atol=1e-5)
        assert close, f"{name} of {x}: yours {yours}, expected {right}\n{text(model)}"


X = numbers(-3, -0.9, -0.004, 0, 0.1, 0.7, 1.9, 2.3, 40)


def test_an_input() -> None:
    """Each reader reads the rounded value, even if it reads it twice."""
    nodes = [made("Mul", "x w", "a"), made("Add", "x x", "b"), made("Add", "a b", "y")]
    found = inserted(nodes, ["y"], "x", -0.9, 2.3)

    same(found, X, {"y": 5 * rounded(X, -0.9, 2.3)})


def test_a_result() -> None:
    """For the output of an inner node, the pair follows that node, before its readers."""
    nodes = [made("Mul", "x w", "a"), made("Relu", "a", "b"), made("Mul", "b a", "y")]
    found = inserted(nodes, ["y"], "a", -1, 5)
    a = rounded(3 * X, -1, 5)

    same(found, X, {"y": np.maximum(a, 0) * a})


def test_an_output_keeps_its_value() -> None:
    """The caller reads the node's own output; a node reads it rounded."""
    nodes = [made("Relu", "x", "h"), made("Mul", "h w", "y")]
    found = inserted(nodes, ["h", "y"], "h", 0, 2)

    same(found, X, {"h": np.maximum(X, 0), "y": 3 * rounded(np.maximum(X, 0), 0, 2)})


def test_two_values() -> None:
    """Two values can be rounded in turn: new names are derived from the value's name."""
    nodes = [made("Relu", "x", "h"), made("Mul", "h w", "y")]
    found = kata.insert(inserted(nodes, ["y"], "x", -1, 40), "h", 0.0, 3.0)
    h = np.maximum(rounded(X, -1, 40), 0)

    same(found, X, {"y": 3 * rounded(h, 0, 3)})


def test_a_rare_value_costs_the_others() -> None:
    """A range without the rare values makes all but a few elements a dozen times more exact."""
    draw = np.random.default_rng(0)
    x = np.concatenate([draw.normal(size=2000), [60.0, -55.0]]).astype("float32")
    nodes = [made("Mul", "x w", "y")]
    errors = []
    for share in (1.0, 0.998):
        found = inserted(nodes, ["y"], "x", *kata.calibrate([x[:1001], x[1001:]], share))
        (y,) = run(found, {"x": x})
        errors.append(float(np.median(np.abs(y - 3 * x))))

    assert errors[1] < errors[0] / 8, (
        f"median error: with the whole range {errors[0]:.3g}, with most of it {errors[1]:.3g}"
    )


def test_the_graph_as_text() -> None:
    """You choose the names of scale and zero point."""
    found = inserted([made("Relu", "x", "h"), made("Mul", "h w", "y")], ["y"], "h", 0.0, 2.0)
    for node in found.graph.node[1:3]:
        node.input[1:] = ["scale", "zero"]

    assert_expected_inline(
        text(found),
        """\
h = Relu(x)
h_bits = QuantizeLinear(h, scale, zero)
h_rounded = DequantizeLinear(h_bits, scale, zero)
y = Mul(h_rounded, w)""",
    )


def test_onnx_runtime_says_the_same() -> None:
    """ONNX Runtime's calibration computes the same numbers for the same ranges."""
    from onnxruntime.quantization.quant_utils import compute_scale_zp  # noqa: PLC0415 - may be missing

    for low, high in ((-1.0, 3.0), (0.5, 2.0), (-2.0, -1.0), (-0.9, 40.0), (0.0, 7.0)):
        ends = np.float32(low), np.float32(high)
        zero, scale = compute_scale_zp(*ends, np.uint8(0), np.uint8(255))
        check(low, high, float(scale), int(zero), "ONNX Runtime computes these")
