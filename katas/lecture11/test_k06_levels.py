"""Tests of k06_levels: the same function goes through your transforms and through torch.func."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch

from katas.lecture11 import k06_levels as kata
from katas.lecture11.k06_levels import STACK
from katas.lecture11.k06_levels import Interpreter
from katas.lecture11.k06_levels import Op
from katas.lecture11.k06_levels import Wrapped
from katas.lecture11.k06_levels import apply
from katas.lecture11.k06_levels import entered
from katas.lecture11.k06_levels import lowered
from plugins.kit import forbids
from plugins.kit import freed
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable


WHERE = "read process and lower in torch/_functorch/pyfunctorch.py"
one = pytest.mark.step(1, "the top first, then the next one down")
two = pytest.mark.step(2, "a batch is dim 0")
three = pytest.mark.step(3, "a tape")
four = pytest.mark.step(4, "nested")


@pytest.fixture(autouse=True)
def _empty() -> Any:
    """Begin with an empty stack, whatever the previous test left."""
    STACK.clear()


def numbers(*shape: int) -> torch.Tensor:
    """Return irrational float64 numbers of both signs, and one 0."""
    count = torch.Size(shape).numel()
    return (torch.arange(count, dtype=torch.float64).sqrt() - 1.0).reshape(shape)


def compare(program: Callable[[Any], Callable[[Any], Any]], x: torch.Tensor, why: str) -> None:
    """Run a program with your grad and vmap, and with PyTorch's; it gets the module as `m`."""
    with unchanged(x=x):
        yours = [program(kata)(x), program(kata)(x)]
    theirs = program(torch.func)(x)
    assert not STACK, f"your code left {len(STACK)} interpreters on the stack, expected none"
    for each in yours:
        kind = type(each).__name__
        assert isinstance(each, torch.Tensor), f"yours is a {kind}, expected a tensor: {why}"
        says = f"yours     {each.tolist()}\nPyTorch's {theirs.tolist()}\n{why}; {WHERE}"
        same = each.shape == theirs.shape and torch.allclose(each, theirs, rtol=1e-12, atol=1e-14)
        assert same, says


class Spy(Interpreter):
    """Records each operator and the depth of the stack below, and passes the operator on."""

    def __init__(self) -> None:
        self.seen: list[tuple[int, str, int]] = []

    def process(self, op: Op, *values: Any) -> Any:
        """Record the operator, and apply it one level down."""
        with lowered():
            self.seen.append((self.level, op.name, len(STACK)))
            return apply(op, *values)


@one
def test_an_empty_stack() -> None:
    """The operator's kernel runs, with its values in order."""
    x, y = numbers(3), numbers(3).exp()
    with unchanged(x=x, y=y):
        yours = apply(Op("mul"), x, y), apply(Op("sum", 0), x)
    assert torch.equal(yours[0], x * y), f"yours {yours[0]}, expected x * y"
    assert torch.equal(yours[1], x.sum(0)), f"yours {yours[1]}, expected the sum of {x}"


@one
def test_each_interpreter_from_the_top() -> None:
    """The top interpreter comes first; while it works, the next one is the top."""
    x = numbers(2)
    with entered(Spy()) as below, entered(Spy()) as top:
        yours = apply(Op("sin"), x)
        depth = len(STACK)
    seen = [*top.seen, *below.seen]
    expected = [(2, "sin", 1), (1, "sin", 0)]
    assert seen == expected, f"(level, operator, depth below): yours {seen}, expected {expected}"
    assert depth == 2, f"afterwards your stack has {depth} interpreters, expected 2"
    assert torch.equal(yours, x.sin()), f"yours {yours}, expected the sine of {x}"


@one
def test_an_error_one_down() -> None:
    """After an error the interpreter is back on the stack."""
    with entered(Spy()) as top:
        with pytest.raises(ValueError, match=r"^boo$"), lowered():
            raise ValueError("boo")
        left = [*STACK]
    assert left == [top], f"after an error your stack is {left}, expected the one interpreter"


@one
def test_who_owns_what() -> None:
    """An interpreter owns wrappers of its own level, but no other wrappers and no tensors."""
    x = numbers(2)
    with entered(Interpreter()), entered(Interpreter()) as middle, entered(Interpreter()):
        values = [Wrapped(level, x) for level in (1, 2, 3)]
        yours = [middle.owns(each) for each in (*values, x, 2.0)]
    expected = [False, True, False, False, False]
    assert yours == expected, (
        f"does level 2 own values of levels 1, 2 and 3, a tensor, a number: yours {yours}, expected"
        f" {expected}"
    )


@two
def test_vmap_of_an_operator() -> None:
    """The function sees an element, and the result is a batch."""
    compare(lambda m: m.vmap(lambda x: x.sin()), numbers(5), "the batch is dim 0")


@two
def test_vmap_hides_a_dim() -> None:
    """The function sees the shape of an element, whose dim 0 is dim 1 of the batch."""
    shapes = []

    def function(x: Any) -> Any:
        shapes.append(tuple(x.shape))
        return x.sum(0) * x.sum(-1)

    compare(lambda m: m.vmap(function), numbers(3, 4), "dim 0 of an element is dim 1 of the batch")
    # Two shapes from your vmap, one from PyTorch's.
    assert shapes == [(4,)] * 3, (
        f"in your vmap and PyTorch's, x has the shapes {shapes}, expected (4,) three times: "
        "call the function once, for the whole batch"
    )


@two
def test_vmap_with_what_is_not_batched() -> None:
    """A number, or a tensor of an element's shape, is used for each element."""
    weight = numbers(3).exp()
    with unchanged(weight=weight):
        compare(
            lambda m: m.vmap(lambda x: 2 * x * weight + 0.5),
            numbers(2, 3).cos(),
            "without a batch of its own a value is expanded, in front",
        )


@two
def test_vmap_of_a_constant() -> None:
    """A result that does not depend on the batch is repeated for it."""
    constant = numbers(2)
    compare(lambda m: m.vmap(lambda _: constant), numbers(3), "the result has a batch, too")


@two
def test_vmap_of_vmap() -> None:
    """The outer batch is dim 0, and hidden from the inner vmap; sizes differ."""

    def program(m: Any) -> Any:
        return m.vmap(lambda row: m.vmap(lambda x: x * row.sum(0) + x.cos())(row))

    compare(program, numbers(3, 4), "the inner batch is dim 0 of what the outer one shows")
    compare(
        lambda m: m.vmap(lambda row: m.vmap(lambda _: row)(row)),
        numbers(3, 4),
        "the inner vmap returns what is batched, but not by it",
    )
    compare(lambda m: m.vmap(m.vmap(m.vmap(lambda x: x.sin()))), numbers(2, 3, 4), "three deep")


@three
def test_grad_of_an_operator() -> None:
    """The gradient of a single operator, with one entry on the tape, is right."""
    compare(lambda m: m.grad(lambda x: x.sin()), numbers(1)[0], "the formula of sin")


@three
def test_grad_of_a_chain() -> None:
    """The tape is read from the result back to the input; the gradient of a sum is expanded."""
    compare(
        lambda m: m.grad(lambda x: x.sin().cos().sum(0).sin()),
        numbers(4),
        "each entry hands the gradient of its result on to its inputs",
    )

    def wrapper() -> Any:
        inside: list[Any] = []

        def function(x: Any) -> Any:
            inside.append(x.sin())
            return x.cos()

        kata.grad(function)(numbers(1)[0])
        return inside[0]

    # The tape is freed with its Grad.
    freed(wrapper)


@three
def test_grad_of_what_is_used_twice() -> None:
    """The contributions of two uses are added, in one operator and in two."""

    def twice_and_once(x: Any) -> Any:
        y = x.sin()
        return y + x + y

    x = numbers(3).exp()
    compare(lambda m: m.grad(lambda x: (x * x).sum(0)), x, "both inputs are x")
    compare(lambda m: m.grad(lambda x: (x * x.sin() + x + x.cos()).sum(0)), x, "x has four users")
    compare(
        lambda m: m.grad(lambda x: twice_and_once(x).sum(0)),
        x,
        "parts are added, and what is added to stays as it is: it may be another's gradient",
    )


@three
def test_grad_with_constants() -> None:
    """A tensor gets no gradient; a value that the result does not use passes none on."""

    def function(x: Any) -> Any:
        _unused = (x * 3.0).sin()
        return (x * weight).sum(0)

    weight = numbers(3)
    with unchanged(weight=weight):
        compare(lambda m: m.grad(function), numbers(3), "the gradient is the weight")
    compare(lambda m: m.grad(lambda x: x), numbers(1)[0], "the function returns its input")


@three
def test_grad_of_a_constant() -> None:
    """If y does not depend on x, the gradient is zeros, in the shape of x."""
    yours = kata.grad(lambda _: torch.tensor(2.0, dtype=torch.float64))(numbers(3))
    expected = torch.zeros(3, dtype=torch.float64)
    same = isinstance(yours, torch.Tensor) and yours.dtype == expected.dtype
    assert same and torch.equal(yours, expected), f"yours {yours}, expected {expected}"  # noqa: PT018


@four
def test_levels_are_not_confused() -> None:
    """The inner grad has a different x from the outer one, whose x it treats as a constant."""
    compare(
        lambda m: m.grad(lambda x: x * m.grad(lambda y: x * y)(x)),
        numbers(4)[3],
        "x belongs to level 1: for level 2 it is a constant, with all that is in it",
    )
    compare(
        lambda m: m.grad(lambda x: m.grad(lambda y: x.sin() * y.sin() * y)(x) * x),
        numbers(4)[3],
        "x.sin() inside is on both tapes",
    )


@four
def test_grad_of_grad_of_grad() -> None:
    """The third derivative, by three nested levels, is right."""
    compare(
        lambda m: m.grad(m.grad(m.grad(lambda x: x * x.sin() * x))),
        numbers(4)[3],
        "formulas are applied one level down, so that the tape there records them",
    )


@four
def test_vmap_of_grad() -> None:
    """Gradients for each example work, the best-known use of torch.func's transforms."""
    weight = numbers(4).cos()

    def loss(x: Any) -> Any:
        return (x * weight).sum(0).sin() * x.cos().sum(0)

    compare(lambda m: m.vmap(m.grad(loss)), numbers(3, 4), "one gradient for each row")
    compare(lambda m: m.vmap(m.grad(lambda x: x + x)), numbers(3), "a gradient that is constant")


@four
def test_grad_of_vmap() -> None:
    """An unbatched value gets the sum over the batch: the gradient of expand is sum."""
    rows = numbers(3, 4).cos()
    compare(
        lambda m: m.grad(lambda w: m.vmap(lambda i: (w * i).sum(0).sin())(rows).sum(0)),
        numbers(4),
        "w is expanded by vmap, and that is on the tape below",
    )
    compare(
        lambda m: m.grad(lambda w: m.vmap(lambda _: w)(rows).sum(0).sin().sum(0)),
        numbers(4),
        "the result of vmap is a value of grad: no operator has made it a batch",
    )


@four
def test_grad_of_vmap_of_grad() -> None:
    """Three nested levels work, in two ways."""

    def program(m: Any) -> Any:
        return m.grad(lambda x: m.vmap(m.grad(lambda z: z * z.sin() * x.sum(0)))(x).sum(0))

    compare(program, numbers(5), "level 3 opens its own wrappers and leaves those of 1 and 2")
    compare(
        lambda m: m.vmap(m.grad(lambda r: m.vmap(lambda e: e * r.sum(0).sin())(r).sum(0))),
        numbers(3, 2),
        "vmap of grad of vmap",
    )


@four
def test_the_levels_of_pytorch() -> None:
    """A value inside has the same wrappers, from the outside in, that PyTorch prints."""
    seen: dict[Any, Any] = {}

    def program(m: Any) -> Any:
        def innermost(x: Any) -> Any:
            y = x.sin()
            seen[m] = y if m is kata else repr(y)
            return y

        return m.grad(lambda x: m.vmap(m.grad(innermost))(x).sum(0))

    for each in (kata, torch.func):
        program(each)(numbers(3))
    theirs = re.findall(r"(\w+)\(lvl=(\d)", seen[torch.func])
    yours, value = [], seen[kata]
    while isinstance(value, Wrapped):
        kind = "BatchedTensor" if value.batched else "GradTrackingTensor"
        yours.append((kind, str(value.level)))
        value = value.value
    assert yours == theirs, f"yours     {yours}\nPyTorch's {theirs}\n{WHERE}"


@four
def test_the_stack_after_an_error() -> None:
    """If a function fails three levels deep, the stack is empty afterwards."""

    def fails(x: Any) -> Any:
        return x.sin() * numbers(7)

    for program, x in (
        (kata.grad(lambda x: kata.vmap(kata.grad(fails))(x).sum(0)), numbers(3)),
        (kata.vmap(kata.vmap(fails)), numbers(2, 3, 5)),
    ):
        with pytest.raises(RuntimeError, match="must match"):
            program(x)
        assert not STACK, f"your code left {len(STACK)} interpreters on the stack, expected none"


@four
def test_without_pytorchs() -> None:
    """Your transforms use their own tape and stack."""
    x = numbers(3)
    with forbids(kata, "torch.func", "torch.vmap", "torch.autograd") as fresh:
        yours = fresh.vmap(fresh.grad(fresh.grad(lambda z: z * z * z)))(x)
    assert torch.allclose(yours, 6 * x), f"yours {yours}, expected 6x for the third power"
