"""Tests of k03_interpreter: ONNX's own tests of each operator, and graphs around them."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING
from typing import Any

import numpy as np
import pytest

from katas.lecture16 import k03_interpreter as kata
from katas.lecture16.conftest import exported
from katas.lecture16.conftest import model_of
from katas.lecture16.conftest import node_cases
from plugins.kit import forbids


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Collection
    from collections.abc import Iterator
    from collections.abc import Sequence


pytestmark = pytest.mark.backend("onnxruntime")
one = pytest.mark.step(1, "names and values")
two = pytest.mark.step(2, "shapes")
three = pytest.mark.step(3, "reductions")
four = pytest.mark.step(4, "Gemm")
five = pytest.mark.step(5, "graphs in graphs")
# No graph of the tests runs as many nodes. An endless loop would keep everything that it collects.
MOST = 1000


def same(yours: Any, expected: Any, what: str) -> None:
    """Compare arrays: shape, dtype, and values as closely as float32 allows."""
    __tracebackhide__ = True
    yours = np.asarray(yours)
    assert expected.shape == yours.shape, (
        f"{what}: yours has shape {yours.shape}, expected {expected.shape}"
    )
    assert expected.dtype == yours.dtype, (
        f"{what}: yours is {yours.dtype}, expected {expected.dtype}"
    )
    close = np.allclose(yours, expected, rtol=1e-5, atol=1e-6, equal_nan=True)
    assert close, f"{what}: yours is\n{yours}\nexpected\n{expected}"


@contextlib.contextmanager
def ended() -> Iterator[None]:
    """Stop a graph that never ends."""
    __tracebackhide__ = True
    count = 0

    def counted(operator: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **kwargs: Any) -> Any:
            nonlocal count
            count += 1
            assert count <= MOST, f"{MOST} nodes ran: your loop does not end"
            return operator(*args, **kwargs)

        return run

    with pytest.MonkeyPatch.context() as patch:
        for kind, operator in kata.OPERATORS.items():
            patch.setitem(kata.OPERATORS, kind, counted(operator))
        yield


def seen(model: Any, feeds: dict[str, Any], outer: Collection[str]) -> Any:
    """Return the output of a graph whose inner graph reads values of the outer one."""
    __tracebackhide__ = True
    try:
        with ended():
            (yours,) = kata.run(model, feeds)
    except KeyError as error:
        name = error.args[0]
        if name not in outer:
            raise
        raise AssertionError(
            f"KeyError: {name!r}: the inner graph reads {name}, a value of the graph around it;"
            " `known` has it, if you pass `known` on"
        ) from None
    return yours


def passes(module: str, kind: str, but: Collection[str] = ()) -> None:
    """Run ONNX's own tests of an operator, smallest first; skip those in `but`."""
    __tracebackhide__ = True
    cases = [case for case in node_cases(module, kind) if case.name not in but]
    assert cases, f"this onnx has no test of {kind}"
    for case in sorted(cases, key=lambda case: sum(x.size for x in case.inputs)):
        graph = model_of([case.node], {}, dict.fromkeys(case.node.output)).graph
        names = [name for name in case.node.input if name]
        attrs = kata.attributes(case.node)
        shapes = [x.shape for x in case.inputs]
        what = f"ONNX's test {case.name!r}, attributes {attrs or 'none'}, shapes {shapes}"
        before = [x.copy() for x in case.inputs]
        with ended():
            made = kata.evaluate(graph, dict(zip(names, case.inputs, strict=True)))
        for yours, expected in zip(made, case.outputs, strict=True):
            same(yours, np.asarray(expected), what)
        for x, old in zip(case.inputs, before, strict=True):
            kept = np.array_equal(x, old, equal_nan=x.dtype.kind == "f")
            assert kept, f"{what}: your code modified an input"


def made(kind: str, inputs: Sequence[str], outputs: Sequence[str], **attrs: Any) -> Any:
    """Return a node."""
    from onnx import helper  # noqa: PLC0415 - may be missing

    return helper.make_node(kind, inputs, outputs, **attrs)


def numbers(*values: float) -> Any:
    """Return float32 numbers."""
    return np.array(values, dtype=np.float32)


@one
def test_a_chain_of_names() -> None:
    """(x + w) * x: an input may be read twice, and a weight is in the file."""
    model = model_of(
        [made("Add", ["x", "w"], ["sum"]), made("Mul", ["sum", "x"], ["y"])],
        {"x": [2]},
        {"y": [2]},
        {"w": numbers(10, 20)},
    )
    with forbids(kata, "onnx.reference", "onnxruntime") as fresh:
        (yours,) = fresh.run(model, {"x": numbers(1, 2)})

    same(yours, numbers(11, 44), "(x + w) * x")


@one
def test_a_value_that_is_fed_comes_before_a_weight() -> None:
    """A weight that is an input too is a default."""
    model = model_of(
        [made("Add", ["x", "w"], ["y"])],
        {"x": [1], "w": [1]},
        {"y": [1], "x": [1]},
        {"w": numbers(10)},
    )
    feeds = {"x": numbers(1), "w": numbers(5)}
    yours = kata.run(model, feeds)

    same(yours[0], numbers(6), "1 + 5, with a default of 10")
    same(yours[1], numbers(1), "an input may be an output, and outputs keep their order")
    kata.evaluate(model.graph, feeds)
    assert [*feeds] == ["x", "w"], (
        f"`evaluate` must not write to `known`, which now contains {[*feeds]}"
    )
    same(kata.run(model, {"x": numbers(1)})[0], numbers(11), "1 + the default")


@one
def test_an_input_left_out_and_two_outputs() -> None:
    """Clip without a minimum; Split in two."""
    model = model_of(
        [
            made("Clip", ["x", "", "high"], ["clipped"]),
            made("Split", ["clipped", "sizes"], ["a", "b"]),
        ],
        {"x": [3]},
        {"b": [1], "a": [2]},
        {"high": np.float32(2), "sizes": np.array([2, 1])},
    )
    b, a = kata.run(model, {"x": numbers(-9, 1, 7)})

    same(a, numbers(-9, 1), 'the first part: an input with the name "" is None')
    same(b, numbers(2), "the second part")


@one
def test_div() -> None:
    """Floats divide as usual; integers truncate: -7 / 2 is -3, exact in all 64 bits."""
    passes("div", "Div")
    model = model_of([made("Div", ["a", "b"], ["y"])], {"a": [2], "b": [2]}, {"y": [2]})
    big = 2**62 + 3
    a, b = np.array([big, -big]), np.array([1, 2])
    (yours,) = kata.run(model, {"a": a, "b": b})

    same(yours, np.array([big, -(2**61) - 1]), f"{a} / {b}")
    assert [*yours] == [big, -(2**61) - 1], (
        f"{a} / {b}: your code returns {yours}; do not compute in float64, which has 53 bits"
    )


@two
def test_reshape() -> None:
    """0 copies a size, -1 is worked out; with allowzero, 0 is 0."""
    passes("reshape", "Reshape")


@two
def test_slice() -> None:
    """Ends beyond the end, negative axes, steps backwards."""
    passes("slice", "Slice")


@two
def test_slice_without_axes_but_with_steps() -> None:
    """An input that is left out before another is None; one start is for the first dim only."""
    node = made("Slice", ["x", "s", "e", "", "steps"], ["y"])
    ends = {"s": np.array([2]), "e": np.array([0]), "steps": np.array([-1])}
    model = model_of([node], {"x": [3, 2]}, {"y": None}, ends)
    x = numbers(1, 2, 3, 4, 5, 6).reshape(3, 2)
    (yours,) = kata.run(model, {"x": x})

    same(yours, x[2:0:-1], "Slice of 3 rows from 2 to 0, steps [-1], axes left out: rows 2 and 1")


@two
def test_slice_from_before_the_first() -> None:
    """-2 is the last but one. A start too low means the first, backwards too, unlike in Python."""
    node = made("Slice", ["x", "s", "e", "axes", "steps"], ["y"])
    cases = [
        (-2, 3, 1, [2, 3]),
        (-9, -99, -1, [1]),
        (-9, 2, 1, [1, 2]),
        (-3, -99, -2, [1]),
    ]
    for start, end, step, expected in cases:
        values = {"s": [start], "e": [end], "axes": [0], "steps": [step]}
        kept = {name: np.array(value) for name, value in values.items()}
        model = model_of([node], {"x": [3]}, {"y": None}, kept)
        (yours,) = kata.run(model, {"x": numbers(1, 2, 3)})

        what = f"Slice of [1, 2, 3] from {start} to {end}, step {step}: {start} is {expected[0]}"
        same(yours, numbers(*expected), what)


@two
@pytest.mark.time_limit(5)  # a list of the indices would have 2**63
def test_slice_to_the_very_ends() -> None:
    """The smallest and largest int64 stand for "all of it"."""
    low, high = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    ends = {"s": np.array([high, 0]), "e": np.array([low, high])}
    rest = {"axes": np.array([1, 0]), "steps": np.array([-1, 2])}
    node = made("Slice", ["x", "s", "e", "axes", "steps"], ["y"])
    model = model_of([node], {"x": [3, 2]}, {"y": None}, ends | rest)
    x = numbers(1, 2, 3, 4, 5, 6).reshape(3, 2)
    (yours,) = kata.run(model, {"x": x})

    same(yours, x[::2, ::-1], "rows 0 and 2, columns backwards")


@three
def test_reduce_sum() -> None:
    """Axes are an input, and keepdims is 1 unless a node says 0."""
    passes("reducesum", "ReduceSum")


@three
def test_reduce_sum_of_all_dims() -> None:
    """Without axes and attributes every dim is summed, and keeps size 1."""
    model = model_of([made("ReduceSum", ["x"], ["y"])], {"x": [2, 2]}, {"y": None})
    (yours,) = kata.run(model, {"x": numbers(1, 2, 3, 4).reshape(2, 2)})

    same(yours, numbers(10).reshape(1, 1), "ReduceSum of one input, and no attribute")


@three
def test_layer_normalization() -> None:
    """Normalize over all dims from axis on; the mean and 1 / sqrt are returned too."""
    passes("layernormalization", "LayerNormalization")


@three
def test_layer_normalization_without_a_bias() -> None:
    """The third input is optional."""
    node = made("LayerNormalization", ["x", "w"], ["y"], epsilon=0.0)
    model = model_of([node], {"x": [1, 2]}, {"y": None}, {"w": numbers(2, 3)})
    (yours,) = kata.run(model, {"x": numbers(1, 3).reshape(1, 2)})

    same(yours, numbers(-2, 3).reshape(1, 2), "of [1, 3], with scale [2, 3] and epsilon 0")


@four
def test_gemm() -> None:
    """PyTorch's Linear is a Gemm with transB=1."""
    passes("gemm", "Gemm")


@five
def test_if() -> None:
    """Both branches are in the file, but only one runs."""
    passes("if_", "If", but={"if_seq", "if_opt"})


@five
def test_a_branch_sees_names_outside() -> None:
    """A branch has no inputs: it reads values of the graph around it."""
    from onnx import helper  # noqa: PLC0415 - may be missing

    value = helper.make_tensor_value_info("out", 1, None)
    then = helper.make_graph([made("Add", ["h", "w"], ["out"])], "then", [], [value])
    other = helper.make_graph([made("Sub", ["h", "x"], ["out"])], "else", [], [value])
    nodes = [
        made("Mul", ["x", "x"], ["h"]),
        made("Less", ["h", "w"], ["small"]),
        made("If", ["small"], ["y"], then_branch=then, else_branch=other),
    ]
    model = model_of(nodes, {"x": []}, {"y": None}, {"w": np.float32(10)})

    for x, expected, why in ((2, 14, "4 < 10: 4 + 10"), (5, 20, "25 >= 10: 25 - 5")):
        yours = seen(model, {"x": np.float32(x)}, ("x", "h", "w"))
        same(yours, np.float32(expected), why)


@five
def test_loop() -> None:
    """A sum carried from iteration to iteration, and each of its values, stacked."""
    passes("loop", "Loop", but={"loop13_seq", "loop16_seq_none"})


@five
def test_a_loop_that_its_condition_ends() -> None:
    """Double until the limit is reached, with no count; then with a count that ends it first."""
    from onnx import helper  # noqa: PLC0415 - may be missing

    values = [helper.make_tensor_value_info(n, t, []) for n, t in (("i", 7), ("go", 9), ("v", 1))]
    after = [helper.make_tensor_value_info(n, t, []) for n, t in (("on", 9), ("w", 1))]
    body = helper.make_graph(
        [made("Add", ["v", "v"], ["w"]), made("Less", ["w", "limit"], ["on"])],
        "body",
        values,
        after,
    )
    node = made("Loop", ["most", "go_on", "x"], ["y"], body=body)
    for most, go, expected in (("", "", 16), ("two", "yes", 4), ("two", "no", 1)):
        node.input[0], node.input[1] = most, go
        kept = {"limit": np.float32(10), "two": np.int64(2)}
        flags = {"yes": np.bool_(True), "no": np.bool_(False)}  # noqa: FBT003 - values of a graph
        model = model_of([node], {"x": []}, {"y": None}, kept | flags)
        yours = seen(model, {"x": np.float32(1)}, ("limit",))

        why = f"1, doubled until 10, inputs {list(node.input)}"
        same(yours, np.float32(expected), why)


def test_what_pytorch_exports() -> None:
    """A network of yours, as torch.onnx.export writes it."""
    import torch  # noqa: PLC0415 - the other tests need none of it
    from torch import nn  # noqa: PLC0415 - the other tests need none of it

    torch.manual_seed(0)
    layers = (nn.Linear(4, 6), nn.ReLU(), nn.LayerNorm(6), nn.Unflatten(1, (2, 3)))
    model = nn.Sequential(*layers).eval()
    x = torch.randn(5, 4)
    proto = exported(model, (x,)).model_proto
    (yours,) = kata.run(proto, {proto.graph.input[0].name: x.numpy()})

    same(yours, model(x).detach().numpy(), "Linear, ReLU, LayerNorm and a reshape")
