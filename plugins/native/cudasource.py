"""Rewrites what CUDA C++ adds to C++, so a host compiler accepts a ``.cu`` file.

It rewrites three things, each on its own lines, so messages name the learner's lines::

    axpy<<<grid, block>>>(n, x)    simt::kernel(SIMT_NAME(axpy), simt::Config(grid, block), ...
    __shared__ float a[32];        struct simt_a { float a[32]; }; auto& a = simt::shared(...
    extern __shared__ float b[];   float* b = static_cast<float*>(simt::dynamic("b", ...

``plugins/native/csrc/simt.h`` defines everything else.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Iterator

# Where an edit begins and ends, and the text that replaces what stands there.
Edit = tuple[int, int, str]

# Comments, strings and characters.
HIDDEN = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'", re.DOTALL)
DYNAMIC = re.compile(
    r"extern\s+__shared__\s+(?:__align__\s*\(\s*\d+\s*\)\s*)?([\w:]+(?:\s+[\w:]+)*)\s+(\w+)"
    r"\s*\[\s*\]\s*;"
)
SHARED = re.compile(r"(?:\bstatic\s+)?\b__shared__\s+([^;]*);")
NAME = re.compile(r"\b\w+\s*(?=\[|$)")
OPEN, CLOSE = "([{", ")]}"


class CudaError(Exception):
    """CUDA C++ that cannot be rewritten: what is wrong, and the line, from 1."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(problem)
        self.line = line


def rewrite_cuda(text: str) -> str:
    """Return C++ with the same lines.

    Raises
    ------
    CudaError
        If a launch or a declaration is incomplete.
    """
    # Comments and strings become blanks: nothing is found in them.
    code = HIDDEN.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    edits = [*_rewrite_launches(text, code), *_rewrite_dynamic(code), *_rewrite_shared(text, code)]
    for start, end, new in sorted(edits, reverse=True):
        # Newlines that an edit removes are added again, to keep the numbers of the lines below.
        missing = text.count("\n", start, end) - new.count("\n")
        text = text[:start] + new + "\n" * missing + text[end:]
    return text


def _line_number(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def _rewrite_launches(text: str, code: str) -> Iterator[Edit]:
    position = code.find("<<<")
    while position >= 0:
        end = _find_end(code, position + 3)
        start = _find_name(code, position)
        name = " ".join(text[start:position].split())
        if end < 0 or not name:
            what = "has no >>>" if name else "follows no kernel's name"
            raise CudaError(_line_number(text, position), f"<<< {what}")
        config = text[position + 3 : end]
        call = f"[](auto... simt_arguments) {{ {name}(simt_arguments...); }}"
        yield start, end + 3, f"simt::kernel(SIMT_NAME({name}), simt::Config({config}), {call})"
        position = code.find("<<<", end)


def _find_end(code: str, position: int) -> int:
    """Return the position of the first ``>>>`` outside brackets, or -1."""
    depth = 0
    while position < len(code):
        if code[position] in OPEN:
            depth += 1
        elif code[position] in CLOSE:
            depth -= 1
        elif depth == 0 and code.startswith(">>>", position):
            return position
        if depth < 0 or (depth == 0 and code[position] == ";"):
            break
        position += 1
    return -1


def _find_name(code: str, position: int) -> int:
    """Return where the name that ends at `position` begins, with its template arguments."""
    start = len(code[:position].rstrip())
    if code[start - 1 : start] == ">":
        depth = 0
        while start > 0:
            start -= 1
            depth += {">": 1, "<": -1}.get(code[start], 0)
            if depth == 0:
                break
        else:
            return position
        start = len(code[:start].rstrip())
    while start > 0 and re.match(r"[\w:]", code[start - 1]):
        start -= 1
    return start


def _rewrite_dynamic(code: str) -> Iterator[Edit]:
    for found in DYNAMIC.finditer(code):
        kind, name = found[1], found[2]
        if _outside_functions(code, found.start()):
            raise CudaError(
                _line_number(code, found.start()),
                f"declare extern __shared__ {name} inside the kernel",
            )
        new = f'{kind}* {name} = static_cast<{kind}*>(simt::dynamic("{name}", sizeof({kind})));'
        yield found.start(), found.end(), new


def _outside_functions(code: str, position: int) -> bool:
    before = code[:position]
    return before.count("{") == before.count("}")


def _rewrite_shared(text: str, code: str) -> Iterator[Edit]:
    for found in SHARED.finditer(code):
        if code[: found.start()].rstrip().endswith("extern"):
            continue
        line = _line_number(code, found.start())
        if _outside_functions(code, found.start()):
            raise CudaError(line, "declare __shared__ variables inside the kernel")
        first, *others = _split_declarators(text[found.start(1) : found.end(1)])
        match = NAME.search(first)
        if not match or "=" in found[1]:
            raise CudaError(line, "expected __shared__ TYPE NAME[SIZE]; without a value")
        # The type stands before the first name and applies to all.
        kind, names = first[: match.start()], [first[match.start() :], *others]
        yield found.start(), found.end(), " ".join(_declare_variable(kind, name) for name in names)


def _declare_variable(kind: str, declarator: str) -> str:
    name = declarator.replace("[", " ").split()[0]
    held = f"struct simt_{name} {{ {kind.strip()} {declarator.strip()}; }};"
    return f'{held} auto& {name} = simt::shared(&simt_{name}::{name}, "{name}");'


def _split_declarators(declarators: str) -> list[str]:
    """Split at the commas outside brackets, those of template arguments included."""
    parts, depth = [""], 0
    for char in declarators:
        depth += (char in "([{<") - (char in ")]}>")
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return parts
