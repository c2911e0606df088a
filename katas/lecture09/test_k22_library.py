"""Tests of k22_library: what PyTorch asks of an operator, one question at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from katas.lecture09 import k22_library as kata
from plugins.kit import unchanged


NAME = "lecture09_k22::simplex"
has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key  # noqa: SLF001 - asks the dispatcher
BETWEEN = "yours writes to elements between those of x. "
KERNELS = {"cpu": "the kernel for the CPU", "meta": "the fake kernel"}
CHECKS = [
    "test_schema",
    "test_autograd_registration",
    "test_faketensor",
    "test_aot_dispatch_dynamic",
]


def operator(name: str) -> Any:
    """Return a registered operator, once the exercise's function of that name works."""
    x, total = torch.zeros(1, 2), torch.ones(1)
    getattr(kata, name)(x, total)
    found = getattr(torch.ops.lecture09_k22, name, None)
    assert found is not None, f"no operator is registered under the name lecture09_k22::{name}"
    return found.default


def rows(*shape: int, grad: bool = True) -> tuple[torch.Tensor, torch.Tensor]:
    """Return random rows and totals in float64."""
    x = torch.randn(shape, dtype=torch.float64)
    total = torch.rand(shape[:-1], dtype=torch.float64) + 0.5
    return x.requires_grad_(grad), total.requires_grad_(grad)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """Record the shape that each call of the NumPy kernel gets."""
    shapes: list[tuple[int, ...]] = []
    kernel = kata.project

    def noted(x: np.ndarray, total: np.ndarray) -> np.ndarray:
        shapes.append(x.shape)
        return kernel(x, total)

    monkeypatch.setattr(kata, "project", noted)
    return shapes


def test_the_operator_computes() -> None:
    """Rows become the nearest points with sums 1 and 3: elements below the threshold become 0."""
    x = torch.tensor([[0.5, 1.0, -2.0], [1.0, 1.0, 1.0]])
    result = operator("simplex")(x, torch.tensor([1.0, 3.0]))

    assert torch.float32 == result.dtype, f"your result is {result.dtype}, but x is torch.float32"
    assert [[0.25, 0.75, 0.0], [1.0, 1.0, 1.0]] == result.tolist(), (
        f"yours is {result.tolist()}: the row (0.5, 1, -2) with total 1 keeps two elements, and"
        " the row (1, 1, 1) with total 3 is already right"
    )


@pytest.mark.parametrize("shape", [(3,), (1,), (0, 2), (2, 3, 4)], ids=str)
def test_any_number_of_leading_dims(shape: tuple[int, ...], calls: list[tuple[int, ...]]) -> None:
    """For one row, no rows or many, the NumPy kernel is called once."""
    simplex = operator("simplex")
    x, total = rows(*shape, grad=False)
    calls.clear()
    result = simplex(x, total)
    simplex(x, total)

    # A result cached for the next call is wrong when project changes, and costs memory.
    assert [shape] * 2 == calls, (
        f"two calls called project with x of the shapes {calls}, expected {[shape] * 2}"
    )
    assert shape == tuple(result.shape), (
        f"expected the shape of x, {shape}, yours is {tuple(result.shape)}"
    )
    torch.testing.assert_close(result.sum(-1), total, rtol=1e-12, atol=1e-12)


def test_any_strides_and_a_contiguous_result() -> None:
    """A transposed x gives the values of its copy, in a new row-major tensor; x stays as it is."""
    simplex = operator("simplex")
    x, total = rows(4, 3, grad=False)
    for one in (x.t().contiguous().t(), x[::2], x[:1].expand(4, 3)):
        totals = total[: len(one)]
        with unchanged(x=one, total=total):
            result = simplex(one, totals)
        # The next call must not reuse the memory of this result.
        with unchanged(result=result):
            simplex(-one, totals)
        again = simplex(one.clone(), totals)

        unlike = f"x of strides {one.stride()} gives other values than its copy. ".__add__
        torch.testing.assert_close(result, again, rtol=0, atol=0, msg=unlike)
        contiguous = result.is_contiguous()
        assert contiguous, (
            f"your result has strides {result.stride()} for x of {one.stride()}: NumPy keeps"
            " the layout"
        )


@pytest.mark.parametrize("name", ["simplex", "simplex_"])
@pytest.mark.parametrize(
    ("x", "total", "error"),
    [
        (torch.zeros(3, dtype=torch.int64), torch.ones(()), TypeError),
        (torch.zeros(3, 0), torch.ones(3), ValueError),
        (torch.zeros(3, 2), torch.ones(1), ValueError),
    ],
    ids=["dtype", "no elements", "one total"],
)
def test_check_is_called(
    name: str, x: torch.Tensor, total: torch.Tensor, error: type[Exception]
) -> None:
    """All kernels call check, including the fake one: what fails when run must fail when traced."""
    op = operator(name)
    for place in ("cpu", "meta") if name == "simplex" else ("cpu",):
        said = ""
        try:
            op(x.to(place), total.to(place))
        except error as raised:
            said = str(raised)
        checked = said.startswith("simplex: expected")
        assert checked, (
            f"{name} with tensors on {place!r}: expected {error.__name__} from check, and yours"
            f" {f'says {said}' if said else 'raises nothing'}: does {KERNELS[place]} call check?"
        )


def test_the_kernel_is_for_the_cpu() -> None:
    """A kernel for every backend would be called with tensors that NumPy cannot read."""
    operator("simplex")
    operator("simplex_")
    composite = ["CompositeImplicitAutograd", "CompositeExplicitAutograd"]

    for name in (NAME, f"{NAME}_"):
        assert has_kernel(name, "CPU"), f"{name}: no kernel is registered for the key CPU"
        found = [key for key in (*composite, "CUDA") if has_kernel(name, key)]
        assert [] == found, (
            f"{name}: a kernel is registered for {found}, but .numpy() works only on the CPU"
        )


def test_the_fake_kernel_has_no_data(calls: list[tuple[int, ...]]) -> None:
    """The fake kernel needs no memory and no NumPy, even for 8 TB of rows."""
    simplex = operator("simplex")
    calls.clear()
    x = torch.empty(2**20, 2**20, dtype=torch.float64, device="meta")
    result = simplex(x, torch.empty(2**20, dtype=torch.float64, device="meta"))

    assert "meta" == result.device.type, (
        f"expected a meta tensor, since x has no data; yours is on {result.device}"
    )
    assert (2**20, 2**20) == result.shape, f"expected 2^20 by 2^20, yours is {tuple(result.shape)}"
    assert torch.float64 == result.dtype, f"your result is {result.dtype}, but x is torch.float64"
    assert [] == calls, "the fake kernel ran the real one"


def test_the_fake_kernel_knows_the_strides() -> None:
    """A compiler relies on the strides: row-major, even for a transposed x."""
    simplex = operator("simplex")
    for x in (torch.rand(4, 3), torch.rand(3, 4).t(), torch.rand(1, 3).expand(4, 3)):
        total = torch.ones(4)
        fake = simplex(x.to("meta"), total.to("meta"))

        assert simplex(x, total).stride() == fake.stride(), (
            f"the fake kernel gives strides {fake.stride()}, the real one "
            f"{simplex(x, total).stride()}, for x with strides {x.stride()}: the result is "
            "row-major, whatever x is"
        )


def test_a_tracer_sees_one_call(calls: list[tuple[int, ...]]) -> None:
    """Traced with symbolic sizes, the operator stays one node, and no kernel runs."""
    simplex = operator("simplex")
    calls.clear()
    mode = FakeTensorMode(shape_env=ShapeEnv())
    x, total = (mode.from_tensor(tensor) for tensor in rows(5, 3, grad=False))
    graph = make_fx(simplex, tracing_mode="symbolic")(*rows(5, 3, grad=False)).graph
    called = [str(node.target) for node in graph.nodes if node.op == "call_function"]

    assert ["lecture09_k22.simplex.default"] == called, (
        f"expected the operator itself in the trace, found {called}"
    )
    result = simplex(x, total)
    assert x.shape == result.shape, (
        f"expected the shape of x, {tuple(x.shape)}, yours is {tuple(result.shape)}"
    )
    assert isinstance(result.shape[0], torch.SymInt), (
        "a size became a number: the compiled program would be for this size alone"
    )
    assert [] == calls, f"tracing called project with x of the shapes {calls}, expected no call"


def test_the_gradient_of_x() -> None:
    """In the support, what one element gains the others lose; the other elements do not matter."""
    simplex = operator("simplex")
    x = torch.tensor([0.5, 1.0, -2.0], requires_grad=True)
    simplex(x, torch.tensor(1.0))[0].backward()

    assert x.grad is not None, "no gradient arrives at x"
    assert [0.5, -0.5, 0.0] == x.grad.tolist(), (
        f"yours is {x.grad.tolist()} for y[0]: raise x[0] by a little, and y[0] and y[1], the"
        " support, move by half of that in opposite directions"
    )


@pytest.mark.parametrize("shape", [(4,), (3, 4), (2, 0, 3)], ids=str)
def test_gradcheck_agrees(shape: tuple[int, ...]) -> None:
    """Compare with finite differences, for both inputs and each alone; then second derivatives."""
    simplex = operator("simplex")
    x, total = rows(*shape)

    assert torch.autograd.gradcheck(simplex, (x, total)), (
        "the gradients are wrong; input 0 is x, input 1 is total"
    )
    assert torch.autograd.gradcheck(lambda x: simplex(x, total.detach()), (x,)), (
        "the gradient is wrong when only x requires one"
    )
    assert torch.autograd.gradcheck(lambda total: simplex(x.detach(), total), (total,)), (
        "the gradient is wrong when only total requires one"
    )
    # Backward uses operators that have derivatives: NumPy would lose the history.
    assert torch.autograd.gradgradcheck(simplex, (x, total)), "is NumPy called in backward?"


def test_the_result_is_all_that_is_saved() -> None:
    """The result reveals the support. Inputs or a mask would cost memory until backward."""
    simplex = operator("simplex")
    x, total = rows(3, 4)
    saved: list[int] = []

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        saved.append(tensor.data_ptr())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        result = simplex(x, total)
    names = {x.data_ptr(): "x", total.data_ptr(): "total", result.data_ptr(): "the result"}
    found = [names.get(pointer, "another tensor") for pointer in saved]

    assert ["the result"] == found, f"setup_context saved {found}, expected only the result"


def test_backward_takes_a_batch_of_gradients(calls: list[tuple[int, ...]]) -> None:
    """One vectorized backward computes a whole Jacobian; it must not branch on values."""
    simplex = operator("simplex")
    x, total = rows(4)
    result = simplex(x, total)
    calls.clear()
    (batched,) = torch.autograd.grad(
        result, x, torch.eye(4, dtype=torch.float64), retain_graph=True, is_grads_batched=True
    )
    single = [torch.autograd.grad(result[i], x, retain_graph=True)[0] for i in range(4)]

    torch.testing.assert_close(
        batched,
        torch.stack(single),
        msg=lambda found: f"a batch of gradients gives others than one by one: {found}",
    )
    assert [] == calls, f"backward called project with x of the shapes {calls}"


@pytest.mark.parametrize(
    ("x_dim", "total_dim"), [(0, 0), (1, 0), (-1, 1), (2, -1), (0, None), (2, None), (None, 1)]
)
def test_vmap_is_one_call(
    x_dim: int | None, total_dim: int | None, calls: list[tuple[int, ...]]
) -> None:
    """The batch may be any dim, or an input may be shared: a batch is more rows, not more calls."""
    simplex = operator("simplex")
    batch, (x, total) = 5, rows(5, 3, 4, grad=False)
    xs = x[0] if x_dim is None else x.movedim(0, x_dim)
    totals = total[0] if total_dim is None else total.movedim(0, total_dim)
    calls.clear()
    found = torch.func.vmap(simplex, (x_dim, total_dim))(xs, totals)
    shapes = list(calls)
    expected = [
        simplex(x[0 if x_dim is None else i], total[0 if total_dim is None else i])
        for i in range(batch)
    ]

    torch.testing.assert_close(found, torch.stack(expected))
    assert [60] == [int(np.prod(shape)) for shape in shapes], (
        f"project was called with {shapes}, expected one call for all rows"
    )


def test_in_place_writes_over_x(calls: list[tuple[int, ...]]) -> None:
    """simplex_ overwrites x through its strides, with one call of project, and returns nothing."""
    simplex, in_place = operator("simplex"), operator("simplex_")
    total = torch.tensor([1.0, 2.0, 3.0])
    base = torch.randn(4, 6)
    before = base.clone()
    x = base[:, ::2].t()
    expected = simplex(x, total)
    calls.clear()

    with unchanged(total=total, expected=expected):
        assert in_place(x, total) is None, "simplex_ should return None: the result is in x"
    torch.testing.assert_close(x, expected, rtol=0, atol=0)
    torch.testing.assert_close(base[:, 1::2], before[:, 1::2], rtol=0, atol=0, msg=BETWEEN.__add__)
    assert [(3, 4)] == calls, f"project was called with x of the shapes {calls}"


def test_the_schema_of_in_place_says_what_is_written() -> None:
    """The schema says that x is written and total is not, and that nothing is returned."""
    schema = operator("simplex_")._schema  # noqa: SLF001 - it has no other name
    written = [argument.alias_info is not None for argument in schema.arguments]

    assert [True, False] == written, f"expected an alias of x only, the schema is {schema}"
    assert schema.arguments[0].alias_info.is_write, (
        f"the schema must mark x as mutated, but it is {schema}"
    )
    assert [] == schema.returns, f"the schema is {schema}: expected no return, the result is in x"
    assert schema.is_mutable, f"expected a mutable schema, yours is {schema}"


@pytest.mark.parametrize("check", CHECKS)
def test_opcheck_agrees(check: str) -> None:
    """PyTorch's opcheck passes: schema against behaviour, keys, fake tensors, tracing."""
    simplex = operator("simplex")
    x, total = rows(3, 4, grad=False)
    for arguments in (rows(3, 4), rows(4), (x.t().contiguous().t(), total)):
        found = torch.library.opcheck(simplex, arguments, test_utils=check)
        assert {check: "SUCCESS"} == found, (
            f"simplex: PyTorch's opcheck found {found} for x with strides {arguments[0].stride()}"
        )
    found = torch.library.opcheck(operator("simplex_"), (x, total), test_utils=check)
    assert {check: "SUCCESS"} == found, (
        f"simplex_: opcheck found {found}: does it write to an argument that the schema does not"
        " mark as mutated?"
    )
