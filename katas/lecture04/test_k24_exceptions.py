"""Tests of k24_exceptions: Python's own exceptions, on both sides of a C++ operator."""

from __future__ import annotations

import threading
import warnings
from typing import TYPE_CHECKING
from typing import NoReturn

import pytest
import torch

from katas import compat


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterator
    from typing import Any

    from plugins.kit import Extension

    Kernel = Callable[[torch.Tensor], torch.Tensor]


pytestmark = pytest.mark.backend("cxx")

NAN = float("nan")


class Refusal(Exception):  # noqa: N818 - a name that no C++ class has
    """A type that only Python knows."""


@pytest.fixture
def register(extension: Extension) -> Iterator[Callable[[Kernel], None]]:
    """Return a function that makes its argument the kernel of ``callback`` until the test ends."""
    library = torch.library.Library(extension.namespace, "IMPL")
    yield lambda kernel: library.impl("callback", kernel, "CompositeExplicitAutograd")
    library._destroy()  # noqa: SLF001 - as torch's own tests do


@pytest.fixture
def heard(capfd: pytest.CaptureFixture[str]) -> Callable[..., tuple[Any, list[str]]]:
    """Return a function that calls an operator and returns its result and the warnings.

    They are looked for where this version of torch sends them, and nowhere else is any.
    """

    def call(op: Callable[..., Any], *arguments: object) -> tuple[Any, list[str]]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = op(*arguments)
        in_python = [str(warning.message) for warning in caught]
        on_stderr = [line for line in capfd.readouterr().err.splitlines() if line]
        if compat.OPS_WARN_IN_PYTHON:
            assert [] == on_stderr, "since torch 2.15 nothing is printed"
            return result, in_python
        assert [] == in_python, "before torch 2.15 Python hears of no warning"
        return result, on_stderr

    return call


def refuse(error: Exception) -> Kernel:
    """Return a kernel that raises this very object."""

    def kernel(_: torch.Tensor) -> NoReturn:
        raise error

    return kernel


def test_an_element_is_read(extension: Extension) -> None:
    """From the front, from the back, from a strided view, in any floating dtype."""
    element = extension.op("element")
    x = torch.arange(12, dtype=torch.float64)

    assert 0.0 == element(x, 0)
    assert 11.0 == element(x, 11)
    assert 11.0 == element(x, -1)
    assert 0.0 == element(x, -12)
    assert 7.0 == element(x[1::3], 2)
    assert 2.0 == element(x.bfloat16(), 2)
    assert 0.1 == element(torch.tensor([0.1], dtype=torch.float64), 0), "float64 is double in C++"


def test_an_index_out_of_range_is_an_index_error(extension: Extension) -> None:
    """``TORCH_CHECK`` alone would make it a RuntimeError, which no caller can tell apart."""
    element = extension.op("element")
    for index in (3, 4, -4, -5):
        message = f"^element: index {index} is out of range for size 3$"
        with pytest.raises(IndexError, match=message):
            element(torch.ones(3), index)
    with pytest.raises(IndexError, match=r"^element: index 0 is out of range for size 0$"):
        element(torch.empty(0), 0)


def test_a_wrong_number_of_dims_is_a_value_error(extension: Extension) -> None:
    """It comes before the index, which would mean something else in two dims."""
    element = extension.op("element")
    for x in (torch.tensor(1.0), torch.ones(2, 3), torch.empty(0, 3, 1)):
        with pytest.raises(ValueError, match=f"^element: expected 1 dim, got {x.dim()}$"):
            element(x, 99)


def test_a_wrong_dtype_is_a_type_error(extension: Extension) -> None:
    """It comes before the dims."""
    element = extension.op("element")
    for dtype, name in ((torch.int32, "Int"), (torch.bool, "Bool"), (torch.cfloat, "ComplexFloat")):
        with pytest.raises(TypeError, match=f"^element: expected a floating dtype, got {name}$"):
            element(torch.ones(2, 2, dtype=dtype), 0)


def test_a_wrong_layout_is_not_implemented(extension: Extension) -> None:
    """Someone may write that kernel yet; it comes first of all."""
    message = "^element: expected a strided tensor, got layout Sparse$"
    with pytest.raises(NotImplementedError, match=message):
        extension.op("element")(torch.ones(2, 2, dtype=torch.int32).to_sparse(), 0)


def test_a_whole_number_is_read(extension: Extension) -> None:
    """As ``std::stoll`` reads it, up to the ends of 64 bits."""
    whole_number = extension.op("whole_number")
    for text in ("0", "12", "-7", "+5", " 3", "010", "9223372036854775807", "-9223372036854775808"):
        assert int(text) == whole_number(text)


@pytest.mark.parametrize("text", ["", "twelve", "-"])
def test_no_number_is_a_value_error(extension: Extension, text: str) -> None:
    """The caller never sees the name of a C++ function, which is all std::stoll has to say."""
    with pytest.raises(ValueError, match=r"^whole_number: ") as raised:
        extension.op("whole_number")(text)

    assert f"whole_number: '{text}' is not a whole number of 64 bits" == str(raised.value)


def test_a_number_too_large_is_a_value_error(extension: Extension) -> None:
    """std::out_of_range would arrive as an IndexError: nothing was indexed here."""
    text = "9223372036854775808"
    with pytest.raises(ValueError, match=f"^whole_number: '{text}' is not a whole number"):
        extension.op("whole_number")(text)


@pytest.mark.parametrize("text", ["12a", "1.5", "7 ", "0x10"])
def test_a_number_and_more_is_a_value_error(extension: Extension, text: str) -> None:
    """std::stoll stops where the number ends, and is content."""
    with pytest.raises(ValueError, match=f"^whole_number: '{text}' is not a whole number"):
        extension.op("whole_number")(text)


def test_an_index_error_can_be_caught_in_cpp(extension: Extension) -> None:
    """Then it never reaches Python."""
    element_or = extension.op("element_or")
    x = torch.tensor([4.0, 5.0])

    assert 5.0 == element_or(x, 1, -1.0)
    assert -1.0 == element_or(x, 2, -1.0)
    assert -2.0 == element_or(torch.empty(0), 0, -2.0)


def test_other_errors_are_not_caught(extension: Extension) -> None:
    """A wrong dtype is not a missing element; hiding it would hide a bug."""
    element_or = extension.op("element_or")
    with pytest.raises(TypeError, match=r"^element: expected a floating dtype"):
        element_or(torch.ones(2, dtype=torch.int64), 5, -1.0)
    with pytest.raises(ValueError, match=r"^element: expected 1 dim"):
        element_or(torch.ones(2, 2), 5, -1.0)


def test_elements_are_read(extension: Extension) -> None:
    """One for each index, in that order; none for none."""
    elements = extension.op("elements")
    x = torch.tensor([4.0, 5.0, 6.0, 7.0])[::2]

    assert [6.0, 4.0, 6.0] == elements(x, [1, 0, -1])
    assert [] == elements(x, [])


def test_context_is_added_to_an_error(extension: Extension) -> None:
    """The caller of elements learns which index it was, and nothing of the C++ stack."""
    for position, indices in ((0, [5, 0]), (1, [0, 5]), (2, [0, 1, 5])):
        with pytest.raises((IndexError, RuntimeError), match=r"^element: index 5") as raised:
            extension.op("elements")(torch.ones(3), indices)
        said = f"element: index 5 is out of range for size 3 (at position {position} of indices)"
        assert said == str(raised.value), "add_context writes the brackets itself"


def test_an_error_with_context_keeps_its_type(extension: Extension) -> None:
    """``throw error`` copies what the variable's type says; a bare ``throw`` goes on."""
    elements = extension.op("elements")
    with pytest.raises(IndexError, match="at position 0 of indices"):
        elements(torch.ones(3), [3])
    with pytest.raises(TypeError, match="at position 0 of indices"):
        elements(torch.ones(3, dtype=torch.int64), [0])
    with pytest.raises(ValueError, match="at position 0 of indices"):
        elements(torch.ones(3, 3), [0])


def test_cpp_calls_python(
    extension: Extension, register: Callable[[Callable[..., torch.Tensor]], None]
) -> None:
    """Through the dispatcher: the same tensor goes in, the callback's result comes out."""
    register(lambda x: x * 2)

    assert [2.0, 4.0] == extension.op("relay")(torch.tensor([1.0, 2.0])).tolist()


def test_a_python_error_crosses_cpp(
    extension: Extension, register: Callable[[Callable[..., torch.Tensor]], None]
) -> None:
    """C++ holds the exception object while it unwinds: the same object arrives."""
    error = Refusal("no")
    register(refuse(error))
    with pytest.raises(Refusal) as raised:
        extension.op("relay")(torch.ones(1))

    assert error is raised.value, "the error was made anew on the way: catch nothing here"


def test_running_counts_calls(
    extension: Extension, register: Callable[[Callable[..., torch.Tensor]], None]
) -> None:
    """One more inside, two more inside the inner one, none afterwards."""
    depth = extension.op("depth")
    before = depth()
    seen = []

    def kernel(x: torch.Tensor) -> torch.Tensor:
        seen.append(depth() - before)
        return extension.op("relay")(x + 1) if x.item() < 3 else x.clone()

    register(kernel)

    assert 3.0 == extension.op("relay")(torch.tensor(1.0)).item()
    assert [1, 2, 3] == seen
    assert before == depth()


def test_running_is_right_after_an_error(
    extension: Extension, register: Callable[[Callable[..., torch.Tensor]], None]
) -> None:
    """What stands after a call that throws never runs; a destructor does."""
    before = extension.op("depth")()
    register(refuse(Refusal("no")))
    with pytest.raises(Refusal):
        extension.op("relay")(torch.ones(1))

    assert before == extension.op("depth")(), "relay was left by an exception and is still counted"


def test_running_counts_threads(
    extension: Extension, register: Callable[[Callable[..., torch.Tensor]], None]
) -> None:
    """The first to enter is the first to leave; the other one is still counted."""
    depth, relay = extension.op("depth"), extension.op("relay")
    entered, leave = ([threading.Event(), threading.Event()] for _ in range(2))

    def kernel(x: torch.Tensor) -> torch.Tensor:
        if (index := int(x)) >= 0:
            entered[index].set()
            leave[index].wait(10)
        return x.clone()

    register(kernel)
    relay(torch.tensor(-1))
    before = depth()
    threads = [threading.Thread(target=relay, args=(torch.tensor(i),)) for i in range(2)]
    for index, thread in enumerate(threads):
        thread.start()
        entered[index].wait(10)
    for still_running, index, thread in zip((1, 0), range(2), threads, strict=True):
        leave[index].set()
        thread.join()
        assert still_running == depth() - before, "count up and down: do not put a value back"


def test_a_thread_of_its_own_calls_python(
    extension: Extension, register: Callable[[Callable[..., torch.Tensor]], None]
) -> None:
    """The result comes from there, once it is done; relay's count has no part in it."""
    depth = extension.op("depth")
    before = depth()
    threads = []

    def kernel(x: torch.Tensor) -> torch.Tensor:
        threads.append((threading.get_ident(), depth() - before))
        return x + 1

    register(kernel)
    result = extension.op("relay_in_thread")(torch.tensor([1.0, 2.0]))

    assert [2.0, 3.0] == result.tolist()
    ((thread, more),) = threads
    assert threading.get_ident() != thread, "the callback ran in the caller's thread"
    assert 0 == more


def test_an_error_crosses_threads(
    extension: Extension, register: Callable[[Callable[..., torch.Tensor]], None]
) -> None:
    """It is caught where it was thrown and thrown again where the caller is."""
    error = Refusal("no")
    register(refuse(error))
    with pytest.raises(Refusal) as raised:
        extension.op("relay_in_thread")(torch.ones(1))

    assert error is raised.value, "std::exception_ptr holds the exception, whatever its type"


def test_nan_is_zeroed(extension: Extension) -> None:
    """In a copy, whatever the strides; infinities are numbers."""
    zero_nan = extension.op("zero_nan")
    x = torch.tensor([[1.0, NAN, 3.0], [NAN, float("inf"), -2.0]])
    kept = x.clone()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert [[1.0, 0.0, 3.0], [0.0, float("inf"), -2.0]] == zero_nan(x).tolist()
        assert [[1.0, 0.0], [0.0, float("inf")], [3.0, -2.0]] == zero_nan(x.t()).tolist()
    assert torch.equal(x.isnan(), kept.isnan()), "the argument was written to"
    assert (0, 3) == zero_nan(torch.empty(0, 3)).shape
    assert [2**53 + 1, 4] == zero_nan(torch.tensor([2**53 + 1, 4])).tolist()
    for x in (torch.tensor([0.1, 2.0], dtype=torch.float64), torch.tensor([3, 4])):
        kept = x.clone()
        y = zero_nan(x)
        assert kept.tolist() == y.tolist()
        y.add_(1)
        assert kept.tolist() == x.tolist(), "a copy is asked for, also where no element is NaN"


def test_nan_is_warned_of(
    extension: Extension, heard: Callable[..., tuple[Any, list[str]]]
) -> None:
    """Once for each call that has something to say, through torch's handler of that moment."""
    zero_nan = extension.op("zero_nan")
    _, messages = heard(zero_nan, torch.tensor([[NAN, 1.0], [NAN, 2.0], [3.0, 4.0]]))

    assert 1 == len(messages), messages
    assert "zero_nan: 2 of 6 elements were NaN" in messages[0]
    assert [] == heard(zero_nan, torch.tensor([1.0, 2.0]))[1], "no element was NaN"
    assert 1 == len(heard(zero_nan, torch.tensor([NAN]))[1]), "a later call has NaN of its own"


def test_a_handler_collects_warnings(
    extension: Extension, heard: Callable[..., tuple[Any, list[str]]]
) -> None:
    """They are returned, and nobody else hears of them."""
    quietly = extension.op("zero_nan_quietly")
    (x, messages), others = heard(quietly, torch.tensor([NAN, 1.0]))

    assert [0.0, 1.0] == x.tolist()
    assert ["zero_nan: 1 of 2 elements were NaN"] == messages
    assert [] == others
    assert [] == quietly(torch.tensor([1.0]))[1]


def test_the_former_handler_comes_back(
    extension: Extension, heard: Callable[..., tuple[Any, list[str]]]
) -> None:
    """After a call that returns, and after one that throws."""
    x = torch.tensor([NAN])
    extension.op("zero_nan_quietly")(x)
    (message,) = heard(extension.op("zero_nan"), x)[1] or ["the handler stayed after a return"]
    assert "zero_nan: 1 of 1" in message

    refusal = "^zero_nan: expected a strided tensor, got layout Sparse$"
    with pytest.raises(NotImplementedError, match=refusal):
        extension.op("zero_nan_quietly")(x.to_sparse())
    (message,) = heard(extension.op("zero_nan"), x)[1] or ["the handler stayed after an exception"]
    assert "zero_nan: 1 of 1" in message


def test_schemas_tell_the_truth(extension: Extension) -> None:
    """Nothing is mutated or aliased that the schema does not name."""
    x = torch.tensor([1.0, 2.0, NAN])
    for name, arguments in (("element", (x, 1)), ("elements", (x, [0, 1])), ("zero_nan", (x,))):
        checked = torch.library.opcheck(
            extension.op(name).default,
            arguments,
            test_utils="test_schema",
            raise_exception=False,
        )
        assert {"test_schema": "SUCCESS"} == checked
