"""C++ and CUDA as a learner writes them: what of a text is code, and the tokens of that.

Each function keeps positions and lines.
"""

from __future__ import annotations

import re


# Comments, raw and other strings, and characters. A backslash goes on with a comment in the next
# line; an apostrophe between digits separates them.
NO_CODE = re.compile(
    r"//(?:\\\r?\n|[^\n])*|/\*.*?(?:\*/|\Z)"
    r'|\b(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"'
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?:\b(?:u8|[uUL])|(?<![0-9a-fA-F]))'(?:\\.|[^'\\\n])+'",
    re.DOTALL,
)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
TOKEN = re.compile(r"::|[^\W\d]\w*|[^\s\w]|\d[\w.']*")
OPEN, CLOSE = "([{", ")]}"


def code_of(text: str) -> str:
    """Return a source with blanks for comments, strings and characters: nothing is found there."""
    return NO_CODE.sub(_blank, text)


def without_directives(code: str) -> str:
    """Return code with blanks for the lines of the preprocessor."""
    return DIRECTIVE.sub(_blank, code)


def _blank(found: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", found[0])


def line_number(text: str, position: int) -> int:
    """Return the number of the line at `position`, from 1."""
    return text.count("\n", 0, position) + 1
