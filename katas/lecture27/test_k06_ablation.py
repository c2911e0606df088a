"""Tests of k06_ablation: tests plant a fault in their own layer, and your tool finds it."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch

from katas.lecture27.k06_ablation import LAYERS
from katas.lecture27.k06_ablation import blame
from katas.lecture27.k06_ablation import observe
from katas.lecture27.k06_ablation import weights
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterator


pytestmark = pytest.mark.time_limit(60)
aten = torch.ops.aten


@pytest.fixture(autouse=True)
def fresh_compiler() -> Iterator[None]:
    """Reset the compiler between tests."""
    yield
    torch.compiler.reset()


def values(*sizes: int, grad: bool = False) -> torch.Tensor:
    """Return irrational numbers."""
    x = torch.arange(torch.Size(sizes).numel(), dtype=torch.float64).sqrt().reshape(sizes)
    return x.requires_grad_(grad)


def rewritten(change: Callable[[torch.fx.Graph], None]) -> Callable[..., Any]:
    """Return a compiler that changes the graph and runs it."""

    def compiler(module: torch.fx.GraphModule, _inputs: object) -> Any:
        from functorch.compile import make_boxed_func  # type: ignore[import-untyped, unused-ignore]  # noqa: PLC0415

        change(module.graph)
        module.recompile()
        return make_boxed_func(module.forward)

    return compiler


def nothing(_graph: torch.fx.Graph) -> None:
    """Leave a graph as it is."""


def swap(old: Any, new: Any) -> Callable[[torch.fx.Graph], None]:
    """Return a pass that calls a different operator."""

    def change(graph: torch.fx.Graph) -> None:
        for node in graph.nodes:
            if node.target is old:
                node.target = new

    return change


def aot(
    forward: Callable[[torch.fx.Graph], None] = nothing,
    backward: Callable[[torch.fx.Graph], None] = nothing,
    decompositions: dict[Any, Callable[..., Any]] | None = None,
) -> Any:
    """Return an AOTAutograd backend with a pass for each of its graphs."""
    from torch._dynamo.backends.common import aot_autograd  # noqa: PLC0415 - takes seconds

    return aot_autograd(
        fw_compiler=rewritten(forward),
        bw_compiler=rewritten(backward),
        decompositions=decompositions or {},
    )


def wrapped(change: Callable[..., Any]) -> Any:
    """Return a backend that runs the graph unchanged, inside a wrapper."""

    def backend(module: torch.fx.GraphModule, _inputs: object) -> Any:
        return lambda *args: change(module, *args)

    return backend


def check(
    f: Callable[..., Any], inputs: list[torch.Tensor], layers: dict[str, Any], expected: str | None
) -> None:
    """Compare the blamed layer."""
    __tracebackhide__ = True
    yours = blame(f, inputs, layers)
    assert yours == expected, f"your code blames {yours!r} of {[*layers]}, expected {expected!r}"


def step(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Return two outputs."""
    z = torch.sin(x) * y
    return z, torch.nn.functional.silu(z).sum(dim=0)


def test_what_is_observed() -> None:
    """Two outputs, a gradient of x and none of y, then x and y afterwards."""
    x, y = values(2, 3, grad=True), values(2, 3) + 1
    with unchanged(x=x, y=y):
        found = observe(step, [x, y])
    outputs = step(x, y)
    grads = torch.autograd.grad(outputs, x, [weights(each) for each in outputs])
    right = [*outputs, *grads, x, y]
    assert len(found) == len(right), (
        f"your code returns {len(found)} tensors, expected {len(right)}"
    )
    for number, (mine, theirs) in enumerate(zip(found, right, strict=True)):
        says = f"tensor {number} of yours is not the expected one\n".__add__
        torch.testing.assert_close(mine, theirs, rtol=0, atol=1e-12, msg=says)


def test_what_it_writes_to() -> None:
    """The copies change, not the inputs, even if no output or no input requires grad."""

    def writes(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (x.add_(1).sum(),)

    def leaf(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        assert x.is_leaf, "you pass f an x with a graph, expected copies that are leaves"
        return (x * 2,)

    y = values(3, grad=True) + 1
    with unchanged(y=y):
        grad = observe(leaf, [y])[1]
    assert grad is not None, "your code returns no gradient for x + 1, which requires grad"
    x = values(3)
    with unchanged(x=x):
        found = observe(writes, [x])
    assert len(found) == 2, (
        f"your code returns {len(found)} tensors, expected the output and x afterwards"
    )
    after = found[1]
    assert after is not None, "your code returns None for x afterwards, expected a tensor"
    assert torch.equal(after, values(3) + 1), f"x afterwards: yours {after}, expected x + 1"

    weight = values(3, grad=True)

    def layer(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (x * weight,)

    def cut(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (x.detach() * 2,)

    for f, x in ((layer, values(3)), (cut, values(3, grad=True))):
        found = observe(f, [x])
        says = f"yours has {len(found)} tensors of {f.__name__}, expected the output and x after it"
        assert len(found) == 2, says


def test_random_numbers() -> None:
    """Each call uses seed 0, and the generator is restored."""

    def noise(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = x * torch.rand(3, dtype=x.dtype)
        y.register_hook(lambda grad: grad * torch.rand(3, dtype=grad.dtype))
        return (y, x.detach() + 1)

    x, unused = values(3, grad=True), values(2, grad=True)
    with unchanged(x=x, unused=unused):
        (first, *_), (again, *_) = observe(noise, [x]), observe(noise, [x])
    assert first is not None, "your code returns None, expected the first output"
    assert again is not None, "your code returns None, expected the first output"
    assert torch.equal(first, again), (
        f"yours {first}, then {again}: expected the same seed for both"
    )
    right = x * torch.rand(3, dtype=x.dtype, generator=torch.Generator().manual_seed(0))
    assert torch.equal(first, right), f"yours {first}, expected {right}, from seed 0"

    def ignores(x: torch.Tensor, _: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (x * 2,)

    grad = observe(ignores, [x, unused])[2]
    assert grad is None, f"the gradient of an unused input: yours {grad}, expected None"


def test_a_healthy_stack() -> None:
    """PyTorch's own layers, without Inductor, which needs a C++ compiler."""
    layers = {name: backend for name, backend in LAYERS.items() if name != "Inductor"}
    check(step, [values(2, 3, grad=True), values(2, 3) + 1], layers, None)


def test_a_pass() -> None:
    """The second layer replaces sin by cos, and so does the third."""
    calls: list[str] = []

    def third(module: torch.fx.GraphModule, _inputs: object) -> Any:
        calls.append("third")
        return module.forward

    layers = {"Dynamo": "eager", "AOT": aot(forward=swap(aten.sin.default, aten.cos.default))}
    check(step, [values(2, 3, grad=True), values(2, 3) + 1], layers | {"third": third}, "AOT")
    assert not calls, "your code compiles the third layer, expected it to stop at the guilty layer"


def test_dynamo() -> None:
    """The program behaves differently while it is compiled."""

    def f(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = x * (3 if torch.compiler.is_compiling() else 2)
        # Here Dynamo breaks the graph.
        return (y + 1 if y.sum() > 0 else y,)

    check(f, [values(3)], {"Dynamo": "eager", "AOT": aot()}, "Dynamo")


def test_a_decomposition() -> None:
    """The faulty layer is a decomposition of silu whose result is slightly too large."""
    wrong = {aten.silu.default: lambda x: x * torch.sigmoid(x) + 1e-7}
    layers = {"Dynamo": "eager", "AOT": aot(), "decompositions": aot(decompositions=wrong)}
    check(step, [values(2, 3) + 1, values(2, 3) + 1], layers, "decompositions")


def test_a_decomposition_that_rounds() -> None:
    """A decomposition that only changes the order of operators is not a fault."""
    other = {aten.silu.default: lambda x: x * torch.sigmoid(x)}
    check(
        step,
        [values(5, 7) + 1, values(5, 7) + 1],
        {"decompositions": aot(decompositions=other)},
        None,
    )


def test_the_backward() -> None:
    """The outputs are right, but a gradient is wrong or None, or all gradients are missing."""
    layers = {"AOT": aot(), "bwd": aot(backward=swap(aten.cos.default, aten.sin.default))}
    check(step, [values(2, 3, grad=True), values(2, 3) + 1], layers, "bwd")

    def one(module: Any, x: torch.Tensor, y: torch.Tensor) -> Any:
        return module(x, y.detach())

    def every(module: Any, x: torch.Tensor, y: torch.Tensor) -> Any:
        return module(x.detach(), y.detach())

    def product(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (x * y,)

    inputs = [values(3, grad=True), values(3, grad=True)]
    for cut in (one, every):
        check(product, inputs, {"Dynamo": "eager", "cut": wrapped(cut)}, "cut")


def test_a_gradient_in_the_wrong_place() -> None:
    """A gradient is reversed, which an output gradient of ones would not show."""

    def flip(graph: torch.fx.Graph) -> None:
        (output,) = (node for node in graph.nodes if node.op == "output")
        (last,) = output.all_input_nodes
        with graph.inserting_before(output):
            new = graph.call_function(aten.flip.default, (last, [0]))
        output.replace_input_with(last, new)

    def double(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (x * 2,)

    check(double, [values(4, grad=True)], {"AOT": aot(), "bwd": aot(backward=flip)}, "bwd")


@pytest.mark.parametrize("size", [0.0, 1e6])
@pytest.mark.parametrize(("off", "expected"), [(0.5e-10, None), (2e-10, "near")])
def test_the_tolerance(size: float, off: float, expected: str | None) -> None:
    """The tolerance is 1e-10 near 0, and 1e-10 relative to a large number."""

    def near(module: Any, *args: torch.Tensor) -> Any:
        return tuple(y + off * max(1.0, size) for y in module(*args))

    def times(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (x * size,)

    check(times, [torch.ones(3, dtype=torch.float64)], {"near": wrapped(near)}, expected)


def test_a_write_that_is_lost() -> None:
    """A pass drops a write to an input: the outputs are still right."""

    def writes(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        z = x + y
        x.copy_(z)
        return (z * 2,)

    def lossy(module: torch.fx.GraphModule, _inputs: object) -> Any:
        for node in list(module.graph.nodes):
            if node.target == "copy_":
                node.replace_all_uses_with(node.args[0])
                module.graph.erase_node(node)
        module.recompile()
        return module.forward

    check(writes, [values(3), values(3) + 1], {"Dynamo": "eager", "lossy": lossy}, "lossy")


def test_nan() -> None:
    """NaN agrees with NaN; NaN in place of a number is a fault."""

    def root(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (torch.sqrt(x - 1),)

    check(root, [values(4)], {"Dynamo": "eager", "AOT": aot()}, None)
    layers = {"Dynamo": "eager", "log": aot(forward=swap(aten.sqrt.default, aten.log.default))}
    check(root, [values(4) * 0 + 1], layers, "log")


def test_a_dtype() -> None:
    """Right values in a different dtype or shape are a fault."""

    def narrow(module: torch.fx.GraphModule, _inputs: object) -> Any:
        return lambda *args: tuple(y.to(torch.float32) for y in module(*args))

    def double(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (x * 2,)

    check(double, [torch.ones(3, dtype=torch.float64)], {"narrow": narrow}, "narrow")

    def row(module: Any, *args: torch.Tensor) -> Any:
        return tuple(y[None] for y in module(*args))

    check(double, [values(3)], {"row": wrapped(row)}, "row")


def test_a_layer_that_raises() -> None:
    """An error while running or compiling is not a difference; the generator is restored."""

    def backend(_module: torch.fx.GraphModule, _inputs: object) -> Any:
        def run(*_args: object) -> Any:
            raise AssertionError("the layer of the test")

        return run

    def double(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (x * 2,)

    def no_backend(_module: torch.fx.GraphModule, _inputs: object) -> Any:
        raise AssertionError("the layer of the test")

    for raises in (backend, no_backend):
        with (
            unchanged(),
            pytest.raises(Exception, match="the layer of the test"),
        ):
            pytest.fail(
                f"you blame {blame(double, [values(3)], {'raises': raises})!r}, expected the error"
            )


def test_again() -> None:
    """A healthy layer breaks later, and then the tenth of ten: do not trust old compiled code."""
    factor = [2.0]

    def backend(_module: torch.fx.GraphModule, _inputs: object) -> Any:
        now = factor[0]
        return lambda x: (x * now,)

    def double(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (x * 2,)

    check(double, [values(3)], {"backend": backend}, None)
    factor[0] = 3.0
    check(double, [values(3)], {"backend": backend}, "backend")

    # Dynamo gives up on a function after compiling it eight times.
    def same(module: Any, *args: torch.Tensor) -> Any:
        return module(*args)

    def more(module: Any, *args: torch.Tensor) -> Any:
        return tuple(y + 1 for y in module(*args))

    layers = {f"layer {number}": wrapped(same) for number in range(9)}
    check(double, [values(3)], {**layers, "tenth": wrapped(more)}, "tenth")
