"""Tests of k07_selective: the two questions, and what the compiled library holds."""

from __future__ import annotations

import ctypes
import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import example
from hypothesis import given
from hypothesis import strategies as st

from katas import source
from plugins.kit import forbids_tokens


if TYPE_CHECKING:
    from plugins.kit import Extension


pytestmark = pytest.mark.backend("cxx")

SCHEMAS = {
    "add.Tensor": "aten::add.Tensor(Tensor self, Tensor other) -> Tensor",
    "add.Scalar": "aten::add.Scalar(Tensor self, Scalar other) -> Tensor",
    "relu": "aten::relu(Tensor self) -> Tensor",
    "relu6": "aten::relu6(Tensor self) -> Tensor",
    "tanh": "aten::tanh(Tensor self) -> Tensor",
    "tanh_backward": "aten::tanh_backward(Tensor grad, Tensor output) -> Tensor",
}
# What the list in the source selects.
LISTED = ("add.Tensor", "relu", "tanh_backward")


def ask(extension: Extension, name: str, items: str, what: str) -> bool:
    """Return the result of `contains` or `selected`."""
    __tracebackhide__ = True
    answer: int = extension.symbol(f"kata_{name}")(items.encode(), what.encode())
    if answer < 0:
        raise NotImplementedError(f"TODO: {name}")
    return bool(answer)


def check_contains(extension: Extension, items: str, item: str, *, expected: bool) -> None:
    """Compare the result of `contains` for one item."""
    yours = ask(extension, "contains", items, item)

    assert expected == yours, (
        f'contains("{items}", "{item}"): yours {yours}, expected {expected}: an item is everything'
        " between two semicolons; the ends of the list count as semicolons"
    )


def test_a_list_of_one(extension: Extension) -> None:
    """A list of one item contains that item and no other."""
    check_contains(extension, "aten::relu", "aten::relu", expected=True)
    check_contains(extension, "aten::relu", "aten::tanh", expected=False)


def test_each_place_in_a_list(extension: Extension) -> None:
    """An item may be the first, in the middle, or the last."""
    for item in ("aten::add", "aten::mm", "aten::relu"):
        check_contains(extension, "aten::add;aten::mm;aten::relu", item, expected=True)
    check_contains(extension, "aten::add;aten::mm;aten::relu", "aten::bmm", expected=False)


def test_a_part_of_an_item(extension: Extension) -> None:
    """The beginning or end of an item, or two items together, are not an item."""
    items = "aten::tanh_backward;aten::add.Tensor"
    for item in ("", "aten::tanh", "backward", "aten::add", "aten::tanh_backward;aten::add.Tensor"):
        check_contains(extension, items, item, expected=False)


def test_an_empty_list(extension: Extension) -> None:
    """An empty list contains no item; other lists may contain empty items."""
    check_contains(extension, "", "aten::relu", expected=False)
    check_contains(extension, ";aten::relu;;aten::mm;", "aten::mm", expected=True)
    check_contains(extension, ";aten::relu;;aten::mm;", "aten::relu", expected=True)


@given(
    st.lists(st.text("ab:.", max_size=3), max_size=5),
    st.text("ab:.", min_size=1, max_size=3),
)
@example(["ab", "a"], "a")
@example(["b", "ab"], "b")
def test_any_list(extension: Extension, items: list[str], item: str) -> None:
    """The items are those that Python's split returns."""
    check_contains(extension, ";".join(items), item, expected=item in items)


def check_selected(extension: Extension, items: str, schema: str, *, expected: bool) -> None:
    """Compare the result of `selected` for one schema."""
    yours = ask(extension, "selected", items, schema)

    assert expected == yours, (
        f'selected("{items}", "{schema}"): yours {yours}, expected {expected}: take the name up to'
        " the parenthesis, including .Tensor"
    )


def test_the_operator_of_a_schema(extension: Extension) -> None:
    """A schema's name ends where its arguments begin; a schema may have no arguments."""
    for schema in ("aten::relu(Tensor self) -> Tensor", "aten::relu() -> ()", "aten::relu"):
        check_selected(extension, "aten::mm;aten::relu", schema, expected=True)
        check_selected(extension, "aten::mm;aten::relu6", schema, expected=False)


def test_overloads_are_operators(extension: Extension) -> None:
    """A name without an overload selects no overload."""
    schema = SCHEMAS["add.Tensor"]

    check_selected(extension, "aten::add.Tensor", schema, expected=True)
    check_selected(extension, "aten::add;aten::add.Scalar", schema, expected=False)
    check_selected(extension, "aten::add.Tensor", "aten::add(Tensor self)", expected=False)


def run(extension: Extension, name: str, x: float) -> tuple[str, float]:
    """Call the kernel of an operator; return the text that it leaves behind, and its result."""
    function, out = extension.symbol("kata_run"), ctypes.c_double(float("nan"))
    function.argtypes = [ctypes.c_char_p, ctypes.c_double, ctypes.c_void_p]
    function.restype = ctypes.c_char_p
    return function(SCHEMAS[name].encode(), x, ctypes.byref(out)).decode(), out.value


def test_what_is_registered(extension: Extension) -> None:
    """The listed kernels are registered under their whole schemas, and no others are."""
    yours = [name for name in SCHEMAS if run(extension, name, 3.0)[0]]

    assert [*LISTED] == yours, f"your library registers {yours}, but the list has {[*LISTED]}"
    assert ("kernel of add.Tensor", 4.0) == run(extension, "add.Tensor", 3.0), "add.Tensor(3)"
    assert ("kernel of tanh_backward", -8.0) == run(extension, "tanh_backward", 3.0), "1 - 3 * 3"


def test_what_is_not_listed_leaves_nothing(extension: Extension) -> None:
    """A kernel that is not listed leaves no code, no text and no schema in the library."""
    extension.check()
    library = extension.path.read_bytes()
    rest = [name for name in SCHEMAS if name not in LISTED]
    texts = [text for name in rest for text in (f"kernel of {name}\0", SCHEMAS[name])]
    found = [text.rstrip("\0") for text in texts if text.encode() in library]

    assert not found, (
        f"the library of {len(library)} bytes still has {found}: a condition checked at run"
        " time keeps both branches, unlike an `if constexpr`"
    )
    text = source("katas.lecture15", "csrc/k07_selective.cpp").read_text(encoding="utf-8")
    macro = re.search(r"#define OFFER(?:.*\\\n)*.*", text)
    plain = macro and re.search(r"\bif\s*\(", macro[0])
    assert not plain, (
        "OFFER has a plain if: at -O0 clang++ drops the code that it guards, g++ does not"
    )


def test_the_list_is_asked_by_your_function(extension: Extension) -> None:
    """The library uses your function, not PyTorch's own from the headers."""
    extension.check()
    forbids_tokens(
        source("katas.lecture15", "csrc/k07_selective.cpp"),
        *("allowlist_contains", "op_allowlist_check", "schema_allowlist_check"),
        "op_allowlist_contains_name_in_schema",
    )
    assert ask(extension, "contains", "aten::mm", "aten::mm"), 'contains("aten::mm", "aten::mm")'
