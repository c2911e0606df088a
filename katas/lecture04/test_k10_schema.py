"""Tests of k10_schema: every schema that this PyTorch has registered is the oracle."""
# ruff: noqa: SLF001 - only torch._C knows the registry and the parser

from __future__ import annotations

import re
from functools import cache

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from katas.lecture04 import k10_schema
from katas.lecture04.k10_schema import NO_DEFAULT
from katas.lecture04.k10_schema import Alias
from katas.lecture04.k10_schema import Argument
from katas.lecture04.k10_schema import Schema
from katas.lecture04.k10_schema import SchemaError
from katas.lecture04.k10_schema import Tokens
from katas.lecture04.k10_schema import Type
from katas.lecture04.k10_schema import format_alias
from katas.lecture04.k10_schema import format_schema
from katas.lecture04.k10_schema import format_type
from katas.lecture04.k10_schema import parse_alias
from katas.lecture04.k10_schema import parse_schema
from katas.lecture04.k10_schema import parse_sets
from katas.lecture04.k10_schema import parse_type
from plugins.kit import forbids


one = pytest.mark.step(1, "alias annotations")
two = pytest.mark.step(2, "types")
three = pytest.mark.step(3, "arguments and returns")
four = pytest.mark.step(4, "every schema of your PyTorch")

TENSOR = Type("Tensor")
INT = Type("int")
# Types that schemas distinguish and TorchScript does not.
ERASED = {
    "Scalar": "number",
    "SymInt": "int",
    "SymBool": "bool",
    "ScalarType": "int",
    "Layout": "int",
    "MemoryFormat": "int",
}
MALFORMED = [
    "aten::add.Tensor(Tensor(a!) self, Tensor(b|c -> *)? b, *, int[2] k=1) -> (Tensor(a!) o, int)",
    "f(Dict(str, t)(a!) d, (int, t)[] e, ...) -> Future(t)",
    "x::f(Tensor(a! -> b|c)[] a, Tensor[] b) -> ...",
]


@cache
def registry() -> dict[str, torch._C.FunctionSchema]:
    """Return every registered schema by its text; sets of more than one name sorted.

    PyTorch keeps those in a hash set and prints them in any order.
    """

    def in_order(found: re.Match[str]) -> str:
        return "|".join(sorted(found[0].split("|")))

    schemas = torch._C._jit_get_all_schemas()
    return {re.sub(r"\b\w(\|\w)+\b", in_order, str(schema)): schema for schema in schemas}


def alias(before: str, after: str | None = None, *, write: bool = False) -> Alias:
    """Return an alias annotation; each letter is a set."""
    return Alias(frozenset(before), frozenset(before if after is None else after), write)


def erased(type_: Type) -> str:
    """Return a type as TorchScript prints it."""
    params = ", ".join(erased(param) for param in type_.params)
    return f"{type_.name}[{params}]" if params else ERASED.get(type_.name, type_.name)


def position_in_torch(text: str) -> int | None:
    """Return the position that PyTorch's own parser underlines; None if it accepts the text."""
    try:
        torch._C.parse_schema(text)
    except RuntimeError as error:
        lines = [line for line in str(error).splitlines() if line.endswith("<--- HERE")]
        return lines[0].index("~") if lines else len(text)
    return None


def expect(expected: object, yours: object, why: str) -> None:
    """Compare what was read, and label both sides."""
    assert expected == yours, f"yours      {yours}\nexpected   {expected}\n{why}"


@pytest.mark.given
def test_the_printer_writes_what_pytorch_prints() -> None:
    """The printer is given: it turns a schema into the line that PyTorch prints."""
    pair = Type("Tuple", (INT, TENSOR))
    listed = Type("Optional", (Type("List", (INT,), 2),))
    schema = Schema(
        "x::f",
        "out",
        (Argument(listed, "a", None), Argument(TENSOR, "b", kwarg_only=True)),
        (Argument(pair),),
    )
    text = "x::f.out(int[2]? a=None, *, Tensor b) -> ((int, Tensor))"

    assert text == format_schema(schema) == str(torch._C.parse_schema(text))


@one
def test_sets_are_names_or_a_star() -> None:
    """After reading the sets, the cursor is on the next token."""
    for text, names in {"a)": "a", "a|b)": "ab", "a | c | b)": "abc", "*)": "*"}.items():
        tokens = Tokens(text)
        expect(frozenset(names), parse_sets(tokens), f"the sets of {text!r}")
        expect(")", tokens.next.text, f"the token under the cursor, after the sets of {text!r}")


@one
@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("(a)", alias("a")),
        ("(a!)", alias("a", write=True)),
        ("(a|b)", alias("ab")),
        ("(*)", alias("*")),
        ("(a -> *)", alias("a", "*")),
        ("(a! -> b|c)", alias("a", "bc", write=True)),
        ("(a|b -> a)", alias("ab", "a")),
    ],
)
def test_alias_annotations(text: str, wanted: Alias) -> None:
    """An annotation has the sets before the call, a mark for writes, and the sets after it."""
    expect(wanted, parse_alias(Tokens(text)), f"the annotation {text}")
    expect(text, format_alias(wanted), "what the given printer writes")


@one
def test_no_annotation_is_none() -> None:
    """Without an annotation, nothing is read."""
    tokens = Tokens("self")

    expect(None, parse_alias(tokens), "the next token opens no annotation")
    expect("self", tokens.next.text, "the token under the cursor: nothing was stepped over")


@two
@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("int[]", Type("List", (INT,))),
        ("int[2]", Type("List", (INT,), 2)),
        ("int?", Type("Optional", (INT,))),
        ("int[2]?", Type("Optional", (Type("List", (INT,), 2),))),
        ("int?[]", Type("List", (Type("Optional", (INT,)),))),
        ("Tensor[][]", Type("List", (Type("List", (TENSOR,)),))),
        ("(int, Tensor)[]", Type("List", (Type("Tuple", (INT, TENSOR)),))),
        ("Dict(str, int[])", Type("Dict", (Type("str"), Type("List", (INT,))))),
        ("Future(t)?", Type("Optional", (Type("Future", (Type("t"),)),))),
        ("__torch__.torch.classes.c10d.Work", Type("__torch__.torch.classes.c10d.Work")),
    ],
)
def test_types_nest(text: str, wanted: Type) -> None:
    """A suffix wraps everything before it."""
    tokens = Tokens(f"{text} name")

    expect(wanted, parse_type(tokens), f"the type {text}: a suffix wraps what was read before")
    expect("name", tokens.next.text, "the token under the cursor, behind the type")


@two
@pytest.mark.parametrize("size", ["2.5", "1e3", "2."])
def test_the_size_of_a_list_is_a_whole_number(size: str) -> None:
    """PyTorch reads 2 in 2.5 and 1 in 1e3; here that is an error, at the number."""
    assert position_in_torch(f"f(int[{size}] a) -> int") is None, (
        "PyTorch does not accept this size"
    )
    found: object
    try:
        found = parse_type(Tokens(f"int[{size}] a"))
    except ValueError as error:
        found = error

    expect(SchemaError, type(found), f"int[{size}] is no type: read its size by parse_size")
    expect(4, getattr(found, "position", None), f"the position of the error in int[{size}]")


@two
def test_an_annotation_belongs_to_what_stands_before_it() -> None:
    """A list whose tensors are written to is not itself written to."""
    write, read = alias("a", write=True), alias("b")
    inner, outer = Type("Tensor", alias=write), Type("List", (TENSOR,), alias=write)
    cases = {
        "Tensor(a!)[]": Type("List", (inner,)),
        "Tensor[](a!)": outer,
        "Tensor(a!)[](b)": Type("List", (inner,), alias=read),
        "Tensor(a!)?": Type("Optional", (inner,)),
        "Dict(str, Tensor)(a!)": Type("Dict", (Type("str"), TENSOR), alias=write),
    }
    for text, wanted in cases.items():
        expect(wanted, parse_type(Tokens(text)), f"the type {text}")


@st.composite
def types(draw: st.DrawFn, depth: int = 2) -> Type:
    """Draw a type, alias annotations included."""
    sets = st.sets(st.sampled_from("abc"), min_size=1).map(frozenset) | st.just(frozenset("*"))
    aliases = st.none() | st.builds(Alias, sets, sets, st.booleans())
    name = draw(st.sampled_from(["Tensor", "int", "t", "List", "Optional", "Dict", "Tuple"]))
    if depth == 0 or name in {"Tensor", "int", "t"}:
        return Type("Tensor", alias=draw(aliases))
    inner = types(depth - 1)
    if name == "List":
        size = draw(st.none() | st.integers(0, 12))
        return Type("List", (draw(inner),), size, draw(aliases))
    if name == "Optional":
        return Type("Optional", (draw(inner),))
    if name == "Dict":
        return Type("Dict", (draw(inner), draw(inner)), alias=draw(aliases))
    return Type("Tuple", tuple(draw(st.lists(inner, min_size=1, max_size=3))))


@two
@given(type_=types())
def test_what_is_written_can_be_read(type_: Type) -> None:
    """Printing any type and reading it back gives the same type."""
    text = format_type(type_)

    expect(type_, parse_type(Tokens(text)), f"the type {text}")


@three
def test_the_smallest_schema() -> None:
    """A schema may have no arguments and no returns; you read it, not torch."""
    with forbids(k10_schema) as fresh:
        fresh.parse_schema("aten::save() -> ()")
    yours = parse_schema("mine.out() -> ()")
    expect(Schema("mine", "out", (), ()), yours, "two empty lists")


@three
def test_an_argument_has_a_type_and_a_name() -> None:
    """A return value may have a name."""
    schema = parse_schema("f(Tensor self, int n) -> (Tensor values, Tensor)")

    wanted = Argument(TENSOR, "self"), Argument(INT, "n")
    expect(wanted, schema.arguments, "the arguments of f(Tensor self, int n)")
    expect(
        (Argument(TENSOR, "values"), Argument(TENSOR)), schema.returns, "(Tensor values, Tensor)"
    )


@three
def test_one_return_needs_no_parentheses() -> None:
    """A single return may still have a name."""
    cases = {
        "Tensor": (Argument(TENSOR),),
        "Tensor out": (Argument(TENSOR, "out"),),
        "(Tensor)": (Argument(TENSOR),),
        "(int, Tensor)": (Argument(INT), Argument(TENSOR)),
    }
    for text, wanted in cases.items():
        expect(wanted, parse_schema(f"f() -> {text}").returns, f"the returns of f() -> {text}")


@three
def test_arguments_after_the_star_are_keyword_only() -> None:
    """The star is not an argument; defaults may occur on both sides of it."""
    schema = parse_schema("f(int a, int b=2, *, int c=3, int? d=None) -> ()")

    wanted = (
        Argument(INT, "a", NO_DEFAULT, kwarg_only=False),
        Argument(INT, "b", 2, kwarg_only=False),
        Argument(INT, "c", 3, kwarg_only=True),
        Argument(Type("Optional", (INT,)), "d", None, kwarg_only=True),
    )
    expect(wanted, schema.arguments, "f(int a, int b=2, *, int c=3, int? d=None)")
    yours = parse_schema("f(*, int a) -> ()").arguments
    expect((Argument(INT, "a", kwarg_only=True),), yours, "f(*, int a)")


@three
def test_dots_take_the_rest() -> None:
    """An operator may take or return any number of values; only its kernel knows how many."""
    both = parse_schema("prim::PythonOp(...) -> ...")
    yours = both.arguments, both.returns, both.vararg, both.varret
    expect(((), (), True, True), yours, "prim::PythonOp(...) -> ...")

    schema = parse_schema("f(str self, ...) -> (int, ...)")
    dots = {"vararg": True, "varret": True}
    wanted = Schema("f", "", (Argument(Type("str"), "self"),), (Argument(INT),), **dots)
    expect(wanted, schema, "f(str self, ...) -> (int, ...)")


@three
def test_blanks_do_not_matter() -> None:
    """Only the tokens matter."""
    yours = format_schema(parse_schema(" f ( int [ 2 ]a= 1)->int "))
    expect("f(int[2] a=1) -> int", yours, "the same tokens")


@four
def test_every_registered_schema_is_read_and_written_back() -> None:
    """Thousands of schemas come back unchanged, character by character."""
    backs = {text: format_schema(parse_schema(text)) for text in registry()}

    wrong = [(text, back) for text, back in backs.items() if text != back]
    assert not wrong, (
        f"{len(wrong)} of {len(backs)} differ, the first:\nPyTorch's  {wrong[0][0]}\n"
        f"yours      {wrong[0][1]}"
    )


@four
def test_the_fields_are_those_that_pytorch_finds() -> None:
    """Compare names, types, sizes, defaults and keyword-only flags of every argument."""
    for text, theirs in registry().items():
        mine = parse_schema(text)
        pairs = [(mine.arguments, theirs.arguments), (mine.returns, theirs.returns)]
        for argument, wanted in [pair for both in pairs for pair in zip(*both, strict=True)]:
            type_ = argument.type.params[0] if argument.type.name == "Optional" else argument.type
            found = (argument.name, erased(argument.type), type_.size, argument.kwarg_only)
            expected = (wanted.name, str(wanted.type), wanted.N, wanted.kwarg_only)
            expect(expected, found, f"name, type, size, keyword-only in {text}")
            default = wanted.default_value if wanted.has_default_value() else NO_DEFAULT
            expect(default, argument.default, f"the default of {argument.name} in {text}")


@four
def test_the_aliases_are_those_that_pytorch_finds() -> None:
    """Compare those of arguments; PyTorch does not show those of their elements to Python."""
    for text, theirs in registry().items():
        mine = parse_schema(text)
        pairs = zip(
            mine.arguments + mine.returns, [*theirs.arguments, *theirs.returns], strict=True
        )
        for argument, wanted in pairs:
            type_ = argument.type.params[0] if argument.type.name == "Optional" else argument.type
            if type_.alias is not None:
                info = wanted.alias_info
                sets = frozenset(info.before_set), frozenset(info.after_set)
                expect(Alias(*sets, info.is_write), type_.alias, f"an annotation in {text}")


@four
@pytest.mark.parametrize("text", MALFORMED)
def test_a_missing_token_is_found_where_pytorch_finds_it(text: str) -> None:
    """Leave out each token in turn: the error is at the first token that does not fit."""
    assert position_in_torch(text) is None
    before = parse_schema(text)
    for token in Tokens(text).tokens:
        rest = text[token.position + len(token.text) :]
        cut = text[: token.position] + " " * len(token.text) + rest
        wanted = position_in_torch(cut)
        # PyTorch reads `(a!)` in place of a type as a tuple, and accepts `Tensor!` too.
        if wanted is None or not rest or token.text == "Tensor":
            continue
        with pytest.raises(SchemaError) as caught:
            parse_schema(cut)
        assert wanted == caught.value.position, (
            f"{cut}\n{'^':>{wanted + 1}} is the first wrong token"
        )
        assert before == parse_schema(text), f"after the error in {cut!r} your result is different"


@four
@pytest.mark.parametrize("text", MALFORMED)
def test_text_that_breaks_off_is_refused(text: str) -> None:
    """If something is missing, the error is at the end of the text."""
    for token in Tokens(text).tokens[:-1]:
        cut = text[: token.position].rstrip()
        if position_in_torch(cut) == len(cut):
            with pytest.raises(SchemaError) as caught:
                parse_schema(cut)
            assert len(cut) == caught.value.position, cut


@four
@pytest.mark.parametrize(
    "text",
    [
        "f(int a,) -> int",
        "f(int) -> int",
        "f(Tensor(a,b) x) -> int",
        "f(Tensor(!) x) -> int",
        "f(int[x] a) -> int",
        "f(Tensor(a -> b!) x) -> int",
        "f(Tensor?(a!) x) -> int",
        "f(int a) -> int b=2",
        "f(int a) -> int b c",
        "f(int a) -> (*, int)",
        "f(int @a) -> int",
        # These are ordinary names, although kinds of tokens have the same names.
        "f(int[number] a) -> int",
        "f(int a) -> int b end",
    ],
)
def test_what_does_not_fit_is_refused(text: str) -> None:
    """The position is that of the first token that is not allowed."""
    with pytest.raises(SchemaError) as caught:
        parse_schema(text)

    wanted = position_in_torch(text)
    assert wanted == caught.value.position, f"{text}\n{'^':>{wanted + 1}} is the first wrong token"


@four
@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("f(..., int a) -> int", 5),
        ("f(int a) -> (..., int)", 16),
        ("f(Tensor(*|a) x) -> int", 10),
    ],
)
def test_nothing_comes_after_dots_or_beside_a_wildcard(text: str, wanted: int) -> None:
    """PyTorch refuses these texts too, one token later."""
    assert position_in_torch(text) is not None
    with pytest.raises(SchemaError) as caught:
        parse_schema(text)

    assert wanted == caught.value.position, f"{text}\n{'^':>{wanted + 1}} is the first wrong token"
