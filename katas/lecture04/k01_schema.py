"""Operator schemas: the line that says what an operator takes, returns, aliases and writes.

Every operator is registered with one line such as

    aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)

and PyTorch generates bindings, checks calls and functionalises mutations by what it says. Write
the parser and the printer of that little language. You get the dataclasses, the tokens and the
default values; you write six functions. The grammar, where ``x*`` means any number of x, ``x?``
means x or nothing, and what stands in quotes stands for itself:

    schema    name ("::" name)? ("." name)? list "->" returns
    list      "(" ")"  or  "(" item ("," item)* ")"
    item      type name ("=" default)?   or  "*"   or  "..."
    returns   return  or  "..."  or  the same kind of list, with return or "..." as item
    return    type name?
    type      base suffix*
    base      "(" type ("," type)* ")"                  a tuple, Type("Tuple", ...)
              Dict, Future, RRef or Await "(" type ("," type)* ")" alias?
              any other name ("." name)* alias?         a class is __torch__.torch.classes...
    suffix    "?"                                       wraps: Type("Optional", (inner,))
              "[" number? "]" alias?                    wraps: Type("List", (inner,), size)
    alias     "(" sets "!"? ("->" sets)? ")"
    sets      "*"  or  name ("|" name)*

- ``parse_schema``: the name keeps its namespace (``aten::add_``), the overload is "" if there is
  none. Arguments after ``*`` are `kwarg_only`. ``...`` comes last in its list and sets `vararg` or
  `varret`. If ``->`` is followed by a parenthesis, a list of returns begins, never a tuple.
- ``parse_type``: suffixes apply from the inside out. An annotation belongs to what stands directly
  before it: in ``Tensor(a!)[]`` to the tensors in the list, in ``Tensor[](a!)`` to the list.
- ``parse_alias``: ``!`` means written to. Without ``->``, the sets after the call are those before.
- ``format_alias``, ``format_type`` and ``format_schema`` undo the parser and write what PyTorch
  prints: ``, `` between items, ``*`` before the first keyword-only argument, blanks around
  ``->``, the names of alias sets in alphabetical order, ``-> sets`` only where it differs. One
  return stands without parentheses, unless its text begins with one (a tuple); none at all is
  ``()``, and a bare ``...`` needs none.

Text that does not fit the grammar raises `SchemaError` (a ValueError) at the position of the first
token that does not fit; ``Tokens.expect`` does that for you. Out of scope: whether a type exists,
how many types a Dict has, a list size that is no integer, ``Tensor!`` without parentheses, a ``*``
that comes twice or last.

About 90 lines. In PyTorch: ``torch/csrc/jit/frontend/function_schema_parser.cpp``
(``SchemaParser::parseDeclaration``), ``torch/csrc/jit/frontend/schema_type_parser.cpp``
(``SchemaTypeParser::parseAliasAnnotation``) and ``aten/src/ATen/core/function_schema.h``
(``operator<<``). A second parser, in Python, is ``torchgen/model.py`` (``FunctionSchema.parse``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from typing import Final
from typing import NamedTuple


# Types whose parentheses hold types: Dict(str, Tensor). After any other name, and after these
# parentheses, a parenthesis opens an alias annotation: Tensor(a!), Dict(str, t)(a!).
GENERIC: Final = frozenset({"Dict", "Future", "RRef", "Await"})
# The default of an argument that has none; None will not do, it is a default like others.
NO_DEFAULT: Final = "no default"


@dataclass(frozen=True)
class Alias:
    """The alias sets a value is in before and after the call, and whether it is written to."""

    before: frozenset[str]
    after: frozenset[str]
    write: bool = False


@dataclass(frozen=True)
class Type:
    """A type and the types in it; `size` is the 2 of ``int[2]``."""

    name: str
    params: tuple[Type, ...] = ()
    size: int | None = None
    alias: Alias | None = None


@dataclass(frozen=True)
class Argument:
    """An argument, or a return value: that has no default, and its name may be empty."""

    type: Type
    name: str = ""
    default: Any = NO_DEFAULT
    kwarg_only: bool = False


@dataclass(frozen=True)
class Schema:
    """A whole schema; `vararg` and `varret` say whether a list ends with ``...``."""

    name: str
    overload: str
    arguments: tuple[Argument, ...]
    returns: tuple[Argument, ...]
    vararg: bool = False
    varret: bool = False


class SchemaError(ValueError):
    """The text is no schema; `position` is the index in it of the first thing at fault."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(f"{message} at position {position}")
        self.position = position


class Token(NamedTuple):
    """A token: `kind` is "name", "number", "string", "mark" or "end"."""

    kind: str
    text: str
    position: int


class Tokens:
    """The tokens of a text, and a cursor. Given: nothing to change here."""

    PATTERN = re.compile(
        r"\s*(?:(?P<name>[A-Za-z_]\w*)"
        r"|(?P<number>(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)"
        r'|(?P<string>"(?:[^"\\]|\\.)*")'
        r"|(?P<mark>->|::|\.\.\.|[][(),*!|?=.-])"
        r"|(?P<end>$)"
        r"|(?P<unknown>.))"
    )

    def __init__(self, text: str) -> None:
        matches = self.PATTERN.finditer(text.rstrip())
        self.tokens = [Token(m.lastgroup, m[m.lastgroup], m.start(m.lastgroup)) for m in matches]
        self.cursor = 0

    @property
    def next(self) -> Token:
        """The token under the cursor; at the end of the text its kind is "end"."""
        return self.tokens[self.cursor]

    def accept(self, mark: str) -> bool:
        """Step over the next token if its text is `mark`, and say whether it was."""
        found = self.next.text == mark
        self.cursor += found
        return found

    def expect(self, wanted: str) -> str:
        """Step over the next token and return its text.

        It must be the mark `wanted`, or of the kind `wanted`: "name", "number", "string" or
        "end". If it is not, raise SchemaError with its position.
        """
        kind, text, position = self.next
        if wanted != (kind if wanted in self.PATTERN.groupindex else text):
            raise SchemaError(f"expected {wanted}, found {text or 'the end'}", position)
        self.cursor += 1
        return text


def parse_default(tokens: Tokens, type_: Type) -> Any:
    """Read the default value of an argument of that type. Given."""
    if type_.name != "List" or tokens.next.text == "None":
        return _parse_constant(tokens, type_)
    (element,) = type_.params
    if type_.size is not None and tokens.next.text != "[":
        # One value stands for all of a list whose length is known: int[2] stride=1.
        return [_parse_constant(tokens, element)] * type_.size
    tokens.expect("[")
    values = []
    while not tokens.accept("]"):
        if values:
            tokens.expect(",")
        values.append(_parse_constant(tokens, element))
    return values


def _parse_constant(tokens: Tokens, type_: Type) -> Any:
    for value in (True, False, None):
        if tokens.accept(str(value)):
            return value
    if tokens.next.kind == "string":
        return tokens.expect("string")[1:-1].encode().decode("unicode_escape")
    sign = "-" if tokens.accept("-") else ""
    number = sign + tokens.expect("number")
    is_float = type_.name == "float" or not number.lstrip("-").isdigit()
    return float(number) if is_float else int(number)


def format_default(value: Any, type_: Type) -> str:
    """Write a default value of an argument of that type, as PyTorch does. Given."""
    if isinstance(value, list):
        is_sized = type_.params == (Type("int"),) and type_.size is not None
        if is_sized and len(value) > 1 and len(set(value)) == 1:
            return str(value[0])
        return f"[{', '.join(format_default(each, type_) for each in value)}]"
    if isinstance(value, float):
        # 17 digits tell every float64 from its neighbours; a whole number ends in a point.
        text = format(value, ".17g")
        return f"{text}." if text.lstrip("-").isdigit() else text
    if isinstance(value, str):
        return f'"{value.translate(ESCAPES)}"'
    return str(value)


ESCAPES: Final = str.maketrans(
    {"\\": r"\\", '"': r"\"", "'": r"\'", "\n": r"\n", "\t": r"\t", "\f": r"\f", "\v": r"\v"}
)


def parse_schema(text: str) -> Schema:
    """Read ``aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor``.

    Raises
    ------
    SchemaError
        If the text is no schema, with the position of the first token that does not fit.
    """
    # TODO: make Tokens of the text; let a function of its own read an argument.
    raise NotImplementedError("parse_schema")


def parse_type(tokens: Tokens) -> Type:
    """Read a type from the cursor on, its alias annotations included: ``Tensor(a!)[]?``."""
    # TODO: a base, then as many suffixes as there are.
    raise NotImplementedError("parse_type")


def parse_alias(tokens: Tokens) -> Alias | None:
    """Read an alias annotation, ``(a! -> *)``; return None if the next token opens none."""
    # TODO
    raise NotImplementedError("parse_alias")


def format_schema(schema: Schema) -> str:
    """Write a schema on one line, as PyTorch prints it."""
    # TODO
    raise NotImplementedError("format_schema")


def format_type(type_: Type) -> str:
    """Write a type with its alias annotations."""
    # TODO
    raise NotImplementedError("format_type")


def format_alias(alias: Alias | None) -> str:
    """Write an alias annotation; nothing if there is none."""
    # TODO
    raise NotImplementedError("format_alias")
