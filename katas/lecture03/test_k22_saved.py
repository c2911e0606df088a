"""Tests of k22_saved: hooks on saved tensors and version counters are the oracle."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.autograd.graph import disable_saved_tensors_hooks
from torch.autograd.graph import saved_tensors_hooks

from katas.lecture03.k22_saved import nodes
from katas.lecture03.k22_saved import roles
from katas.lecture03.k22_saved import saved
from katas.lecture03.k22_saved import saved_bytes
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable


def vector(size: int = 3, device: str = "cpu") -> torch.Tensor:
    """Return numbers between 0 and 1 that are not leaves and require grad."""
    return torch.rand(size, device=device, requires_grad=True).clone()


def packed(function: Callable[[], torch.Tensor]) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """Call a function, and return its result and all tensors saved during the call."""
    seen: list[torch.Tensor] = []

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        seen.append(tensor)
        return tensor

    with saved_tensors_hooks(pack, lambda tensor: tensor):
        return function(), seen


def test_a_product_saves_both_factors() -> None:
    """Each factor's gradient is the other factor; the saved tensors are the factors themselves."""
    x, y = vector(), vector()
    found = saved((x * y).grad_fn)

    assert {"self", "other"} == set(found), f"yours {set(found)}, expected self and other"
    assert found["self"].data_ptr() == x.data_ptr(), (
        "you return a copy, but _saved_self is x itself"
    )
    assert found["other"].data_ptr() == y.data_ptr(), (
        "you return a copy, but _saved_other is y itself"
    )


def test_exp_saves_its_result_and_a_sum_nothing() -> None:
    """A sum saves sizes, which are not tensors; what is not needed is None."""
    x = vector()

    leaf = torch.ones(1, requires_grad=True).view(1).grad_fn.next_functions[0][0]
    cases = {"exp": (x.exp().grad_fn, {"result"}), "sum": (x.sum().grad_fn, set())}
    # Only the gradient of the first factor is needed, which needs the second factor.
    cases["x * ones"] = ((x * torch.ones(3)).grad_fn, {"other"})
    for name, (node, expected) in {**cases, "a leaf": (leaf, set())}.items():
        yours = set(saved(node))
        assert expected == yours, f"{name}: yours {yours}, expected {expected}: only tensors count"


def test_lists_are_numbered() -> None:
    """Indexing saves its index tensors in a list, where None means a full slice."""
    x = torch.ones(3, 4, 5, requires_grad=True)
    rows, columns = torch.tensor([0, 1]), torch.tensor([2, 3])
    found = saved(x[rows, :, columns].grad_fn)

    yours = {name: tensor.tolist() for name, tensor in found.items()}
    expected = {"indices[0]": [0, 1], "indices[2]": [2, 3]}
    assert expected == yours, f"yours {yours}, expected {expected}"


def test_nodes_of_any_operator_are_read() -> None:
    """Find as many tensors as the hooks see, whatever the attributes are called."""
    square = torch.rand(3, 3, dtype=torch.float64) + 3 * torch.eye(3, dtype=torch.float64)
    for call in (
        lambda x: torch.linalg.solve(x, x),
        lambda x: torch.linalg.svd(x)[1],
        lambda x: x.cumprod(0),
        lambda x: torch.cdist(x, x),
        lambda x: nn.functional.prelu(x, x[0, :1]),
        lambda x: nn.functional.cross_entropy(x, torch.tensor([0, 2, 1])),
    ):
        result, tensors = packed(lambda call=call: call(square.clone().requires_grad_()))
        found = {node.name(): saved(node) for node in nodes(result)}
        yours = sum(map(len, found.values()))

        names = {name: list(each) for name, each in found.items()}
        assert len(tensors) == yours, f"the hooks saw {len(tensors)} tensors; you found {names}"


class Keeps(torch.autograd.Function):
    """A Function that saves its input, nothing, and twice its input."""

    @staticmethod
    def forward(ctx, x):  # noqa: ANN001, ANN205
        """Return twice x."""
        double = x * 2
        ctx.save_for_backward(x, None, double)
        return double.clone()

    @staticmethod
    def backward(ctx, gradient):  # noqa: ANN001, ANN205
        """Return twice the gradient."""
        return gradient * 2


def test_functions_of_your_own_save_too() -> None:
    """Find what a Function passed to ctx.save_for_backward, which accepts None."""
    x = vector()
    # Held until its node is read: before torch 2.13 the Python object of such a node points weakly
    # to the node proper, which only the graph keeps alive (pytorch/pytorch#181390).
    y = Keeps.apply(x)
    found = saved(y.grad_fn)

    assert {"tensors[0]", "tensors[2]"} == set(found), f"yours {set(found)}, expected 0 and 2"
    torch.testing.assert_close(found["tensors[2]"], 2 * x, msg="tensors[2] is 2 * x\n".__add__)


def test_a_node_that_has_run_has_let_go() -> None:
    """Backward frees what was saved, and PyTorch's own error says so."""
    y = vector().exp()
    y.sum().backward()
    with pytest.raises(RuntimeError, match="already been freed"):
        saved(y.grad_fn)


def test_bytes_of_one_saved_tensor(device: str) -> None:
    """Ten float32 take forty bytes."""
    x = vector(10, device)

    plain = torch.ones(3, device=device)
    for name, root, expected in [
        ("x.exp()", x.exp(), 40),
        ("no graph", plain, 0),
        ("a leaf", plain.clone().requires_grad_(), 0),
    ]:
        yours = saved_bytes(root)
        assert expected == yours, f"{name}: yours {yours} bytes, expected {expected}"


def test_a_storage_counts_once() -> None:
    """A storage counts once, however many nodes save it, through whatever view."""
    x = torch.ones(10, requires_grad=True)
    y = x * x + x.view(5, 2).sin().sum()

    yours = saved_bytes(y)
    assert 40 == yours, f"yours {yours}, expected 40: each saved tensor is x, or a view of it"


def test_a_view_keeps_its_whole_storage() -> None:
    """A view of two elements keeps all thousand elements alive."""
    x = torch.ones(1000, requires_grad=True)

    yours = saved_bytes(x[:2].sin())
    assert 4000 == yours, f"yours {yours}, expected 4000: a storage is kept or freed as a whole"


def test_own_storages_do_not_count() -> None:
    """A storage in `own` does not count, whether the tensor itself is saved or a view of it."""
    x = torch.ones(10, requires_grad=True)
    y = (x * 1.5).exp().sum() * x.sum()
    everything = saved_bytes(y)

    yours = saved_bytes(y, own=[torch.ones(7)])
    assert everything == yours, (
        f"own is not saved here, so it changes nothing: yours {yours}, expected {everything}"
    )
    result = x.exp()
    for root, own in [(x.sin(), x), (x[2:].sin(), x.detach()[:1]), (result.sin(), result)]:
        yours = saved_bytes(root, own=[own])
        assert yours == 0, f"yours {yours}, expected 0: the tensor uses the storage of `own`"


def test_a_node_with_many_paths_is_visited_once() -> None:
    """Forty doublings have a trillion paths; ten thousand nodes exceed the recursion limit."""
    x = torch.ones((), requires_grad=True)
    y = x.exp()
    for _ in range(40):
        y = y + y
    for _ in range(10_000):
        y = y + x

    yours = saved_bytes(y)
    assert 4 == yours, f"yours {yours}, expected 4: the result of exp"


@given(width=st.integers(1, 5), depth=st.integers(1, 3), batch=st.integers(0, 4))
def test_bytes_of_a_model_are_those_its_hooks_see(width: int, depth: int, batch: int) -> None:
    """For layers of any size, count the storages that the hooks see, without parameters."""
    torch.manual_seed(0)
    layers = [nn.Sequential(nn.Linear(width, width), nn.Tanh()) for _ in range(depth)]
    model = nn.Sequential(*layers, nn.LayerNorm(width))
    x = torch.rand(batch, width)
    own = [x, *model.parameters()]
    result, tensors = packed(lambda: model(x).square().sum())
    places = {tensor.untyped_storage().data_ptr() for tensor in own}
    sizes = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors}
    expected = sum(size for place, size in sizes.items() if place not in places)

    yours = saved_bytes(result, own=iter(own))
    assert expected == yours, (
        f"width {width}, depth {depth}, batch {batch}: yours {yours}, the hooks saw {expected}"
    )


OPERATORS: dict[str, tuple[int, Callable[..., torch.Tensor]]] = {
    "add": (2, lambda x, y: x + y),
    "mul": (2, lambda x, y: x * y),
    "div": (2, lambda x, y: x / y),
    "pow": (2, lambda x, y: x**y),
    "maximum": (2, torch.maximum),
    "outer": (2, torch.outer),
    "cat": (2, lambda x, y: torch.cat([x, y])),
    "exp": (1, torch.exp),
    "log": (1, torch.log),
    "sin": (1, torch.sin),
    "tanh": (1, torch.tanh),
    "sqrt": (1, torch.sqrt),
    "relu": (1, torch.relu),
    "gelu": (1, nn.functional.gelu),
    "softmax": (1, lambda x: x.softmax(0)),
    "sum": (1, torch.sum),
    "prod": (1, torch.prod),
    "var": (1, torch.var),
    "logsumexp": (1, lambda x: x.logsumexp(0)),
    "max": (1, lambda x: x.max(0)[0]),
    "layer_norm": (1, lambda x: nn.functional.layer_norm(x, (3,))),
    "view then sin": (1, lambda x: x.view(3, 1).sin()),
    "sin then view": (1, lambda x: x.sin().view(3, 1)),
    "exp then view": (1, lambda x: x.exp().view(3, 1)),
    "two steps": (2, lambda x, y: (x * y).exp()),
}


def depends(number: int, count: int, function: Callable[..., torch.Tensor]) -> bool:
    """Return whether backward needs this input (or, for -1, the result) unchanged."""
    inputs = [vector() for _ in range(count)]
    result = function(*inputs)
    touched = [*inputs, result][number].detach()
    # The values stay; the version counter, which a detached tensor shares, is incremented.
    touched.copy_(touched.clone())
    try:
        result.sum().backward()
    except RuntimeError as error:
        return "modified by an inplace operation" in str(error)
    return False


@pytest.mark.parametrize("name", OPERATORS)
def test_roles(name: str) -> None:
    """Saved tensors must not be overwritten: overwrite each input and the result, run backward."""
    count, function = OPERATORS[name]
    expected = {f"input {number}" for number in range(count) if depends(number, count, function)}
    inputs = [vector() for _ in range(count)]
    result, tensors = packed(lambda: function(*inputs))
    places = {tensor.untyped_storage().data_ptr() for tensor in inputs}
    if depends(-1, count, function) and result.untyped_storage().data_ptr() not in places:
        expected.add("result")
    known = {*places, result.untyped_storage().data_ptr()}
    if any(tensor.untyped_storage().data_ptr() not in known for tensor in tensors):
        expected.add("hidden")
    actual = roles(function, *inputs)

    assert expected == actual, (
        f"{name}: yours {actual or 'nothing'}, PyTorch saves {expected or 'nothing'}"
    )


def test_an_input_comes_before_the_result() -> None:
    """An input counts even if it needs no grad; if two share a storage, the first one counts."""
    x = vector(4)

    yours = roles(lambda x: x.exp_().view(2, 2), x)
    assert {"input 0"} == yours, (
        f"yours {yours}, expected input 0: exp_ saves its result, which is stored in x"
    )
    yours = roles(lambda x, y: x * y, x, x.view(2, 2).view(4))
    assert {"input 0"} == yours, f"yours {yours}, expected input 0: both inputs share one storage"
    yours = roles(torch.mul, vector(), torch.rand(3))
    assert {"input 1"} == yours, f"yours {yours}, expected input 1: only the first requires grad"


def test_the_graph_is_read_and_no_hook_is_set() -> None:
    """The function is called once."""
    calls = []

    def function(x: torch.Tensor) -> torch.Tensor:
        calls.append(x)
        return x.exp()

    with disable_saved_tensors_hooks("read the graph's attributes; hooks are for k23"):
        try:
            roles(function, vector())
            saved_bytes(vector().exp())
        except RuntimeError as error:
            raise AssertionError(f"your code uses hooks: {error}") from error
    assert 1 == len(calls), f"your code calls the function {len(calls)} times, expected 1"


def test_what_is_looked_at_stays() -> None:
    """Inputs with a gradient, saved tensors and global state are unchanged."""
    x, y = vector(), vector()
    x.grad, y.grad = torch.ones_like(x), torch.ones_like(y)
    result = x.exp() * y
    with unchanged(x=x, y=y, result=result, saved=saved(result.grad_fn)):
        saved_bytes(result, [x])
        roles(torch.mul, x, y)
    result.sum().backward()
