"""Tests of k29_evaluate: every operation at once, against torch."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.fx import Interpreter
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn.attention import SDPBackend
from torch.nn.attention import sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode

import katas.lecture10.k29_evaluate as kata
from katas.lecture10.k29_evaluate import evaluate
from katas.lecture10.loops import Buffer
from katas.lecture10.loops import Handler
from katas.lecture10.loops import Pointwise
from katas.lecture10.loops import Reduction
from katas.lecture10.loops import handling
from katas.lecture10.loops import ops
from katas.lecture10.loops import pointwise
from plugins.kit import forbids
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence

X = Buffer("x", (3, 4), (4, 1))


ROW = Buffer("row", (4,), (1,))


Y = Buffer("y", (3, 4), (4, 1))


ROW_OF_Y = Buffer("y", (4,), (1,))


class Texts(Handler):
    """A value is the whole expression, as text: the oracle for what a body computes."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def default(self, name: str, args: tuple[Any, ...]) -> str:
        """Record the expression and return it."""
        self.calls.append(f"{name}({', '.join(map(str, args))})")
        return self.calls[-1]


class Operators(TorchDispatchMode):
    """The operators that run, and the elements of the largest result."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.largest = 0

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Record the operator, and run it."""
        result = func(*args, **(kwargs or {}))
        self.names.append(str(func).split(".")[1])
        if isinstance(result, torch.Tensor):
            self.largest = max(self.largest, result.numel())
        return result


def storage(*names: str) -> dict[str, torch.Tensor]:
    """Return a flat tensor of twelve numbers for each name."""
    return {name: torch.randn(12, dtype=torch.float64) for name in names}


def constant(value: float) -> Pointwise:
    """Return loops over nothing, whose value is a constant."""
    return Pointwise((), lambda _: ops.constant(value))


def row_reduction(kind: str, x: Buffer | Pointwise) -> Reduction:
    """Return the reduction of a tensor along its last dim."""
    load = x.make_loader()
    return Reduction(x.size[:-1], x.size[-1:], kind, lambda index, rindex: load([*index, *rindex]))


def transposed(x: Buffer | Pointwise) -> Pointwise:
    """Return a tensor with its dims reversed: no data moves, only the index changes."""
    load = x.make_loader()
    return Pointwise(x.size[::-1], lambda index: load(index[::-1]))


def test_a_kernel_is_evaluated() -> None:
    """Every operation of the table, against torch."""
    memory = storage("x", "y")
    x, y = memory["x"].reshape(3, 4), memory["y"].reshape(3, 4)
    cases: dict[str, torch.Tensor] = {
        "add": x + y,
        "sub": x - y,
        "mul": x * y,
        "truediv": x / y,
        "maximum": torch.maximum(x, y),
        "minimum": torch.minimum(x, y),
        "neg": -x,
        "abs": x.abs(),
        "exp": x.exp(),
        "tanh": x.tanh(),
        "erf": x.erf(),
    }
    for name, expected in cases.items():
        inputs = (X, Y) if name in {"add", "sub", "mul", "truediv", "maximum", "minimum"} else (X,)
        check(pointwise(name, *inputs), memory, expected, name)
    check(
        pointwise("where", pointwise("ge", X, Y), X, ROW_OF_Y), memory, torch.where(x >= y, x, y[0])
    )
    check(pointwise("log", pointwise("abs", X)), memory, x.abs().log())
    check(pointwise("sqrt", pointwise("abs", X)), memory, x.abs().sqrt())


def check(
    kernel: Pointwise | Reduction,
    memory: dict[str, torch.Tensor],
    expected: torch.Tensor,
    what: str = "",
) -> None:
    """Assert that a kernel evaluates to a tensor."""
    with unchanged(memory=memory):
        got = evaluate(kernel, memory)
    assert expected.shape == got.shape, (
        f"{what}: your result has sizes {list(got.shape)}, expected {list(expected.shape)}"
    )
    # All data is float64: what went through float32 differs by 1e-8.
    torch.testing.assert_close(
        got, expected, rtol=1e-12, atol=1e-12, msg=lambda text: f"{what}: {text}"
    )


def test_a_result_has_the_size_of_the_loops() -> None:
    """Even if the body depends on one loop or on none, the result is new, contiguous memory."""
    memory = storage("x")
    column = Pointwise((3, 4), lambda index: ops.load("x", index[0]))
    check(column, memory, memory["x"][:3, None].expand(3, 4), "one of two loops")
    sevens = Pointwise((2, 3), lambda index: ops.constant(7.0))
    check(sevens, memory, torch.full((2, 3), 7.0, dtype=torch.float64), "a constant")
    first = Buffer("x", (), ())
    check(Pointwise((), first.make_loader()), memory, memory["x"][0], "no loops")
    check(Pointwise((0, 4), X.make_loader()), memory, memory["x"][:0].reshape(0, 4), "no iteration")

    for kernel in (column, sevens, Pointwise((), first.make_loader()), transposed(X)):
        before = memory["x"].clone()
        got = evaluate(kernel, memory)
        contiguous = got.is_contiguous()
        assert contiguous, "expected a contiguous result, as a kernel fills a contiguous buffer"
        got.zero_()
        assert torch.equal(before, memory["x"]), (
            "writing to the result changed memory: the result is a view of what it was read from"
        )
    assert {"x"} == memory.keys(), "memory has changed: evaluate only returns the result"


def test_a_reduction_is_evaluated() -> None:
    """A reduction reduces only the one or two inner loops; the body is evaluated for all loops."""
    memory = storage("x")
    x = memory["x"].reshape(3, 4)
    check(row_reduction("sum", X), memory, x.sum(1), "sum")
    check(row_reduction("max", pointwise("neg", X)), memory, (-x).amax(1), "max")
    load = X.make_loader()
    both = Reduction((), (3, 4), "max", lambda _, rindex: load(rindex))
    check(both, memory, x.max(), "over two loops")
    swapped = Reduction((4,), (3,), "sum", lambda index, rindex: load([*rindex, *index]))
    check(swapped, memory, x.sum(0), "along the other dim")
    ones = Reduction((3,), (4, 2), "sum", lambda index, rindex: ops.constant(1.0))
    check(ones, memory, torch.full((3,), 8.0, dtype=torch.float64), "eight iterations each add 1")


def test_evaluation_is_one_call_for_each_operation() -> None:
    """Twelve elements take one exp, and no tensor is larger than the loops."""
    kernel = pointwise("exp", pointwise("maximum", pointwise("tanh", X), ROW))
    memory = storage("x", "row")
    with Operators() as log:
        evaluate(kernel, memory)

    for name in ("exp", "maximum", "tanh"):
        got = log.names.count(name)
        assert 1 == got, (
            f"{name} ran {got} times, expected once: a value holds all iterations at once"
        )
    assert 12 >= log.largest, (
        f"you create a tensor of {log.largest} elements, for loops of 12 iterations"
    )

    twice = pointwise("exp", X)
    with Operators() as log:
        evaluate(pointwise("add", twice, twice), memory)
    got = log.names.count("exp")
    assert 2 == got, f"exp ran {got} times, expected 2, as often as the body calls it"


FOUR: dict[str, Callable[[Pointwise], Any]] = {
    "evaluate": lambda kernel: evaluate(kernel, {"x": torch.ones(12, dtype=torch.float64)}),
}


@pytest.mark.parametrize("name", FOUR)
def test_the_body_runs_once(name: str) -> None:
    """The body is not run once for each element: one run describes all elements."""
    runs = []

    def body(index: Sequence[Any]) -> Any:
        runs.append(len(index))
        return X.make_loader()(index)

    FOUR[name](Pointwise((3, 4), body))

    assert [2] == runs, (
        f"{name} ran the body {len(runs)} times, with {runs} variables, expected once, with 2"
    )


@pytest.mark.parametrize("name", FOUR)
def test_no_handler_is_left_behind(name: str) -> None:
    """Even if the body raises, the handler is removed and the previous one restored."""

    def body(index: Sequence[Any]) -> Any:
        ops.constant(1.0)
        raise ValueError("in the body")

    with handling(Texts()):
        with pytest.raises(ValueError, match="in the body"):
            FOUR[name](Pointwise((3, 4), body))
        assert "neg(1)" == ops.neg(1), f"{name} leaves its handler installed when a body raises"
        FOUR[name](Pointwise((3, 4), X.make_loader()))
        assert "neg(1)" == ops.neg(1), f"{name} leaves its handler installed"


UNARY = ("neg", "abs", "tanh", "erf")


BINARY = ("add", "sub", "mul", "maximum", "minimum")


@st.composite
def programs(draw: st.DrawFn) -> tuple[Any, dict[str, torch.Tensor], torch.Tensor]:
    """Draw a kernel over broadcast and permuted buffers, with its memory and torch's result."""
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    memory: dict[str, torch.Tensor] = {}
    values: list[tuple[Buffer | Pointwise, torch.Tensor]] = []
    generator = torch.Generator().manual_seed(draw(st.integers(0, 999)))
    for name in "xy":
        kept = sizes[draw(st.integers(0, len(sizes) - 1)) :]
        size = tuple(draw(st.sampled_from((n, 1))) for n in kept)
        stride = tuple(draw(st.integers(0, 3)) for _ in size)
        memory[name] = torch.randn(12 + 1, generator=generator, dtype=torch.float64)
        values.append((Buffer(name, size, stride), memory[name].as_strided(size, stride)))
    for _ in range(draw(st.integers(1, 5))):
        name = draw(st.sampled_from(UNARY + BINARY))
        chosen = [draw(st.sampled_from(values)) for _ in range(1 + (name in BINARY))]
        function = getattr(torch, name) if hasattr(torch, name) else getattr(torch.special, name)
        result = function(*(tensor for _, tensor in chosen))
        values.append((pointwise(name, *(loops for loops, _ in chosen)), result))
    loops, expected = values[-1]
    if draw(st.booleans()):
        loops, expected = transposed(loops), expected.permute(*range(expected.dim())[::-1])
    kind = draw(st.sampled_from(("none", "sum", "max")))
    if kind != "none":
        loops = row_reduction(kind, loops)
        expected = expected.sum(-1) if kind == "sum" else expected.amax(-1)
    return loops, memory, expected


@given(data=st.data())
def test_any_program(data: st.DataObject) -> None:
    """Random kernels over broadcast and permuted buffers compute what torch does."""
    kernel, memory, expected = data.draw(programs())
    torch.testing.assert_close(evaluate(kernel, memory), expected)


class Lowering(Interpreter):
    """Runs a graph of ATen operators as loops where it can, and calls them otherwise."""

    BINARY = ("add", "sub", "mul", "div")
    UNARY = ("exp", "tanh", "neg", "erf")

    def __init__(self, graph: Any) -> None:
        super().__init__(graph)
        self.memory: dict[str, torch.Tensor] = {}
        self.kernels: list[Pointwise | Reduction] = []
        self.lowered = 0

    def buffer(self, tensor: torch.Tensor) -> Buffer:
        """Give a tensor a name, and put its values in memory."""
        name = f"buf{len(self.memory)}"
        size, stride = tuple(tensor.shape), tensor.contiguous().stride()
        self.memory[name] = tensor.contiguous().reshape(-1)
        return Buffer(name, size, stride)

    def realize(self, x: Any) -> Any:
        """Turn loops into a buffer, by running them as a kernel."""
        if not isinstance(x, Pointwise | Reduction):
            return x
        self.kernels.append(x)
        return self.buffer(evaluate(x, self.memory))

    def tensor(self, x: Any) -> Any:
        """Return the tensor of a value, for an operator that is not lowered."""
        if isinstance(x, Buffer | Pointwise | Reduction):
            x = self.realize(x)
            return self.memory[x.name].reshape(x.size)
        return x

    def value(self, x: Any) -> Any:
        """Return the loops of a value: a tensor is a buffer, a number a constant."""
        if isinstance(x, torch.Tensor):
            return self.buffer(x)
        return constant(float(x)) if isinstance(x, int | float) else x

    def reduce(self, kind: str, x: Any) -> Buffer:
        """Reduce the last dim, keep it with size 1, and realize the result, as Inductor does."""
        result = self.realize(row_reduction(kind, x))
        return Buffer(result.name, (*result.size, 1), (*result.stride, 1))

    def softmax(self, x: Any) -> Pointwise:
        """Three kernels: the largest, the sum, and the quotient."""
        shifted = pointwise("exp", pointwise("sub", x, self.reduce("max", x)))
        return pointwise("truediv", shifted, self.reduce("sum", shifted))

    def layer_norm(self, x: Any, sizes: Any, weight: Any, bias: Any, eps: float) -> Pointwise:
        """Three kernels: the mean, the variance, and the rest."""
        one = constant(1 / sizes[0])
        mean = pointwise("mul", self.reduce("sum", x), one)
        centred = pointwise("sub", x, mean)
        square = self.reduce("sum", pointwise("mul", centred, centred))
        variance = pointwise("add", pointwise("mul", square, one), constant(eps))
        scaled = pointwise("truediv", centred, pointwise("sqrt", variance))
        return pointwise("add", pointwise("mul", scaled, weight), bias)

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
        """Lower one node, or call it on tensors."""
        name = getattr(target, "__name__", "").split(".")[0]
        values = [self.value(x) for x in args]
        self.lowered += 1
        if name in self.BINARY + self.UNARY and not kwargs:
            return pointwise("truediv" if name == "div" else name, *values)
        if name == "relu":
            return pointwise("maximum", values[0], constant(0.0))
        if name in {"softmax", "_softmax", "_safe_softmax"}:
            return self.softmax(values[0])
        if name == "native_layer_norm":
            normal = self.layer_norm(values[0], args[1], values[2], values[3], args[4])
            return normal, None, None
        self.lowered -= 1
        if target.__module__ == "_operator":
            return target(*args)
        result = target(*(self.tensor(x) for x in args), **kwargs)
        return self.buffer(result) if isinstance(result, torch.Tensor) else result


def test_the_loops_of_a_transformer_layer(zoo: Callable[..., Any]) -> None:
    """Its softmax, layer norms, ReLU and additions are loops; nothing of Inductor is called."""
    model, (x,) = zoo("transformer")
    model, x = model.double(), x.double()
    # As it is written, not as one operator for the layer (its parameters require grad), or for
    # its attention (there is a softmax in it).
    with sdpa_kernel(SDPBackend.MATH):
        lowering = Lowering(make_fx(model)(x))
    with torch.no_grad():
        got = lowering.tensor(lowering.run(x))

    torch.testing.assert_close(got, model(x).detach())
    assert lowering.lowered >= 5, (
        "expected at least 5 lowered operators: a softmax, two norms, a ReLU, additions"
    )
    with forbids(kata, "torch._inductor") as fresh:
        fresh.evaluate(Pointwise((3, 4), X.make_loader()), storage("x"))
