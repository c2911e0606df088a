"""Parse an operator's schema, which says what it takes, returns, aliases and writes.

    aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)

PyTorch uses such lines to check calls and to drop dead code. Write the parser, one function for
each line; x* is any number of x, x? is one or none:

    sets      "*"  or  name ("|" name)*
    alias     "(" sets "!"? ("->" sets)? ")"
    suffix    "?"                                  wraps: Type("Optional", (inner,))
              "[" size? "]" alias?                 wraps: Type("List", (inner,), size, alias)
    base      "(" type ("," type)* ")"             a tuple: Type("Tuple", (type, ...))
              generic "(" type ("," type)* ")" alias?      generic: a name of GENERIC
              name ("." name)* alias?              any other name
    type      base suffix*
    argument  type name ("=" default)?
    return    type name?
    item      argument  or  "*"                    of a list of arguments
              return                               of a list of returns
    list      "(" ")"  or  "(" item ("," item)* ")"   the last item may be "..."

1. Alias annotations: `parse_sets`, `parse_alias`.
2. Types: `parse_type`. A suffix wraps the type read so far.
3. Arguments and returns, then lists of them.
4. Whole schemas: every one in PyTorch. The parsers of names, sizes and default values are given,
   and so is the printer.

Each function consumes its own tokens and leaves the cursor on the next.

Begin with ``parse_sets(Tokens("a|b)"))``, on paper: where is the cursor afterwards?
Afterwards open ``FunctionSchema.parse`` in ``torchgen/model.py``, in site-packages.
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
# Marks an argument without a default; None cannot, because it is a valid default.
NO_DEFAULT: Final = "no default"


@dataclass(frozen=True)
class Alias:
    """The alias sets a value is in before and after the call, and whether it is written to."""

    before: frozenset[str]
    after: frozenset[str]
    write: bool = False


@dataclass(frozen=True)
class Type:
    """A type and the types in it; `size` is the 2 in ``int[2]``."""

    name: str
    params: tuple[Type, ...] = ()
    size: int | None = None
    alias: Alias | None = None


@dataclass(frozen=True)
class Argument:
    """An argument or a return value; the latter has no default, and its name may be empty."""

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
    """The text is not a schema; `position` is the index of the first token that is wrong."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(f"{message} at position {position}")
        self.position = position


class Token(NamedTuple):
    """A token: `kind` is "name", "number", "string", "mark" or "end"."""

    kind: str
    text: str
    position: int


class Tokens:
    """The tokens of a text, and a cursor. Given: do not change."""

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
        """Step over the next token if its text is `mark`, and return whether it was."""
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


# ---- given --------------------------------------------------------------------------------------


def parse_default(tokens: Tokens, type_: Type) -> Any:
    """Read the default value of an argument of that type. Given."""
    if type_.name != "List" or tokens.next.text == "None":
        return _parse_constant(tokens, type_)
    (element,) = type_.params
    if type_.size is not None and tokens.next.text != "[":
        # One value fills a list of known length: int[2] stride=1.
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


def parse_schema(text: str) -> Schema:
    """Read ``aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor``. Given.

    Raises
    ------
    SchemaError
        If the text is not a schema, with the position of the first wrong token.
    """
    tokens = Tokens(text)
    name = tokens.expect("name")
    if tokens.accept("::"):
        name += "::" + tokens.expect("name")
    overload = tokens.expect("name") if tokens.accept(".") else ""
    arguments, vararg = parse_list(tokens, returns=False)
    tokens.expect("->")
    if tokens.next.text == "(":
        returned, varret = parse_list(tokens, returns=True)
    elif tokens.accept("..."):
        returned, varret = [], True
    else:
        returned, varret = [parse_return(tokens)], False
    tokens.expect("end")
    return Schema(name, overload, tuple(arguments), tuple(returned), vararg, varret)


def parse_params(tokens: Tokens) -> tuple[Type, ...]:
    """Read types in parentheses: ``(int, Tensor)``. Given."""
    tokens.expect("(")
    found = [parse_type(tokens)]
    while tokens.accept(","):
        found.append(parse_type(tokens))
    tokens.expect(")")
    return tuple(found)


def parse_size(tokens: Tokens) -> int | None:
    """Read the size of a list, the 2 of ``int[2]``, if there is one. Given.

    PyTorch truncates ``int[2.5]`` to 2; here it is an error.
    """
    kind, text, position = tokens.next
    if kind != "number":
        return None
    if not text.isdigit():
        raise SchemaError(f"expected a whole number, found {text}", position)
    return int(tokens.expect("number"))


# ---- the exercise -------------------------------------------------------------------------------


def parse_sets(tokens: Tokens) -> frozenset[str]:
    """Read the names of alias sets: ``a|b``, or only ``*``."""
    # TODO
    raise NotImplementedError("parse_sets")


def parse_alias(tokens: Tokens) -> Alias | None:
    """Read an alias annotation, ``(a! -> *)``; return None if the next token is not "(".

    ``!`` means that the value is mutated. Without ``->`` the sets after the call are the same as
    before.
    """
    # TODO
    raise NotImplementedError("parse_alias")


def parse_type(tokens: Tokens) -> Type:
    """Read a type, its alias annotations included: ``Tensor(a!)[]?``.

    An annotation belongs to what is directly before it: in ``Tensor(a!)[]`` to the tensors in the
    list, in ``Tensor[](a!)`` to the list.
    """
    # TODO
    raise NotImplementedError("parse_type")


def parse_argument(tokens: Tokens, *, kwarg_only: bool) -> Argument:
    """Read an argument, ``int[2] stride=1``; `parse_default` reads what follows the ``=``."""
    # TODO
    raise NotImplementedError("parse_argument")


def parse_return(tokens: Tokens) -> Argument:
    """Read a return value, ``Tensor(a!) out``; its name may be missing."""
    # TODO
    raise NotImplementedError("parse_return")


def parse_list(tokens: Tokens, *, returns: bool) -> tuple[list[Argument], bool]:
    """Read a parenthesised list of arguments or returns, and report whether it ends with ``...``.

    Arguments after a ``*`` are `kwarg_only`; the star itself is not an argument. Nothing follows
    ``...``.
    """
    # TODO
    raise NotImplementedError("parse_list")


# ---- given --------------------------------------------------------------------------------------


def format_default(value: Any, type_: Type) -> str:
    """Write a default value of an argument of that type, as PyTorch does. Given."""
    if isinstance(value, list):
        is_sized = type_.params == (Type("int"),) and type_.size is not None
        if is_sized and len(value) > 1 and len(set(value)) == 1:
            return str(value[0])
        return f"[{', '.join(format_default(each, type_) for each in value)}]"
    if isinstance(value, float):
        # 17 digits distinguish every float64 from its neighbours; a whole number ends in a point.
        text = format(value, ".17g")
        return f"{text}." if text.lstrip("-").isdigit() else text
    if isinstance(value, str):
        return f'"{value.translate(ESCAPES)}"'
    return str(value)


ESCAPES: Final = str.maketrans(
    {"\\": r"\\", '"': r"\"", "'": r"\'", "\n": r"\n", "\t": r"\t", "\f": r"\f", "\v": r"\v"}
)


def format_schema(schema: Schema) -> str:
    """Write a schema on one line, as PyTorch prints it. Given."""
    overload = f".{schema.overload}" if schema.overload else ""
    arguments = []
    for argument in schema.arguments:
        if argument.kwarg_only and "*" not in arguments:
            arguments.append("*")
        arguments.append(_format_argument(argument))
    returns = [_format_argument(each) for each in schema.returns]
    if schema.vararg:
        arguments.append("...")
    if schema.varret:
        returns.append("...")
    result = ", ".join(returns)
    # A single tuple gets parentheses of its own: bare, it would be read as a list of returns.
    if len(returns) != 1 or result.startswith("("):
        result = f"({result})"
    return f"{schema.name}{overload}({', '.join(arguments)}) -> {result}"


def _format_argument(argument: Argument) -> str:
    text = f"{format_type(argument.type)} {argument.name}".rstrip()
    if argument.default is NO_DEFAULT:
        return text
    return f"{text}={format_default(argument.default, argument.type)}"


def format_type(type_: Type) -> str:
    """Write a type with its alias annotations. Given."""
    params = ", ".join(format_type(param) for param in type_.params)
    match type_.name:
        case "Optional":
            return f"{params}?"
        case "List":
            text = f"{params}[{'' if type_.size is None else type_.size}]"
        case "Tuple":
            text = f"({params})"
        case _:
            text = f"{type_.name}({params})" if params else type_.name
    return text + format_alias(type_.alias)


def format_alias(alias: Alias | None) -> str:
    """Write an alias annotation; nothing if there is none. Given."""
    if alias is None:
        return ""
    text = "|".join(sorted(alias.before)) + "!" * alias.write
    if alias.after != alias.before:
        text += " -> " + "|".join(sorted(alias.after))
    return f"({text})"
