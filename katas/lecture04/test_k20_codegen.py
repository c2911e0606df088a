"""Tests of k20_codegen: the generated C++ is compiled and checked with gradcheck."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from torch.autograd import gradcheck
from torch.autograd import gradgradcheck
from torch.utils._python_dispatch import TorchDispatchMode

from katas.lecture04.k20_codegen import NO_DERIVATIVE
from katas.lecture04.k20_codegen import Entry
from katas.lecture04.k20_codegen import backward_text
from katas.lecture04.k20_codegen import source_text
from plugins.kit import BuildError
from plugins.kit import build_source
from plugins.kit import load_library


if TYPE_CHECKING:
    from pathlib import Path


NAMESPACE = "lecture04_k20"
SELF, OTHER = ("Tensor", "self"), ("Tensor", "other")
MUL = Entry("mul", (SELF, OTHER), {"self": "grad * other", "other": "grad * self"})
ADD = Entry("add", (SELF, OTHER, ("Scalar", "alpha")), {"self": "grad", "other": "grad * alpha"})
# No formula mentions its alpha, so it was not saved.
SUB = Entry("sub", (SELF, OTHER, ("Scalar", "alpha")), {"self": "grad"})
EXP = Entry("exp", (SELF,), {"self": "grad * result"})
POW = Entry(
    "pow",
    (SELF, ("Scalar", "exponent")),
    {"self": "grad * exponent * self.pow(exponent.toDouble() - 1)"},
)
POW_SCALAR = Entry(
    "pow",
    (("Scalar", "self"), ("Tensor", "exponent")),
    {"exponent": "grad * result * std::log(self.toDouble())"},
    overload="Scalar",
)
SELECT = Entry(
    "index_select",
    (SELF, ("int", "dim"), ("Tensor", "index")),
    {"self": "grad.new_zeros(self.sizes()).index_add(dim, index, grad)", "index": NO_DERIVATIVE},
)
STD = Entry(
    "std",
    (SELF, ("bool", "unbiased")),
    {"self": "grad * (self - self.mean()) / (result * (self.numel() - (unbiased ? 1 : 0)))"},
)
# An argument may come after a Tensor without a derivative, and after one with a derivative.
WHERE = Entry(
    "where",
    (("Tensor", "condition"), SELF, OTHER),
    {
        "condition": NO_DERIVATIVE,
        "self": "grad.masked_fill(~condition, 0)",
        "other": "grad.masked_fill(condition, 0)",
    },
)
SIGN = Entry("sign", (SELF,), {})
ROUND = Entry("round", (SELF,), {"self": NO_DERIVATIVE})
# Only the second argument has no formula.
HYPOT = Entry("hypot", (SELF, OTHER), {"self": "grad * self / result"})
ENTRIES = [MUL, ADD, SUB, EXP, POW, POW_SCALAR, SELECT, STD, WHERE, SIGN, ROUND, HYPOT]

cxx = pytest.mark.backend("cxx")


@cache
def built(config: pytest.Config, text: str, folder: Path) -> None:
    """Build the text and load it, once per process."""
    source = folder / "generated.cpp"
    source.write_text(text, encoding="utf-8")
    try:
        library = build_source(config, NAMESPACE, source)
    except BuildError as error:
        numbered = [f"{n:4} {line}" for n, line in enumerate(text.splitlines(), 1)]
        pytest.fail("\n".join([str(error), "", *numbered]), pytrace=False)
    problem = load_library(library)
    assert problem is None, problem


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder for the generated source."""
    return tmp_path_factory.mktemp("generated")


@pytest.fixture
def operators(request: pytest.FixtureRequest, folder: Path) -> Any:
    """Return a function that returns the generated operators, built at its first call."""

    def get() -> Any:
        built(request.config, source_text(ENTRIES, NAMESPACE), folder)
        return getattr(torch.ops, NAMESPACE)

    return get


def leaf(*sizes: int) -> torch.Tensor:
    """Return a non-contiguous float64 tensor of positive numbers that requires a gradient."""
    return torch.rand(*sizes, dtype=torch.double).add_(0.5).mT.requires_grad_()


class Counter(TorchDispatchMode):
    """Counts operators by name."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, _: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(func.__name__)
        return func(*args, **(kwargs or {}))


def test_a_formula_stands_as_it_is() -> None:
    """Your C++ contains the formula unchanged; forward has saved the result."""
    yours = backward_text(EXP)

    for line in ("grad * result", "variable_list backward(AutogradContext*"):
        assert line in yours, f"expected {line!r} in\n{yours}"


def test_the_text_depends_on_the_entry_alone() -> None:
    """Equal entries give equal text, other formulas different text; the entry is unchanged."""
    arguments = ("Tensor", "x"), ("Tensor", "y"), ("Tensor", "z")
    formulas = {"x": "grad * x / result", "y": NO_DERIVATIVE}
    entry = Entry("f", arguments, formulas.copy())
    text = backward_text(entry)

    assert entry.formulas == formulas, f"your function changed the entry: {entry}"
    assert text == backward_text(entry), "two calls with the same entry give different texts"
    yours = backward_text(Entry("f", arguments, {"y": "grad * y / result"}))
    assert "grad * y / result" in yours, f"yours is the text of a different entry\n{yours}"


@cxx
@pytest.mark.parametrize("sizes", [(2, 3), (0, 3), (1, 1)])
def test_a_product(operators: Any, sizes: tuple[int, ...]) -> None:
    """Each of the two tensors is in the other's formula; they may be empty."""
    inputs = (leaf(*sizes), leaf(*sizes))
    mul = operators().mul

    says = "the result of the generated operator is not the product\n".__add__
    torch.testing.assert_close(mul(*inputs), inputs[0] * inputs[1], msg=says)
    assert gradcheck(mul, inputs), "each tensor is in the other's formula: use both saved tensors"
    assert gradgradcheck(mul, inputs), (
        "the second derivative is wrong: saved tensors must keep their history"
    )


@cxx
def test_the_result_in_a_formula(operators: Any) -> None:
    """The result is saved as the node's own output: twice differentiable, without a cycle."""
    assert gradcheck(operators().exp, (leaf(2, 3),)), (
        "the gradient of exp is wrong: result is the node's own output"
    )
    assert gradgradcheck(operators().exp, (leaf(2, 3),)), (
        "the second derivative is wrong: result must keep its history"
    )


@cxx
def test_a_scalar_behind_a_tensor(operators: Any) -> None:
    """The scalar is saved separately from the tensors, and gets no gradient."""
    x = leaf(2, 3)

    assert gradcheck(lambda x: operators().pow(x, 3.5), (x,)), "return no gradient for a scalar"
    assert gradgradcheck(lambda x: operators().pow(x, 3.5), (x,)), (
        "the second derivative needs the saved scalar"
    )
    assert gradcheck(lambda x, y: operators().add(x, y, 3), (x, leaf(2, 3))), (
        "the gradient of y needs the saved alpha"
    )
    assert gradgradcheck(lambda x, y: operators().add(x, y, 3), (x, leaf(2, 3))), (
        "the gradient of y needs the saved alpha"
    )
    plain = leaf(2, 3).detach()
    assert gradcheck(lambda x: operators().sub(x, plain, 3), (x,)), (
        "no formula of sub mentions alpha, so it was not saved"
    )


@cxx
def test_a_scalar_before_a_tensor(operators: Any) -> None:
    """The second argument is the first tensor: argument and edge numbers differ."""
    x = leaf(2, 3)

    assert gradcheck(lambda x: operators().pow_Scalar(2.5, x), (x,)), (
        "x is the first tensor, so it has the first edge"
    )
    assert gradgradcheck(lambda x: operators().pow_Scalar(2.5, x), (x,)), (
        "x is the first tensor, so it has the first edge"
    )


@cxx
def test_an_index_has_no_gradient(operators: Any) -> None:
    """An int and an integer tensor are saved, and neither is differentiated."""
    index = torch.tensor([1, 0, 1])

    def select(x: torch.Tensor) -> torch.Tensor:
        return operators().index_select(x, 1, index)

    x = leaf(2, 3)
    says = "the result of the generated operator is not index_select's\n".__add__
    torch.testing.assert_close(select(x), x.index_select(1, index), msg=says)
    assert gradcheck(select, (x,)), "use the saved dim and index, and return no gradient for them"
    assert gradgradcheck(select, (x,)), "the second derivative needs the saved dim and index"


@cxx
@pytest.mark.parametrize("unbiased", [True, False])
def test_a_bool_in_a_formula(operators: Any, unbiased: bool) -> None:  # noqa: FBT001
    """The formula uses it with the result and the argument: all three are saved."""

    def std(x: torch.Tensor) -> torch.Tensor:
        return operators().std(x, unbiased)

    x = leaf(2, 3)
    says = "the result of the generated operator is not std's\n".__add__
    torch.testing.assert_close(std(x), x.std(unbiased=unbiased), msg=says)
    assert gradcheck(std, (leaf(2, 3),)), "the formula needs the saved tensor, bool and result"
    assert gradgradcheck(std, (leaf(2, 3),)), "the formula needs the saved tensor, bool and result"


@cxx
def test_tensors_behind_one_without_a_derivative(operators: Any) -> None:
    """A tensor without a derivative still has an edge."""
    condition = torch.tensor([[True, False], [False, True], [True, True]])

    def where(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return operators().where(condition, x, y)

    assert gradcheck(where, (leaf(2, 3), leaf(2, 3))), "count the condition too: it has an edge"
    assert gradgradcheck(where, (leaf(2, 3), leaf(2, 3))), "count the condition too: it has an edge"


@cxx
def test_a_non_differentiable_tensor_has_no_gradient(operators: Any) -> None:
    """The gradient of a non-differentiable tensor is None, not zeros, and there is no error."""
    x, y = leaf(2, 3), leaf(2, 3)
    (operators().round(x) * y).sum().backward()

    assert x.grad is None, f"non_differentiable means no gradient; yours is {x.grad}"
    assert y.grad is not None, "the other factor has a gradient, but your backward returns none"


@cxx
def test_without_a_formula_a_call_that_needs_one_fails(operators: Any) -> None:
    """Only arguments declared non_differentiable are silent, as in PyTorch."""
    x, y = leaf(2, 3), leaf(2, 3)
    plain = y.detach()

    says = "without a gradient the call is that of the operator\n".__add__
    torch.testing.assert_close(operators().sign(plain), plain.sign(), msg=says)
    with pytest.raises(RuntimeError, match=r"sign: not differentiable with respect to .*'self'"):
        operators().sign(x)
    assert gradcheck(lambda x: operators().hypot(x, plain), (x,)), (
        "the gradient of x is wrong, although x has a formula"
    )
    with pytest.raises(RuntimeError, match=r"hypot: not differentiable with respect to .*'other'"):
        operators().hypot(x.detach(), y)


@cxx
def test_what_is_not_saved_may_be_written_to(operators: Any) -> None:
    """Saved tensors must not be written to: the version counter shows it."""
    x, y = leaf(2, 3), leaf(2, 3)
    copies = x.clone(), y.clone()
    total = operators().add(*copies, 2).sum()
    copies[0].add_(1)
    copies[1].add_(1)
    total.backward()
    says = "x + 2 * y keeps alpha alone, and the gradient of y is 2\n".__add__
    torch.testing.assert_close(y.grad, torch.full_like(y, 2), msg=says)

    product = operators().mul(copies[0], y)
    copies[0].add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.sum().backward()


@cxx
def test_only_wanted_gradients_are_computed(operators: Any) -> None:
    """Backward computes one product for either gradient, two for both."""
    for places in ((0,), (1,), (0, 1)):
        inputs = [leaf(2, 3).requires_grad_(place in places) for place in range(2)]
        result = operators().mul(*inputs).sum()
        asked = [inputs[place] for place in places]
        with Counter() as counter:
            found = torch.autograd.grad(result, asked, allow_unused=True)
        assert all(x is not None for x in found), f"gradients of arguments {places}: yours {found}"
        wanted, yours = len(places), counter.names.count("mul.Tensor")
        assert wanted == yours, (
            f"{wanted} gradient(s) needed, {wanted} product(s) expected; your code computes "
            f"{yours}: check ctx->needs_input_grad before each formula"
        )


@cxx
def test_an_undefined_gradient_stays_undefined(operators: Any) -> None:
    """An undefined gradient costs nothing and becomes None."""

    class Nothing(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> None:
            return None

    x, y = leaf(2, 3), leaf(2, 3)
    result = Nothing.apply(operators().mul(x, y)).sum()
    with Counter() as counter:
        yours = torch.autograd.grad(result, (x, y), allow_unused=True)
    assert yours == (None, None), f"yours {yours}, expected None twice: no gradient arrived"
    assert "mul.Tensor" not in counter.names, (
        "your backward evaluates a formula for an undefined gradient"
    )
