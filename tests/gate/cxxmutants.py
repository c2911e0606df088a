"""One-edit mutants of a C++ or CUDA solution, made by patterns since there is no parser.

Comments, strings and preprocessor lines are blanked first, and another mutant replaces one
that does not compile, so the patterns may be rough.
"""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

from tests.gate.mutant import Mutant
from tests.gate.mutant import diff_of
from tests.gate.mutant import numbered


if TYPE_CHECKING:
    from collections.abc import Iterator

    # Operator, start, end, new text.
    Edit = tuple[str, int, int, str]


HIDDEN = re.compile(
    r"//[^\n]*|/\*.*?\*/|^[ \t]*#[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'",
    re.DOTALL | re.MULTILINE,
)
COMPARISONS = {
    "<": ("<=", ">="),
    "<=": ("<", ">"),
    ">": (">=", "<="),
    ">=": (">", "<"),
    "==": ("!=",),
    "!=": ("==",),
}
ARITHMETIC = {"+": "-", "-": "+", "*": "+", "/": "*", "%": "/", "+=": "-=", "-=": "+=", "*=": "+="}
CALLS = {"min": "max", "max": "min", "floor": "ceil", "ceil": "floor", "begin": "end"}
# The order of their arguments makes no difference.
COMMUTATIVE = {"min", "max", "minimum", "maximum"}
BINARY = re.compile(r"(?<=\s)(<=|>=|==|!=|<|>|\+=|-=|\*=|[-+*/%])(?=\s)")
INTEGER = re.compile(r"(?<![\w.])\d+(?![\w.])")
FLOATING = re.compile(r"(?<![\w.])(\d+\.\d*|\d*\.\d+)(f?)(?![\w.])")
# A whole statement on its own lines. One that begins with a type declares a name in use.
STATEMENT = re.compile(
    r"(?<=[;{}\n])[ \t]*(?=[A-Za-z_*+-])([^;{}\n]+(?:\n[^;{}\n]+)*);[ \t]*(?=\n)"
)
DECLARATION = re.compile(
    r"(const |auto |using |namespace |return|static |typedef |template)"
    r"|.*[\w>&*] [&*]?\w+( =|\(|\{|$)"
)
CONDITION = re.compile(r"\b(if|while)\s*(?:constexpr\s*)?\(")
PAIR = re.compile(r"\b\w+\((\w+), (\w+)\)")


def cxx_mutants(solution: str, stub: str, file: str) -> list[Mutant]:
    """Return every mutant of the learner's lines."""
    written = _written(solution, stub)
    code = HIDDEN.sub(_blank, solution)
    lines = solution.splitlines()
    mutants = []
    for operator, start, end, new in _edits(code):
        line = solution.count(
            "\n", 0, start + len(solution[start:end]) - len(solution[start:end].lstrip())
        )
        if line not in written:
            continue
        text = solution[:start] + new + solution[end:]
        function = _function(lines, line)
        mutants.append(Mutant(file, function, operator, line + 1, diff_of(solution, text), text))
    return numbered(mutants)


def _blank(found: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", found[0])


def _without_comments(text: str) -> list[str]:
    code = HIDDEN.sub(lambda found: _blank(found) if found[0][0] == "/" else found[0], text)
    return [line.rstrip() for line in code.splitlines()]


def _written(solution: str, stub: str) -> set[int]:
    """Return the numbers of the lines that are not in the stub, whatever is noted beside them."""
    lines = _without_comments(solution)
    same: set[int] = set()
    matcher = difflib.SequenceMatcher(None, _without_comments(stub), lines, autojunk=False)
    for block in matcher.get_matching_blocks():
        same.update(range(block.b, block.b + block.size))
    return set(range(len(lines))) - same


def _function(lines: list[str], line: int) -> str:
    """Return the name before the bracket on the nearest line above that is not indented."""
    for text in reversed(lines[: line + 1]):
        if found := re.match(r"(?![/#}{ \t]|namespace|using).*?([\w:~]+)\(", text):
            return found[1]
    return ""


def _edits(code: str) -> Iterator[Edit]:
    yield from _operators(code)
    yield from _constants(code)
    yield from _conditions(code)
    for found in STATEMENT.finditer(code):
        if not DECLARATION.match(" ".join(found[1].split())):
            yield "removed statement", found.start(1), found.end(), ";"
    for found in PAIR.finditer(code):
        if found[1] != found[2] and found[0].split("(")[0] not in COMMUTATIVE:
            new = f"{found[2]}, {found[1]}"
            yield "swapped arguments", found.start(1), found.end(2), new
    for found in re.finditer(r"\b(min|max|floor|ceil|begin)(?=\()", code):
        yield "call", found.start(), found.end(), CALLS[found[0]]


def _operators(code: str) -> Iterator[Edit]:
    for found in BINARY.finditer(code):
        for new in COMPARISONS.get(found[0], ()):
            yield "comparison", found.start(), found.end(), new
        if found[0] in ARITHMETIC:
            yield "arithmetic", found.start(), found.end(), ARITHMETIC[found[0]]
    for found in re.finditer(r"\+\+|--", code):
        yield "arithmetic", found.start(), found.end(), "--" if found[0] == "++" else "++"
    for found in re.finditer(r"&&|\|\|", code):
        new = "||" if found[0] == "&&" else "&&"
        # `Tensor&& x` is a type: without an operand before it, the mutant does not compile.
        yield "boolean", found.start(), found.end(), new
    for found in re.finditer(r"(?<=[\s(])!(?=[\w(])", code):
        yield "boolean", found.start(), found.end(), ""
    for found in re.finditer(r"(?<=[(,=] )-(?=\w)|(?<=\()-(?=\w)|(?<=return )-(?=\w)", code):
        yield "arithmetic", found.start(), found.end(), ""


def _constants(code: str) -> Iterator[Edit]:
    for found in INTEGER.finditer(code):
        for new in (int(found[0]) + 1, int(found[0]) - 1):
            yield "constant", found.start(), found.end(), str(new)
    for found in FLOATING.finditer(code):
        new_text = f"{float(found[1]) + 1.0}{found[2]}"
        yield "constant", found.start(), found.end(), new_text
    for found in re.finditer(r"\b(true|false)\b", code):
        yield "constant", found.start(), found.end(), "false" if found[0] == "true" else "true"


def _conditions(code: str) -> Iterator[Edit]:
    for found in CONDITION.finditer(code):
        depth, end = 1, found.end()
        while depth and end < len(code):
            depth += {"(": 1, ")": -1}.get(code[end], 0)
            end += 1
        for new in ("false",) if found[1] == "while" else ("true", "false"):
            yield "removed condition", found.end(), end - 1, new
