"""Tests of k36_inductor_pass: patterns, and the pass that Inductor calls."""

from __future__ import annotations

import importlib.util
import inspect
import os
import pickle
import subprocess
import sys
from contextlib import ExitStack
from contextlib import contextmanager
from functools import cache
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from expecttest import assert_expected_inline
from torch import fx
from torch._subclasses import FakeTensor
from torch.fx.experimental.proxy_tensor import make_fx

from plugins.kit import graph_text
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterator
    from pathlib import Path
    from types import ModuleType

    Function = Callable[..., Any]

# Inductor gives this warning itself, when it builds its own patterns.
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script_method` is deprecated")


aten = torch.ops.aten


FUSED = aten._addmm_activation.default  # noqa: SLF001 - its only name


def kata() -> ModuleType:
    """Return the exercise. It imports Inductor, which collecting the tests should not wait for."""
    return import_module("katas.lecture10.k36_inductor_pass")


def inductors(name: str) -> ModuleType:
    """Return one of Inductor's modules."""
    return import_module(f"torch._inductor.{name}")


def fuse(graph: fx.Graph) -> int:
    """Run the pass that is made of patterns."""
    return kata().patterns().apply(graph)


def declared(graph: fx.Graph) -> int:
    """Run the pass that is made of patterns."""
    return kata().patterns().apply(graph)


WAYS = [pytest.param(fuse, id="by_patterns")]


def inputs(dtype: torch.dtype = torch.float32) -> tuple[torch.Tensor, ...]:
    """Return x, w and a bias for ``x @ w + bias``, of shape (4, 6)."""
    return tuple(torch.randn(*s).to(dtype) for s in ((4, 5), (5, 6), (6,)))


def traced(function: Function, *args: torch.Tensor) -> fx.GraphModule:
    """Return a graph of ATen's operators, with fake tensors on its nodes."""
    return make_fx(function, tracing_mode="fake")(*args)


def check(
    way: Function, function: Function, *args: torch.Tensor, found: int, why: str = ""
) -> fx.GraphModule:
    """Run a pass on the graph of a function; compare the count, the results and the graph."""
    gm = traced(function, *args)
    before, metas = graph_text(gm), {node: dict(node.meta) for node in gm.graph.nodes}
    with unchanged(args=args):
        actual = way(gm.graph)
    text = f"\n\nbefore:\n{before}\n\nafter:\n{graph_text(gm)}"
    calls = [node for node in gm.graph.nodes if node.target is FUSED]

    assert found == actual, (
        f"{actual} chains were replaced, expected {found}{why and f': {why}'}{text}"
    )
    assert found == len(calls), (
        f"the graph calls the new operator {len(calls)} times, expected {found}{text}"
    )
    if not found:
        assert before == graph_text(gm), f"leave the chain as it was{text}"
    for node in gm.graph.nodes:
        changed = [k for k, old in metas.get(node, {}).items() if node.meta.get(k) is not old]
        assert [] == changed, f"the meta of {node} now has a different {', '.join(changed)}{text}"
    gm.graph.lint()
    gm.recompile()
    expected, result = function(*(x.clone() for x in args)), gm(*(x.clone() for x in args))
    torch.testing.assert_close(result, expected, msg=lambda m: f"{m}{text}")
    return gm


def dense(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """One ATen node for product and sum, then the ReLU."""
    return torch.addmm(b, x, w).relu()


def summed(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Two nodes for product and sum."""
    return (x @ w + b).relu()


def summed_to(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Pass the bias as the first argument."""
    return (b + x @ w).relu()


CHAINS = [dense, summed, summed_to]


@pytest.mark.parametrize("function", [summed, summed_to])
def test_a_product_and_a_sum_are_an_addmm(function: Function) -> None:
    """On either side of the sum; three nodes become one."""
    gm = check(fuse, function, *inputs(), found=1)

    assert_expected_inline(
        graph_text(gm),
        """\
x_1 = input
w_1 = input
b_1 = input
_addmm_activation = aten._addmm_activation.default(b_1, x_1, w_1)
return _addmm_activation""",
    )


@pytest.mark.parametrize("way", WAYS)
def test_what_others_need_is_not_computed_twice(way: Function) -> None:
    """Here an inner value is an output, is used by another node, or is added to itself."""

    def uses_product(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> Any:
        product = x @ w
        return (product + b).relu(), product.sin()

    def returns_sum(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> Any:
        total = x @ w + b
        return total.relu(), total

    def uses_addmm(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> Any:
        total = torch.addmm(b, x, w)
        return total.relu() + total

    def doubles(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> Any:
        product = x @ w
        return (product + product).relu()

    def two_relus(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> Any:
        total = x @ w + b
        return total.relu(), total.relu()

    for function in (uses_product, returns_sum, uses_addmm, doubles, two_relus):
        check(way, function, *inputs(), found=0)


@pytest.mark.parametrize("way", WAYS)
def test_several_chains(way: Function) -> None:
    """Chains may follow each other, or be side by side."""

    def network(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> Any:
        y = dense(x, w, b)
        z = summed_to(y, w.t(), b[0])
        return summed(z, w, b) + summed(x, w, b)

    check(way, network, *inputs(), found=4)


@pytest.mark.parametrize("way", WAYS)
def test_a_bias_is_a_tensor(way: Function) -> None:
    """A number may be added, but cannot be an argument of the new operator."""
    check(way, lambda x, w, b: (x @ w + 2.5).relu(), *inputs(), found=0)


@pytest.mark.parametrize("way", WAYS)
def test_strides_stay(way: Function) -> None:
    """A sum has the strides of its first argument; the new operator's result is contiguous."""
    x, w, _ = inputs()
    across = torch.randn(6, 4).t()

    check(way, summed_to, x, w, across, found=0)
    gm = check(way, summed, x, w, across, found=1)
    assert (6, 1) == gm(x, w, across).stride(), (
        "the product comes first in the sum, so the result should have its strides"
    )


def writes_to_operand(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Change an operand between product and sum."""
    product = x @ w
    x.mul_(2)
    return (product + b).relu()


def writes_to_bias(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Change the bias between sum and ReLU."""
    total = x @ w + b
    b.zero_()
    return total.relu()


def writes_to_addmm(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Change an operand between addmm and ReLU."""
    total = torch.addmm(b, x, w)
    w.zero_()
    return total.relu()


def writes_to_product(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Let the sum itself write."""
    return (x @ w).add_(b).relu()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "function", [writes_to_operand, writes_to_bias, writes_to_addmm, writes_to_product]
)
def test_no_product_moves_past_a_write(function: Function, way: Function) -> None:
    """The new node comes later than the product did, and would read what was written."""
    check(way, function, *inputs(), found=0)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("function", CHAINS)
def test_the_new_node_has_the_meta_of_the_relu(function: Function, way: Function) -> None:
    """Later passes read the value, people read the stack trace."""
    gm = traced(function, *inputs())
    (relu,) = gm.graph.find_nodes(op="call_function", target=aten.relu.default)
    old, value = relu.meta, relu.meta["val"]
    old["stack_trace"] = "File model.py, line 7"
    way(gm.graph)
    (node,) = (node for node in gm.graph.nodes if node.target is FUSED)

    assert "val" in node.meta, "the new node has no meta['val']: the next pass would fail"
    assert isinstance(node.meta["val"], FakeTensor), (
        f"meta['val'] is a {type(node.meta['val']).__name__}, expected the fake tensor of the ReLU"
    )
    assert (value.shape, value.stride(), value.dtype) == (
        node.meta["val"].shape,
        node.meta["val"].stride(),
        node.meta["val"].dtype,
    ), (
        "meta['val'] has shape, strides and dtype "
        f"{(node.meta['val'].shape, node.meta['val'].stride(), node.meta['val'].dtype)}, the "
        f"ReLU's {(value.shape, value.stride(), value.dtype)}"
    )
    assert "File model.py, line 7" == node.meta.get("stack_trace"), (
        "keep the ReLU's stack trace: errors show it"
    )
    assert old is not node.meta, "the new node shares the ReLU's meta: give it a copy"


@pytest.mark.parametrize("keyword", ["beta", "alpha"])
def test_a_pattern_does_not_see_keywords(keyword: str) -> None:
    """In torch 2.13 a pattern also matches calls with keywords, whose factors would be lost."""
    x, w, b = inputs()
    scaled = partial(torch.addmm, **{keyword: 2})
    why = f"addmm has {keyword}=2, which your operator would lose"
    check(declared, lambda x, w, b: scaled(b, x, w).relu(), x, w, b, found=0, why=why)
    why = "add has alpha=2, which your operator would lose"
    check(declared, lambda x, w, b: torch.add(x @ w, b, alpha=2).relu(), x, w, b, found=0, why=why)


def test_each_pass_of_patterns_is_a_new_one() -> None:
    """It has patterns that end in a ReLU, and none of them is in Inductor's own registries."""
    first, second = kata().patterns(), kata().patterns()

    assert first is not second, (
        "the same pass is returned twice: return a new one, since a PatternMatcherPass can be "
        "extended"
    )
    assert isinstance(first, inductors("pattern_matcher").PatternMatcherPass), (
        f"patterns returns a {type(first).__name__}, expected a PatternMatcherPass"
    )
    entries = [entry for group in first.patterns.values() for entry in group]
    assert [] != entries, "the pass has no patterns: register what it looks for"
    assert {("call_function", aten.relu.default)} == set(first.patterns), (
        "patterns are registered under their last node, which should be the ReLU"
    )


def test_the_pass_counts_over_all_graphs() -> None:
    """Inductor calls it once for each graph."""
    custom = kata().FuseLinear()

    assert isinstance(custom, inductors("custom_graph_pass").CustomGraphPass), (
        "FuseLinear is not a CustomGraphPass: Inductor needs one to ask for its uuid"
    )
    assert 0 == custom.fused, f"a new pass already counts {custom.fused} fused chains, expected 0"
    for expected in (1, 2):
        gm = traced(dense, *inputs())
        assert None is custom(gm.graph), (
            "the pass returned a value: a CustomGraphPass changes the graph it is given and "
            "returns None"
        )
        assert expected == custom.fused, (
            f"{custom.fused} chains counted after {expected} graphs with one chain each"
        )
        assert FUSED in {node.target for node in gm.graph.nodes}, (
            "the graph has no fused operator: the pass changes the graph it is given"
        )
    exact = kata().FuseLinear(24)
    exact(traced(dense, *inputs()).graph)
    assert 1 == exact.fused, "expected 1 fused chain: 24 elements are not fewer than 24"
    x, w, b = inputs()
    empty = traced(dense, x[:0], w, b).graph
    assert 1 == kata().patterns().apply(empty), (
        "expected 1 fused chain: 0 elements are not fewer than 0"
    )
    large = kata().FuseLinear(25)
    large(traced(dense, *inputs()).graph)
    assert 0 == large.fused, (
        "expected no fused chain: the result has 24 elements, and `smallest` is 25"
    )


def test_the_uuid_tells_passes_apart() -> None:
    """The uuid depends on what passes do, not on what they have done, and can be pickled."""
    FuseLinear = kata().FuseLinear
    first, second, other = FuseLinear(), FuseLinear(), FuseLinear(25)
    first(traced(dense, *inputs()).graph)

    assert first.uuid(), "the uuid is falsy, which turns the cache off"
    assert first.uuid() == first.uuid(), "the same pass has two different uuids"
    assert first.uuid() == second.uuid(), (
        "two equal passes have different uuids: the second should find the cached graph"
    )
    assert first.uuid() == FuseLinear(0).uuid(), (
        "the uuid should be that of FuseLinear(0): `smallest` is 0 by default"
    )
    assert first.uuid() != other.uuid(), (
        "the uuids are equal, but a different `smallest` makes a different graph"
    )
    assert FuseLinear(2).uuid() != FuseLinear(3).uuid(), (
        "the uuids are equal, but a different `smallest` makes a different graph"
    )
    assert first.uuid() == pickle.loads(pickle.dumps(first.uuid())), (  # noqa: S301 - our own
        "the uuid changes when it is pickled, but it is part of a pickled key"
    )


def test_the_uuid_is_the_same_in_another_process(pytestconfig: pytest.Config) -> None:
    """In another process, hashes of strings, addresses, times and process ids are different."""
    module = "katas.lecture10.k36_inductor_pass"
    program = f"import pickle; from {module} import FuseLinear as F; u = [F().uuid(), F(7).uuid()]"
    found = subprocess.run(  # noqa: S603 - our own
        [sys.executable, "-W", "ignore", "-c", f"{program}; print(pickle.dumps(u).hex())"],
        cwd=pytestconfig.rootpath,
        env={**os.environ, "PYTHONHASHSEED": "4711"},
        capture_output=True,
        text=True,
        check=False,
    )
    if found.returncode:
        raise AssertionError(found.stderr)
    theirs = pickle.loads(bytes.fromhex(found.stdout))  # noqa: S301 - our own
    FuseLinear = kata().FuseLinear
    ours = [FuseLinear().uuid(), FuseLinear(7).uuid()]

    assert theirs == ours, (
        f"uuids here {ours}, in another process {theirs}: no graph would ever be found on disk. "
        "hash() of a string differs from process to process"
    )


def test_the_uuid_changes_with_the_file(tmp_path: Path) -> None:
    """An improved pass with the old uuid would never run: the old graph is still in the cache."""
    text = inspect.getsource(kata())
    found = []
    for name, more in (("first", ""), ("second", ""), ("edited", "\n# Another version.\n")):
        file = tmp_path / name / "k15_post_grad.py"
        file.parent.mkdir()
        file.write_text(text + more, encoding="utf-8")
        spec = importlib.util.spec_from_file_location(f"k15_{name}", file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        try:
            spec.loader.exec_module(module)
            found.append(module.FuseLinear().uuid())
        finally:
            del sys.modules[spec.name]

    assert found[0] == found[1], (
        "the uuids differ for the same text in different files: the path must not matter"
    )
    assert found[0] != found[2], (
        "the file was edited but the uuid is the same: hash the text of the file"
    )


@contextmanager
def caching(*, on: bool) -> Iterator[None]:
    """Let Inductor look for compiled graphs on disk, or not."""
    autograd = import_module("torch._functorch.config")
    with ExitStack() as stack:
        stack.enter_context(autograd.patch(enable_autograd_cache=on))
        stack.enter_context(inductors("config").patch(fx_graph_cache=on))
        yield


@cache
def spy_class() -> type[Any]:
    """Return a class of passes that record what Inductor gave them."""

    class Spy(kata().FuseLinear):
        """Records what Inductor gave it."""

        def __init__(self, smallest: int = 0) -> None:
            super().__init__(smallest)
            self.seen: list[str] = []

        def __call__(self, graph: fx.Graph) -> None:
            """Record the operators, then run the pass."""
            calls = (node for node in graph.nodes if node.op == "call_function")
            self.seen.append(", ".join(str(node.target) for node in calls))
            super().__call__(graph)

    return Spy


def layers(
    x: torch.Tensor, w: torch.Tensor, b: torch.Tensor, v: torch.Tensor, c: torch.Tensor
) -> torch.Tensor:
    """Two linear layers, each with a ReLU."""
    return (((x @ w) + b).relu() @ v + c).relu()


def layer_inputs() -> tuple[torch.Tensor, ...]:
    """Return inputs for `layers`: both results are (4, 6)."""
    return tuple(torch.randn(*size) for size in ((4, 6), (6, 6), (6,), (6, 6), (6,)))


@pytest.mark.backend("inductor")
@pytest.mark.time_limit(300)  # a kernel that the pass leaves is C++ that has to be compiled
def test_inductor_runs_the_pass(inductor: None) -> None:
    """The pass runs after Inductor's own, on the graph with addmm, only for this function."""
    spy = spy_class()()
    args = layer_inputs()
    with caching(on=False):
        run = kata().compiled(layers, spy)
        assert [] == spy.seen, (
            "something was compiled already: torch.compile alone compiles nothing"
        )
        torch.testing.assert_close(run(*args), layers(*args))

    assert ["aten.addmm.default, aten.relu.default, aten.addmm.default, aten.relu.default"] == (
        spy.seen
    ), (
        "expected one run, after Inductor has turned mm and add into addmm: use "
        "post_grad_custom_post_pass"
    )
    assert 2 == spy.fused, f"{spy.fused} chains were replaced, expected 2: the graph has two layers"
    assert None is inductors("config").post_grad_custom_post_pass, (
        "the pass is still in Inductor's configuration and would run for everybody: pass it to "
        "torch.compile"
    )


@pytest.mark.backend("inductor")
@pytest.mark.time_limit(300)  # a kernel that the pass leaves is C++ that has to be compiled
def test_a_cached_graph_needs_no_pass(
    inductor: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """An equal pass is no longer called; one with a different uuid is."""
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    dynamo, Spy = import_module("torch._dynamo"), spy_class()
    args, called = layer_inputs(), []
    with caching(on=True):
        for spy in (Spy(), Spy(), Spy(1)):
            dynamo.reset()  # forget it, as a new process would
            torch.testing.assert_close(kata().compiled(layers, spy)(*args), layers(*args))
            called.append(len(spy.seen))

    assert [1, 0, 1] == called, (
        f"called {called} times, expected [1, 0, 1]: a new pass, an equal one, one with a "
        f"different `smallest`"
    )


@pytest.mark.backend("inductor")
def test_fewer_kernels_are_generated(inductor: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the pass there is a loop for each ReLU; with it none, however often you ask."""
    metrics, kernels = inductors("metrics"), kata().kernels
    args = layer_inputs()
    # Kernels are counted when their source is written: compiling it would take half a minute.
    compiler = inductors("async_compile").AsyncCompile
    monkeypatch.setattr(compiler, "cpp_pybinding", lambda *_, **__: lambda *_: None)
    with caching(on=False), inductors("config").patch({"cpp.vec_isa_ok": False}):
        monkeypatch.setattr(metrics, "generated_kernel_count", 5)
        found = [kernels(layers, custom, *args) for custom in (None, kata().FuseLinear(), None)]

    assert [2, 0, 2] == found, (
        f"kernels without, with and without the pass: {found}, expected [2, 0, 2]"
    )
    assert 5 + 4 == metrics.generated_kernel_count, (
        "Inductor's kernel count was reset: others use it too, so leave it alone"
    )
