"""Tests of k08_binding: a session that records which memory was bound to it, and cannot copy."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch

from katas.lecture16.conftest import model_of
from katas.lecture16.conftest import session
from katas.lecture16.k08_binding import run_into
from katas.lecture16.k08_binding import through
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Sequence


pytestmark = pytest.mark.backend("onnxruntime")
SIZES = ["batch", 3, 4, 4]
X = torch.arange(2 * 3 * 16.0).view(2, 3, 4, 4).sqrt()


@cache
def real(kind: str) -> Any:
    """Return a session of one operator, Mul or Add, whose second operand is 2."""
    import numpy as np  # noqa: PLC0415 - only here
    from onnx import helper  # noqa: PLC0415 - may be missing

    name, answer = f"{kind.lower()}_in", f"{kind.lower()}_out"
    node = helper.make_node(kind, [name, "two"], [answer])
    model = model_of([node], {name: SIZES}, {answer: SIZES}, {"two": np.float32(2)})
    return session(model)


class Binding:
    """An IOBinding that records what is bound to it."""

    def __init__(self, binding: Any, places: list[int]) -> None:
        self.binding, self.places = binding, places

    def __getattr__(self, name: str) -> Any:
        """Pass on whatever else an IOBinding has."""
        return getattr(self.binding, name)

    def bind_ortvalue_input(self, name: str, value: Any) -> None:
        """Record the address that is read."""
        self.places.append(value.data_ptr())
        self.binding.bind_ortvalue_input(name, value)

    def bind_input(self, *args: Any, **kwargs: Any) -> None:
        """Record the address that is read, whatever the strides are."""
        self.places.append(kwargs.get("buffer_ptr", args[-1]))
        self.binding.bind_input(*args, **kwargs)


class Spy:
    """A session that runs only with a binding."""

    def __init__(self, kind: str) -> None:
        self.session = real(kind)
        self.read: list[int] = []
        self.made: list[int] = []

    def __getattr__(self, name: str) -> Any:
        """Refuse methods that return new memory; pass on all other attributes."""
        if name in {"run", "run_async", "run_with_ort_values", "run_with_ortvaluevector"}:
            raise AssertionError(
                f"session.{name} cannot write into your memory: bind inputs and outputs"
            )
        return getattr(self.session, name)

    def io_binding(self) -> Any:
        """Return a binding that records what it reads."""
        return Binding(self.session.io_binding(), self.read)

    def run_with_iobinding(self, binding: Any, *args: Any) -> None:
        """Run, and record where the answers are."""
        self.session.run_with_iobinding(binding.binding, *args)
        self.made += [value.data_ptr() for value in binding.get_outputs()]


def laid_out(x: torch.Tensor) -> str:
    """Describe how the memory of x differs from a contiguous tensor's, if it does."""
    if x.is_contiguous():
        return "a contiguous x"
    return (
        f"x with strides {x.stride()}: a session knows no strides, and takes what is at this"
        f" address for strides {torch.empty(x.shape).stride()}"
    )


def into(x: torch.Tensor) -> tuple[torch.Tensor, Spy]:
    """Let your code write x + 2 into a tensor full of NaN, and compare."""
    __tracebackhide__ = True
    spy, out = Spy("Add"), torch.full(x.shape, torch.nan)
    address = out.data_ptr()
    with unchanged(x=x):
        run_into(spy, x, out)  # type: ignore[arg-type]
    torch.testing.assert_close(out, x.detach() + 2, msg=f"x + 2 of {laid_out(x)}\n".__add__)
    assert out.data_ptr() == address, "your code gave `out` different memory"
    assert spy.made == [address], "the answer was computed elsewhere and copied: bind `out` itself"
    return out, spy


def test_the_answer_is_in_out() -> None:
    """The answer is in `out`, for more than one size."""
    into(X)
    into(X[:1])


def test_x_is_read_where_it_is() -> None:
    """Contiguous memory is not copied, and a view of some rows is contiguous."""
    for x in (X, X[1:]):
        _, spy = into(x)
        assert spy.read == [x.data_ptr()], "the session reads a copy of x, although x is contiguous"


def test_other_strides() -> None:
    """Channels last, every other column, a transpose, an expanded row: values, not bytes."""
    for x in (
        X.contiguous(memory_format=torch.channels_last),
        torch.cat([X, X], 3)[..., ::2],
        X.transpose(2, 3),
        X[:, :, :1].expand(2, 3, 4, 4),
    ):
        into(x)


def test_a_gradient_is_no_obstacle() -> None:
    """DLPack refuses a tensor that requires grad: detach it, which copies nothing."""
    x = X.clone().requires_grad_()
    _, spy = into(x)

    assert spy.read == [x.data_ptr()], "the session reads a copy of x, although x is contiguous"


def test_earlier_answers_stay() -> None:
    """A second run writes to its own out."""
    first, _ = into(X)
    kept = first.clone()
    into(X[:1])

    torch.testing.assert_close(first, kept, msg="the second run wrote to the first answer")


def chained(kinds: Sequence[str], x: torch.Tensor) -> tuple[torch.Tensor, list[Spy]]:
    """Run a chain, and compare."""
    __tracebackhide__ = True
    spies = [Spy(kind) for kind in kinds]
    expected = x.detach()
    for kind in kinds:
        expected = expected + 2 if kind == "Add" else expected * 2
    with unchanged(x=x):
        yours = through(spies, x)  # type: ignore[arg-type]
    assert isinstance(yours, torch.Tensor), (
        f"your function returns {type(yours).__name__}, expected a tensor"
    )
    says = f"{' then '.join(kinds)} of {laid_out(x)}\n".__add__
    torch.testing.assert_close(yours, expected, msg=says)
    return yours, spies


def test_a_chain() -> None:
    """(x + 2) * 2, and the other way around."""
    chained(["Add", "Mul"], X)
    chained(["Mul", "Add", "Mul"], X[:1].transpose(2, 3))


def test_each_reads_what_the_one_before_made() -> None:
    """The second session reads the address that the first wrote."""
    yours, (first, second, third) = chained(["Add", "Mul", "Add"], X)
    places = [(first.made, second.read), (second.made, third.read)]

    assert first.read == [X.data_ptr()], "the first session reads a copy of x"
    for number, (made, read) in enumerate(places, 2):
        assert made == read, f"session {number} reads a copy of the output of session {number - 1}"
    assert third.made == [yours.data_ptr()], "the answer is a copy of the last session's output"


def test_a_chain_of_one_and_of_none() -> None:
    """Without sessions the result is x itself."""
    chained(["Mul"], X)
    yours = through([], X)

    assert yours is X, "expected through([], x) to be x itself"


def test_answers_live_on() -> None:
    """The result stays valid when sessions and values are gone, whatever runs afterwards."""
    yours, _ = chained(["Add", "Mul"], X)
    for _ in range(3):
        chained(["Mul", "Mul"], X)

    torch.testing.assert_close(yours, (X + 2) * 2, msg="an earlier answer was overwritten")
