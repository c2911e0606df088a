"""Tests of k24_exceptions: the type and the message that arrive in Python."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch


if TYPE_CHECKING:
    from collections.abc import Callable

    from plugins.kit import Extension


pytestmark = pytest.mark.backend("cxx")

RANGE = "element: index 5 is out of range for size 3"


def failure(call: Callable[..., Any], *arguments: object) -> tuple[str, str]:
    """Return the type and message of a call's error; a stub's own error passes through."""
    try:
        result = call(*arguments)
    except NotImplementedError:
        raise
    except Exception as error:  # noqa: BLE001 - which type it is, is the question
        return type(error).__name__, str(error)
    return "no error", f"{result!r} was returned"


def expect(expected: tuple[str, str], yours: tuple[str, str], why: str) -> None:
    """Compare the type and message of an error with the expected ones."""
    assert expected == yours, (
        f"yours      {yours[0]}: {yours[1]}\nexpected   {expected[0]}: {expected[1]}\n{why}"
    )


@pytest.mark.given
def test_an_exception_of_the_standard_library_is_translated(extension: Extension) -> None:
    """In pybind11's table std::out_of_range becomes an IndexError."""
    stoll = extension.op("stoll")

    def schema(size: str) -> object:
        return torch._C.parse_schema(f"f(int[{size}] x) -> int")  # noqa: SLF001 - as in the brief

    for call in (stoll, schema):
        name, message = failure(call, "9" * 30)
        # libc++ says "stoll: out of range".
        assert (name, message[:5]) == ("IndexError", "stoll"), f"{name}: {message}"
    # A ValueError up to torch 2.14, a RuntimeError since.
    assert failure(stoll, "twelve")[1].startswith("stoll")
    assert stoll("12 apples") == 12


@pytest.mark.given
def test_element_tells_its_errors_apart(extension: Extension) -> None:
    """The macro decides which type Python sees; it checks dtype, then dims, then the index."""
    element = extension.op("element")
    x = torch.arange(12, dtype=torch.float64)

    assert [element(x, 0), element(x, -1), element(x[1::3], 2)] == [0.0, 11.0, 7.0]
    assert failure(element, torch.ones(3), 5) == ("IndexError", RANGE)
    assert failure(element, torch.ones(2, 2), 5) == (
        "ValueError",
        "element: expected 1 dim, got 2",
    )
    assert failure(element, torch.ones(2, 2, dtype=torch.int32), 5) == (
        "TypeError",
        "element: expected a floating dtype, got Int",
    )


@pytest.mark.parametrize(
    "text", ["0", "12", "-7", "+5", " 3", "010", "9223372036854775807", "-9223372036854775808"]
)
def test_a_whole_number_is_read(extension: Extension, text: str) -> None:
    """The text is read as std::stoll reads it, up to the limits of 64 bits."""
    yours = extension.op("whole_number")(text)

    assert int(text) == yours, f"yours {yours} of {text!r}, expected {int(text)}: base 10"


def refused(text: str) -> tuple[str, str]:
    """Return the error for a text that is not a number."""
    return "ValueError", f"whole_number: '{text}' is not a whole number of 64 bits"


@pytest.mark.parametrize("text", ["", "twelve", "-"])
def test_no_number_is_a_value_error(extension: Extension, text: str) -> None:
    """The message names the caller's text, not a C++ function."""
    yours = failure(extension.op("whole_number"), text)

    expect(refused(text), yours, "std::stoll throws std::invalid_argument; catch it, and refuse.")


@pytest.mark.parametrize("text", ["9223372036854775808", "-" + "9" * 30])
def test_a_number_too_large_is_a_value_error(extension: Extension, text: str) -> None:
    """Uncaught, it would arrive as an IndexError, although nothing was indexed."""
    yours = failure(extension.op("whole_number"), text)

    expect(refused(text), yours, "std::stoll throws two types: std::out_of_range is the other one.")
    again = extension.op("whole_number")("12")
    assert again == 12, f"yours {again} of '12', after a text that was refused"


@pytest.mark.parametrize("text", ["12a", "1.5", "7 ", "0x10"])
def test_a_number_and_more_is_a_value_error(extension: Extension, text: str) -> None:
    """std::stoll stops where the number ends, without an error."""
    yours = failure(extension.op("whole_number"), text)

    expect(refused(text), yours, "The second argument of std::stoll says where it has stopped.")


def test_a_number_and_a_nul_is_a_value_error(extension: Extension) -> None:
    """A Python string continues after a NUL, and so does a std::string."""
    yours = failure(extension.op("whole_number"), "12\0")

    assert yours[0] == "ValueError", f"yours {yours}, expected a ValueError for '12\\0'"


def test_an_index_error_is_caught_in_cpp(extension: Extension) -> None:
    """An error caught in C++ never reaches Python."""
    element_or = extension.op("element_or")
    x = torch.tensor([4.0, 5.0])

    yours = [element_or(x, 1, -1.0), element_or(x, 2, -1.0), element_or(torch.empty(0), 0, -2.0)]
    assert yours == [5.0, -1.0, -2.0], (
        f"yours {yours}, expected [5.0, -1.0, -2.0]: the element, or `otherwise` beyond the end"
    )
    yours = [element_or(x, -2, -1.0), element_or(x, -3, -1.0)]
    assert yours == [4.0, -1.0], (
        f"yours {yours}, expected [4.0, -1.0]: of 2 elements -2 is the first, -3 is out of range"
    )


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        (
            torch.ones(2, dtype=torch.int64),
            ("TypeError", "element: expected a floating dtype, got Long"),
        ),
        (torch.ones(2, 2), ("ValueError", "element: expected 1 dim, got 2")),
    ],
    ids=["dtype", "dims"],
)
def test_other_errors_are_not_caught(
    extension: Extension, x: torch.Tensor, expected: tuple[str, str]
) -> None:
    """A wrong dtype is not a missing element; hiding it would hide a bug."""
    yours = failure(extension.op("element_or"), x, 5, -1.0)

    expect(expected, yours, "Catch c10::IndexError, not c10::Error and not all.")


def test_elements_are_read(extension: Extension) -> None:
    """The list has one element for each index, in that order; it may be empty."""
    elements = extension.op("elements")
    x = torch.tensor([4.0, 5.0, 6.0, 7.0])[::2]

    yours = elements(x, [1, 0, -1])
    assert yours == [6.0, 4.0, 6.0], f"yours {yours}, expected [6.0, 4.0, 6.0]"
    assert elements(x, []) == [], "expected no elements for no indices"


@pytest.mark.parametrize(("position", "indices"), [(0, [5, 0]), (1, [0, 5]), (2, [0, 1, 5])])
def test_the_message_says_where(extension: Extension, position: int, indices: list[int]) -> None:
    """The caller learns which index it was, and sees no C++ stack."""
    yours = failure(extension.op("elements"), torch.ones(3), indices)[1]

    expected = f"{RANGE} (at position {position} of indices)"
    assert expected == yours, (
        f"yours      {yours}\nexpected   {expected}\nadd_context writes the brackets itself"
    )


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        (torch.ones(3), "IndexError"),
        (torch.ones(3, dtype=torch.int64), "TypeError"),
        (torch.ones(3, 3), "ValueError"),
    ],
    ids=["index", "dtype", "dims"],
)
def test_an_error_with_context_keeps_its_type(
    extension: Extension, x: torch.Tensor, expected: str
) -> None:
    """``throw error`` copies with the variable's type, and slices off the rest."""
    found, message = failure(extension.op("elements"), x, [5])

    assert message.endswith("(at position 0 of indices)"), (
        f"the message does not end with the position in indices: {message}"
    )
    assert expected == found, (
        f"yours {found}, expected {expected}: a bare `throw;` rethrows the exception itself"
    )
