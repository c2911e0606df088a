"""Tests of k13_defaults: the arguments that a mode gets are the reference."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from expecttest import assert_expected_inline
from torch.utils._python_dispatch import TorchDispatchMode

from katas.lecture01 import k13_defaults as kata
from katas.lecture01.k13_defaults import Argument
from plugins.kit import unchanged


ATEN = torch.ops.aten
X = torch.tensor([[0.3, -1.7], [2.1, 0.5]])
CALLS: dict[str, tuple[Any, tuple[Any, ...], dict[str, Any]]] = {
    "nothing to fill in": (ATEN.mul.Tensor, (X, X), {}),
    "all by name": (ATEN.mul.Tensor, (), {"other": X, "self": X}),
    "a default by hand": (ATEN.add.Tensor, (X, X), {"alpha": 1}),
    "no default by hand": (ATEN.add.Tensor, (X, X), {"alpha": 2}),
    "1.0 is not 1": (ATEN.add.Tensor, (X, X), {"alpha": 1.0}),
    "defaults at the end": (ATEN.topk.default, (X, 2, 0, True, True), {}),
    "a default in the middle": (ATEN.topk.default, (X,), {"sorted": False, "k": 2}),
    "a hole": (ATEN.clamp.default, (X,), {"max": 3}),
    "None at the end": (ATEN.clamp.default, (X, 1, None), {}),
    "all defaults by hand": (ATEN.topk.default, (X, 2, -1, True, True), {}),
    "two by name": (ATEN.addmm.default, (X, X, X), {"alpha": 2, "beta": 1}),
    "the other by name": (ATEN.addmm.default, (X, X, X), {"beta": 2}),
    "None that is required": (ATEN.sum.dim_IntList, (X, None), {}),
    "None by name, required": (ATEN.div.Tensor_mode, (X, X), {"rounding_mode": None}),
    "both kinds": (ATEN.sum.dim_IntList, (X, [0], True), {"dtype": torch.float64}),
    "a default before one by name": (
        ATEN.sum.dim_IntList,
        (X, [0], False),
        {"dtype": torch.float64},
    ),
    "one kind": (ATEN.var.correction, (X, [0]), {"keepdim": True, "correction": 0}),
    "numbers": (ATEN.leaky_relu.default, (X, 0.02), {}),
    "a number": (ATEN.leaky_relu.default, (X, 0.01), {}),
}


class Seen(TorchDispatchMode):
    """Records the arguments of the last call."""

    call: tuple[Any, Any]

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Record the call and run it."""
        self.call = args, kwargs or {}
        return func(*args, **(kwargs or {}))


def plain(value: Any) -> Any:
    """Return something to compare and print: tensors by name, numbers with their type."""
    if isinstance(value, torch.Tensor):
        return "tensor" if value is X else f"another tensor {value.tolist()}"
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    return value if isinstance(value, list) else (type(value).__name__, value)


@pytest.mark.parametrize("name", CALLS)
def test_fill(name: str) -> None:
    """One value for each argument, in the order of the schema; the operator accepts them."""
    operator, args, kwargs = CALLS[name]
    schema = kata.schema_of(operator)
    before = dict(kwargs)
    with unchanged(X=X):
        values = kata.fill(schema, args, kwargs)
    order = [each.name for each in schema]

    assert before == kwargs, f"your function changed the caller's kwargs: {kwargs}"
    assert order == list(values), f"{name}: you fill {list(values)}, but the schema lists {order}"
    left = {each.name: values[each.name] for each in schema if each.by_name}
    front = [values[each.name] for each in schema if not each.by_name]
    says = f"{name}: called with {kata.describe(values)}\n".__add__
    yours, expected = operator(*front, **left), operator(*args, **kwargs)
    torch.testing.assert_close(yours, expected, equal_nan=True, msg=says)


@pytest.mark.parametrize("name", CALLS)
def test_trim(name: str) -> None:
    """The result is what a mode gets for the call."""
    operator, args, kwargs = CALLS[name]
    with Seen() as seen:
        operator(*args, **kwargs)
    schema = kata.schema_of(operator)
    values = kata.fill(schema, args, kwargs)
    before = dict(values)
    yours = kata.trim(schema, values)

    assert before == values, f"your function changed the values: {kata.describe(values)}"
    assert plain(seen.call) == plain(yours), (
        f"{name}: you return {plain(yours)}\na mode gets {plain(seen.call)}"
    )


def test_a_missing_argument() -> None:
    """The error names it."""
    with pytest.raises(TypeError, match=r"\bother\b") as one:
        kata.fill(kata.schema_of(ATEN.mul.Tensor), (X,), {})
    with pytest.raises(TypeError, match=r"\bself\b") as two:
        kata.fill(kata.schema_of(ATEN.mul.Tensor), (), {"other": X})
    assert str(one.value) != str(two.value), (
        f"the error must name the missing argument; your message is {one.value}"
    )
    with pytest.raises(TypeError, match="rounding_mode"):
        kata.fill(kata.schema_of(ATEN.div.Tensor_mode), (X, X), {})


@pytest.mark.parametrize("by_name", [False, True])
def test_a_list_for_each_call(*, by_name: bool) -> None:
    """A kernel may write to its list without changing the schema or the next call."""
    schema = [Argument("dims", has_default=True, default=[1, 2], by_name=by_name)]
    first, second = kata.fill(schema, (), {}), kata.fill(schema, (), {})
    assert first == second == {"dims": [1, 2]}, (
        f"you fill {first} and {second}, expected [1, 2] in both"
    )
    assert kata.trim(schema, first) == ((), {}), (
        f"all values are defaults, so expected no arguments; you return {kata.trim(schema, first)}"
    )
    first["dims"].append(3)

    assert second == {"dims": [1, 2]}, "two calls of fill share a list"
    assert schema[0].default == [1, 2], "the schema's own list was changed"


def test_by_name_is_never_taken_by_position() -> None:
    """A by-name argument may come before others in the list; positional values skip it."""
    schema = [
        Argument("alpha", has_default=True, default=1, by_name=True),
        Argument("x", has_default=False, default=None, by_name=False),
    ]
    values = kata.fill(schema, (5,), {})

    assert values == {"alpha": 1, "x": 5}, f"fill returns {values}, expected alpha=1 and x=5"
    assert kata.trim(schema, values) == ((5,), {}), (
        f"trim returns {kata.trim(schema, values)}, expected only 5, by position"
    )


@pytest.mark.given
def test_the_schema_of_the_brief() -> None:
    """As PyTorch prints it: a size may be a symbol, so k is a SymInt."""
    schema = "topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True)"

    assert schema in f"{ATEN.topk.default._schema}", "PyTorch prints a different schema"  # noqa: SLF001


@pytest.mark.given
def test_a_default_has_its_type() -> None:
    """1.0 and True equal 1, but are not the default 1."""
    argument = Argument("alpha", has_default=True, default=1, by_name=True)

    assert [True, False, False] == [kata.is_default(each, argument) for each in (1, 1.0, True)]


def test_calls_as_text() -> None:
    """A trimmed call has as few arguments as possible, by position where that is allowed."""
    lines = []
    for name in ("a hole", "a default in the middle", "two by name", "both kinds"):
        operator, args, kwargs = CALLS[name]
        schema = kata.schema_of(operator)
        values = kata.fill(schema, args, kwargs)
        lines += [f"{name}: {' '.join(values)}", f"    {plain(kata.trim(schema, values))}"]

    assert_expected_inline(
        "\n".join(lines),
        """\
a hole: self min max
    (('tensor', ('NoneType', None), ('int', 3)), {})
a default in the middle: self k dim largest sorted
    (('tensor', ('int', 2), ('int', -1), ('bool', True), ('bool', False)), {})
two by name: self mat1 mat2 beta alpha
    (('tensor', 'tensor', 'tensor'), {'alpha': ('int', 2)})
both kinds: self dim keepdim dtype
    (('tensor', [0], ('bool', True)), {'dtype': ('dtype', torch.float64)})""",
    )
