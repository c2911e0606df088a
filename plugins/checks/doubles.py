"""Reads a CUDA source for arithmetic in double, which is slow on a GPU and which no result shows.

A double is often an accident: a literal without an ``f`` makes doubles of all that it meets. What
the compiler makes of a kernel would show it, but not everyone has that compiler.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from plugins.tools.cxx import code_of
from plugins.tools.cxx import line_number


if TYPE_CHECKING:
    from pathlib import Path


# The type, constants of it, and intrinsics that compute in it: M_PI, DBL_MAX, __dadd_rn.
NAMES = re.compile(r"\b(?:double\w*|float64_t|M_[A-Z0-9_]+|DBL_[A-Z0-9_]+|__d\w+_r[nzud])\b")
# A literal with a point or an exponent, and no suffix.
LITERAL = re.compile(
    r"(?<![\w.'])(?:\d[\d']*\.[\d']*|\.\d[\d']*|\d[\d']*(?=[eE]))(?:[eE][-+]?\d+)?(?![\w.'])"
)
# Not the end of a template's arguments, after which a call begins.
OPERATOR = r"(?:[-+*/]=?|[<>]=?(?!\()|[=!]=)"
# What stands before and after a literal that is one of two operands. A minus of its own is no
# operator, and in a call or a conversion the literal becomes what is asked for.
BEFORE = re.compile(rf"(?:[\w)\]]\s*{OPERATOR}[\s(]*[-+]?\s*|\bauto\s+\w+\s*[={{(]\s*[-+]?\s*)$")
AFTER = re.compile(rf"\s*{OPERATOR}\s*[\w(.!~-]")
# Shared memory of a launch has one type in a file: a template may declare the widest, as room.
ROOM = re.compile(r"\bextern\s+__shared__\s+(?:__align__\(\w+\)\s*)?double\s+\w+\s*\[\s*\]")
MACRO = re.compile(r"\s*#\s*define\b")


def forbids_doubles(source: Path, given: str = "") -> None:
    """Check that a CUDA source computes nothing in double.

    A literal without an ``f`` may initialise a float, or be converted to one; it may not meet
    another number.

    Parameters
    ----------
    source
        The learner's file.
    given
        The text at which the part begins that is not the learner's, such as a comment.

    Raises
    ------
    AssertionError
        That gives the lines.
    """
    __tracebackhide__ = True
    text = source.read_text(encoding="utf-8")
    own = text[: text.index(given)] if given else text
    lines = [f"{source.name}:{line} has {what}" for line, what in doubles(own)]
    if lines:
        raise AssertionError(
            "\n".join([*lines, "that makes a double of what it meets, write 1.0f"])
        )


def doubles(text: str) -> list[tuple[int, str]]:
    """Return what makes doubles in a CUDA source, with the number of its line."""
    # However long a comment between two operands is.
    code = ROOM.sub(_blank, re.sub(r"[^\S\n]+", " ", code_of(text)))
    found = [(match.start(), match[0]) for match in NAMES.finditer(code)]
    for match in LITERAL.finditer(code):
        line = code[code.rfind("\n", 0, match.start()) + 1 : match.start()]
        # An operand may stand in the line before.
        before, after = code[: match.start()], code[match.end() :]
        if MACRO.match(line) or BEFORE.search(before[-200:]) or AFTER.match(after):
            found.append((match.start(), match[0]))
    return [(line_number(code, place), what) for place, what in sorted(found)]


def _blank(match: re.Match[str]) -> str:
    return " " + "\n" * match[0].count("\n")
