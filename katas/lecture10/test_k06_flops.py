"""Tests of k06_flops: the rule for each operator, and the rows of graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch
import torch.fx.passes.fake_tensor_prop
import torch.fx.passes.shape_prop
from expecttest import assert_expected_inline
from hypothesis import given
from hypothesis import strategies as st
from torch import fx
from torch import nn
from torch.nn.attention import SDPBackend
from torch.nn.attention import sdpa_kernel
from torch.utils import flop_counter

from katas.lecture10 import k06_flops as kata
from katas.lecture10.k06_flops import flops
from katas.lecture10.k06_flops import profile
from plugins.kit import forbids
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable

aten = torch.ops.aten


def counted(function: Callable[..., Any], *inputs: Any) -> int:
    """Return PyTorch's count for a real run, with attention split into products."""
    with flop_counter.FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        function(*inputs)
    return counter.get_total_flops()


def total(module: fx.GraphModule, *inputs: Any) -> int:
    """Return the learner's sum over all nodes."""
    return sum(row.flops for row in profile(module, *inputs).values())


def leaves(value: Any) -> list[torch.Tensor]:
    """Return the tensors in a value, in order."""
    if isinstance(value, list | tuple):
        return [tensor for item in value for tensor in leaves(item)]
    return [value] if isinstance(value, torch.Tensor) else []


class Recorder(fx.Interpreter):
    """PyTorch's interpreter on real values, which records shapes and dtypes."""

    def __init__(self, module: fx.GraphModule) -> None:
        super().__init__(module)
        self.seen: dict[fx.Node, tuple[Any, Any]] = {}

    def run_node(self, n: fx.Node) -> Any:
        """Run the node and record shapes and dtypes."""
        value = super().run_node(n)
        shapes = tuple(tuple(tensor.shape) for tensor in leaves(value))
        self.seen[n] = (shapes, tuple(tensor.dtype for tensor in leaves(value)))
        return value


def check_rows(module: fx.GraphModule, *inputs: Any) -> None:
    """Compare each row with a real run by PyTorch's interpreter."""
    recorder = Recorder(module)
    with torch.no_grad():
        recorder.run(*inputs)
    with unchanged(module=module, inputs=inputs):
        rows = profile(module, *inputs)
    assert list(recorder.seen) == list(rows), (
        "expected one row for each node, in the order of the graph"
    )
    for node, seen in recorder.seen.items():
        found = (rows[node].shapes, rows[node].dtypes)
        assert seen == found, (
            f"{node.op} {node.target}: your row says {found}, a real run gives {seen}"
        )


def test_a_matrix_product_costs_two_for_each_term() -> None:
    """(3, 4) by (4, 5): fifteen sums of four products. What addmm adds is left out."""
    a, b, c = torch.ones(3, 4), torch.ones(4, 5), torch.ones(5)
    found = flops(aten.mm.default, (a, b), a @ b)

    assert 2 * 3 * 5 * 4 == found, (
        f"you count {found} for mm, expected 120: 15 results, each of 4 products and 4 additions"
    )
    assert 2 * 3 * 5 * 4 == flops(aten.addmm.default, (c, a, b), a @ b), (
        "expected 120 for addmm, as for its product: leave out what it adds"
    )
    wide = flops(aten.mm.dtype, (a, b, torch.float32), a @ b)
    assert 2 * 3 * 5 * 4 == wide, (
        "an overload with one more argument also computes a product: expected 120"
    )
    assert 0 == flops(aten.add.Tensor, (a, a), a + a), (
        "expected 0 for an add: count only products and attention"
    )
    assert 0 == flops(aten.relu.default, (a,), a.relu()), (
        "expected 0 for a relu: count only products and attention"
    )


@given(sizes=st.lists(st.integers(0, 4), min_size=4, max_size=4))
def test_batched_products(sizes: list[int]) -> None:
    """Bmm and baddbmm of any size, 0 included, against PyTorch's counter."""
    batch, m, k, n = sizes
    a, b = torch.ones(batch, m, k), torch.ones(batch, k, n)
    result = torch.bmm(a, b)

    assert counted(torch.bmm, a, b) == flops(aten.bmm.default, (a, b), result), (
        f"bmm of ({batch}, {m}, {k}) by ({batch}, {k}, {n}): PyTorch counts 2 for each term "
        f"of each of the {batch} products"
    )
    assert counted(torch.baddbmm, result, a, b) == flops(
        aten.baddbmm.default, (result, a, b), result
    ), "expected the FLOPs of the bmm for baddbmm: leave out what it adds"


def convolution(draw: st.DrawFn) -> tuple[nn.Module, torch.Tensor]:
    """Draw a convolution and an input for it."""
    dims, groups = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    kinds = {
        False: (nn.Conv1d, nn.Conv2d, nn.Conv3d),
        True: (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d),
    }
    kind = kinds[draw(st.booleans())][dims - 1]
    layer = kind(
        groups * draw(st.integers(1, 2)),
        groups * draw(st.integers(1, 3)),
        [draw(st.integers(1, 3)) for _ in range(dims)],
        stride=draw(st.integers(1, 3)),
        padding=draw(st.integers(0, 1)),
        dilation=draw(st.integers(1, 2)),
        groups=groups,
        bias=draw(st.booleans()),
    )
    sizes = [draw(st.integers(5, 7)) for _ in range(dims)]
    return layer, torch.ones(draw(st.integers(1, 3)), layer.in_channels, *sizes)


@given(drawn=st.composite(convolution)())
def test_convolutions(drawn: tuple[nn.Module, torch.Tensor]) -> None:
    """Groups, strides, dilation, padding, transposed, in one to three dims."""
    layer, x = drawn
    transposed = layer.transposed
    more = [layer.stride, layer.padding, layer.dilation, transposed]
    more += [layer.output_padding, layer.groups]
    found = flops(aten.convolution.default, (x, layer.weight, layer.bias, *more), layer(x))
    expected = counted(layer, x)

    assert expected == found, (
        f"{type(layer).__name__}, groups {layer.groups}, weight {list(layer.weight.shape)}: "
        f"expected {expected}, found {found}; how often is each weight used?"
    )


def test_attention_is_two_products() -> None:
    """For each head of q; k and v may have fewer heads, and v a different last size from q."""
    q, k, v = torch.ones(2, 6, 5, 8), torch.ones(2, 3, 7, 8), torch.ones(2, 3, 7, 4)
    name = aten._scaled_dot_product_flash_attention_for_cpu.default  # noqa: SLF001 - it has no other

    def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return nn.functional.scaled_dot_product_attention(q, k, v, enable_gqa=True)

    expected = counted(attend, q, k, v)
    result = attend(q, k, v)

    assert expected == flops(name, (q, k, v), (result, result)), (
        "expected two products for each head: q by k, then weights by v"
    )
    for kind in ("efficient", "flash", "cudnn", "fused"):
        ending = "_overrideable" if kind == "fused" else ""
        other = getattr(aten, f"_scaled_dot_product_{kind}_attention{ending}").default
        assert expected == flops(other, (q, k, v, None, False), (result, result)), (
            f"{other} should cost what attention costs on any device: q by k, then weights by v"
        )
    assert 0 == flops(aten.softmax.int, (q, -1), q), "softmax alone has no product, so it costs 0"


def operators_of(namespace: str) -> list[Any]:
    """Return every overload of every operator of a namespace, as the dispatcher knows them."""
    found = []
    for name in torch._C._dispatch_get_all_op_names():  # noqa: SLF001 - there is no other way
        space, _, rest = name.partition("::")
        if space == namespace:
            packet, _, overload = rest.partition(".")
            found.append(getattr(getattr(getattr(torch.ops, space), packet), overload or "default"))
    return found


def costs() -> dict[str, tuple[tuple[Any, ...], torch.Tensor, int]]:
    """Return arguments, a result and the FLOPs of each ATen operator that costs any."""
    a, b, c = torch.ones(2, 3), torch.ones(3, 5), torch.ones(2, 5)
    x, weight, y = torch.ones(1, 2, 6), torch.ones(4, 2, 3), torch.ones(1, 4, 4)
    more = (None, [1], [0], [1], False, [0], 1)
    return {
        "mm": ((a, b), c, 60),
        "addmm": ((c, a, b), c, 60),
        "bmm": ((a[None], b[None]), c[None], 60),
        "baddbmm": ((c[None], a[None], b[None]), c[None], 60),
        "convolution": ((x, weight, *more), y, 2 * weight.numel() * 4),
    }


def test_of_all_operators_of_aten_these_alone_count() -> None:
    """Products, one convolution, and all kinds of attention, with every overload there is."""
    q = torch.ones(1, 2, 3, 4)
    wrong = []
    for each in operators_of("aten"):
        name = str(each.overloadpacket).removeprefix("aten.")
        if name.startswith("_scaled_dot_product_") and name.endswith("_backward"):
            continue  # backward passes are out of scope
        args, result, expected = costs().get(name, ((q, q, q), q, 0))
        if name.startswith("_scaled_dot_product_"):
            expected = 2 * 2 * (2 * 3 * 3 * 4)
        found = flops(each, args, result)
        if found != expected:
            wrong.append(f"{each}: expected {expected}, yours {found}")

    assert [] == wrong, "\n".join(wrong)


def test_an_operator_of_another_namespace_counts_nothing() -> None:
    """An operator that is not ATen's costs 0, whatever its name: nobody knows what it does."""
    names = ("mm", "addmm", "convolution", "_scaled_dot_product_flash_attention")
    # Private, but what PyTorch's own tests use: the operators are removed afterwards.
    with torch.library._scoped_library("lecture10_k03", "FRAGMENT") as library:  # noqa: SLF001
        for name in names:
            library.define(f"{name}(Tensor a, Tensor b, Tensor c) -> Tensor")
            a = torch.ones(3, 3)
            operator_ = getattr(torch.ops.lecture10_k03, name).default
            args = (a, a, a, [1], [0], [1], False, [0], 1)
            found = flops(operator_, args, a)
            assert 0 == found, f"{operator_} is not ATen's: expected 0 FLOPs, you count {found}"


def traced(function: Callable[..., Any] | nn.Module) -> fx.GraphModule:
    """Return a graph module by symbolic tracing."""
    return fx.symbolic_trace(function)


FUNCTIONS: list[Callable[[torch.Tensor], torch.Tensor]] = [
    torch.relu,
    lambda x: x.t() @ x,
    lambda x: torch.cat([x, x], dim=1),
    lambda x: x.unsqueeze(0).sum(dim=(0, 2)).unsqueeze(1),
    lambda x: x.chunk(2, dim=0)[0],
    lambda x: x.max(dim=1, keepdim=True).values,
    lambda x: x.view(x.size(1), x.size(0)),
    lambda x: (x > 0).to(torch.float32),
    lambda x: torch.addmm(x.new_ones(1), x, x.t()),
    lambda x: x.contiguous(),
]


@given(
    program=st.lists(st.integers(0, len(FUNCTIONS) - 1), max_size=6),
    sizes=st.tuples(st.integers(1, 4), st.integers(1, 4)),
)
def test_any_program(program: list[int], sizes: tuple[int, int]) -> None:
    """Shapes, dtypes and FLOPs of a random program, against PyTorch."""

    def function(x: torch.Tensor) -> torch.Tensor:
        for number in program:
            x = FUNCTIONS[number](x.contiguous())
        return x

    module, x = traced(function), torch.linspace(-1, 1, sizes[0] * sizes[1]).view(sizes)

    check_rows(module, x)
    assert counted(function, x) == total(module, x), (
        f"your rows count {total(module, x)} FLOPs, PyTorch's counter {counted(function, x)}, "
        f"for\n{module.code}"
    )


def test_rows_of_a_small_graph() -> None:
    """Shapes, dtypes and FLOPs of every node: pairs have two, an int has none."""

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(4, 6)
            self.scale = nn.Parameter(torch.ones(2, dtype=torch.float64))

        def forward(self, x: torch.Tensor) -> Any:
            left, right = self.fc(x).chunk(2, dim=1)
            product = left.t() @ right
            return product, product.argmax(dim=x.size(0) - 3), self.scale * 2

    rows = profile(traced(Model()), torch.ones(3, 4))
    lines = []
    for node, row in rows.items():
        shapes = " ".join(str(list(shape)) for shape in row.shapes)
        dtypes = " ".join(str(dtype).removeprefix("torch.") for dtype in row.dtypes)
        lines.append(" ".join(f"{node.op} {shapes} {dtypes} {row.flops}".split()))

    assert_expected_inline(
        "\n".join(lines),
        """\
placeholder [3, 4] float32 0
call_module [3, 6] float32 144
call_method [3, 3] [3, 3] float32 float32 0
call_function [3, 3] float32 0
call_function [3, 3] float32 0
call_method [3, 3] float32 0
call_function [3, 3] float32 54
call_method 0
call_function 0
call_method [3] int64 0
get_attr [2] float64 0
call_function [2] float64 0
output [3, 3] [3] [2] float32 int64 float64 0""",
    )


def test_one_node_may_cost_several_products() -> None:
    """A module or a composite function is one node and many operators."""
    layer = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 5))

    class Leaf(fx.Tracer):
        def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
            return True

    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = layer

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.einsum("ij,kj,kl->il", self.layer(x), self.layer(x), x)

    outer = Outer()
    module, x = fx.GraphModule(outer, Leaf().trace(outer)), torch.ones(2, 3)
    once = counted(layer, x)
    found = [row.flops for row in profile(module, x).values()]

    assert [0, once, once] == found[:3], f"a call of two Linear costs {once}: found {found}"
    assert counted(module, x) == sum(found), (
        "einsum runs matrix products, so the sum should be that of PyTorch's counter"
    )


def test_no_memory_is_taken() -> None:
    """A sum of 2**56 floats is a row like any other: nothing of that size is allocated."""
    huge = 2**28
    module = traced(lambda x, y: (x + y, x @ y))
    column, row = torch.ones(1, 1).expand(huge, 1), torch.ones(1, 1).expand(1, huge)
    try:
        rows = list(profile(module, column, row).values())
    except RuntimeError as error:
        if isinstance(error, NotImplementedError):
            raise
        raise AssertionError(f"real memory was asked for: {error}") from error

    assert ((huge, huge),) == rows[2].shapes, (
        f"x + y has shapes {rows[2].shapes} in your rows, expected one, ({huge}, {huge})"
    )
    assert 2 * huge * huge == rows[3].flops, (
        f"x @ y costs {rows[3].flops} in your rows, expected {2 * huge * huge}: {huge} times "
        f"{huge} results of one term each"
    )


def test_nothing_is_changed() -> None:
    """Batch norm in train mode and in-place operators write to fake tensors."""

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.bn = nn.BatchNorm1d(3)
            self.register_buffer("calls", torch.zeros(3))
            self.register_buffer("passing", torch.zeros(3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.bn(x.add_(1)) + self.calls.add_(1) + self.passing.add_(1)

    module, x = traced(Model()), torch.zeros(4, 3)
    # In no state_dict, but still a buffer; tracing forgets that it was not persistent.
    module.register_buffer("passing", module.passing, persistent=False)
    kept = module.state_dict(keep_vars=True)
    before = {name: value.detach().clone() for name, value in kept.items()}
    meta = [dict(node.meta) for node in module.graph.nodes]
    with unchanged(module=module, x=x):
        profile(module, x)

    assert not x.any(), "the input was mutated: run on fake tensors made from it"
    for name, value in module.state_dict(keep_vars=True).items():
        assert value is kept[name], f"{name} has been replaced by another tensor"
        assert torch.equal(before[name], value), f"{name} was mutated: make it fake too"
    assert meta == [dict(node.meta) for node in module.graph.nodes], (
        "the nodes' meta has changed: return the rows, do not store them there"
    )


def test_other_inputs_pass_through() -> None:
    """Numbers, None and lists of tensors are inputs too; the lists' tensors become fake."""
    module = traced(lambda x, n, y: (torch.cat([x[0], x[1]]) * n, y))
    rows = list(profile(module, [torch.ones(2), torch.ones(3)], 2, None).values())

    assert ((2,), (3,)) == rows[0].shapes, (
        f"your row has shapes {rows[0].shapes}, expected ((2,), (3,)): a list has one shape for "
        f"each tensor in it"
    )
    assert () == rows[1].shapes, (
        f"your row for the number 2 has shapes {rows[1].shapes}, expected (): a number has no shape"
    )
    assert ((5,),) == rows[-1].shapes, (
        f"your row has shapes {rows[-1].shapes} for the output, expected ((5,),): the None next to "
        f"the tensor has no shape"
    )


READY_MADE = (
    "torch.fx.Interpreter",
    "torch.fx.interpreter",
    "torch.fx.passes.fake_tensor_prop",
    "torch.fx.passes.shape_prop",
    "torch.utils.flop_counter",
)


def test_nothing_ready_made_is_called() -> None:
    """PyTorch's counter and its propagation of shapes may not be called: you are writing them."""
    x = torch.ones(2, 3)
    module = traced(lambda x: torch.conv1d(x.unsqueeze(0), x.new_ones(4, 2, 3)))
    names = tuple(name for name in READY_MADE if "nterpreter" not in name)
    with forbids(kata, *names, allow=("torch._", "torch.ops", "torch.?", "torch.fx")) as fresh:
        rows = fresh.profile(module, x)

    assert 2 * 4 * 2 * 3 == sum(row.flops for row in rows.values()), (
        "the FLOPs of one convolution are wrong, expected 48"
    )


def test_models(zoo: Callable[[str], Any]) -> None:
    """Traced, a node is a module of PyTorch; exported, an ATen operator."""
    model, inputs = zoo("resnet")
    module = traced(model)
    check_rows(module, *inputs)
    expected, found = counted(model, *inputs), total(module, *inputs)
    assert expected == found, f"resnet: you count {found} FLOPs, PyTorch's counter {expected}"

    model, inputs = zoo("transformer")
    exported = torch.export.export(model, inputs).module()
    expected, found = counted(model, *inputs), total(exported, *inputs)
    assert expected == found, f"transformer: you count {found} FLOPs, PyTorch's counter {expected}"
