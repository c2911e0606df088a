"""C++ and CUDA as text that is the same for other comments and another layout.

A source is read as tokens, as the compiler does: text in quotes, raw text included, is one of
them, and a directive of the preprocessor ends with its line.
"""

from __future__ import annotations

import re
from functools import cache


PARTS = {
    "raw": r'(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"',
    "text": r"""(?:u8|[uUL])?"(?:\\.|[^"\\\n])*"|(?:u8|[uUL])?'(?:\\.|[^'\\\n])+'""",
    "comment": r"//(?:\\\r?\n|[^\n])*|/\*.*?(?:\*/|\Z)",
    "blank": r"(?:[^\S\n]|\\\r?\n)+",
    "number": r"\.?\d(?:'\w|[eEpP][-+]|[\w.])*",
    "word": r"\w+",
    "sign": (
        r"<<=|>>=|<=>|->\*|\.\.\.|::|->|\+\+|--|<<|>>|&&|\|\||\#\#|\.\*|[-+*/%&|^<>=!]=|[^\n]"
    ),
}
TOKEN = re.compile("|".join(f"(?P<{kind}>{part})" for kind, part in PARTS.items()), re.DOTALL)
# With the lines that a comment, raw text or a backslash puts together.
LINE = re.compile(f"(?:{'|'.join(PARTS.values())})+", re.DOTALL)
# The first line, which is a comment, says on which headers of PyTorch a source is built.
TIER = re.compile(r"// tier: \w+")


def cxx_syntax_of(text: str) -> str:
    """Return the tokens of a source."""
    tier = TIER.match(text)
    lines = [tier[0]] if tier else []
    lines += [tokens for found in LINE.finditer(text) if (tokens := _tokens(found[0]))]
    return "\0".join(lines)


@cache
def _tokens(line: str) -> str:
    """Return the tokens of a line; a blank counts where `#define` heeds it."""
    tokens: list[str] = []
    apart = False
    for found in TOKEN.finditer(line):
        if found["blank"] or found["comment"]:
            apart = True
            continue
        # `#define F (x)` is no macro with a parameter.
        if apart and found[0] == "(" and tokens[:1] == ["#"]:
            tokens.append(" ")
        tokens.append(found[0])
        apart = False
    if tokens[:1] == ["#"]:
        tokens.append("\n")
    return "\0".join(tokens)
