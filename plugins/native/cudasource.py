"""Rewrites what CUDA C++ adds to C++, so that a host compiler takes a ``.cu`` file.

Three things, each on the lines where it stands, so that messages name the learner's lines::

    axpy<<<grid, block>>>(n, x)    simt::kernel(SIMT_NAME(axpy), simt::Config(grid, block), ...
    __shared__ float a[32];        struct simt_a { float a[32]; }; auto& a = simt::shared(...
    extern __shared__ float b[];   float* b = static_cast<float*>(simt::dynamic("b", ...

All else is defined by ``plugins/csrc/simt.h``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Iterator

    Edit = tuple[int, int, str]  # start, end, new text


HIDDEN = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'", re.DOTALL)
DYNAMIC = re.compile(
    r"extern\s+__shared__\s+(?:__align__\s*\(\s*\d+\s*\)\s*)?([\w:]+(?:\s+[\w:]+)*)\s+(\w+)"
    r"\s*\[\s*\]\s*;"
)
SHARED = re.compile(r"(?:\bstatic\s+)?\b__shared__\s+([^;]*);")
NAME = re.compile(r"\b\w+\s*(?=\[|$)")
OPEN, CLOSE = "([{", ")]}"


class CudaError(Exception):
    """CUDA C++ that cannot be rewritten: the line, from 1, and what is wrong."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(problem)
        self.line = line


def rewritten(text: str) -> str:
    """Return C++ with the same lines.

    Raises
    ------
    CudaError
        If a launch or a declaration is not complete.
    """
    # Where comments and strings were there are blanks: nothing is found in them.
    code = HIDDEN.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    edits = [*_launches(text, code), *_dynamic(code), *_shared(text, code)]
    for start, end, new in sorted(edits, reverse=True):
        # Lines that an edit joins are put back, for the lines below.
        missing = text.count("\n", start, end) - new.count("\n")
        text = text[:start] + new + "\n" * missing + text[end:]
    return text


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def _launches(text: str, code: str) -> Iterator[Edit]:
    position = code.find("<<<")
    while position >= 0:
        end = _end(code, position + 3)
        start = _callee(code, position)
        name = " ".join(text[start:position].split())
        if end < 0 or not name:
            what = "has no >>>" if name else "follows no kernel's name"
            raise CudaError(_line(text, position), f"<<< {what}")
        config = text[position + 3 : end]
        call = f"[](auto... simt_arguments) {{ {name}(simt_arguments...); }}"
        yield start, end + 3, f"simt::kernel(SIMT_NAME({name}), simt::Config({config}), {call})"
        position = code.find("<<<", end)


def _end(code: str, position: int) -> int:
    """Return where the ``>>>`` is that stands in no brackets, or -1."""
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


def _callee(code: str, position: int) -> int:
    """Return where the name, with its template arguments, begins that ends at `position`."""
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


def _dynamic(code: str) -> Iterator[Edit]:
    for found in DYNAMIC.finditer(code):
        kind, name = found[1], found[2]
        if _outside(code, found.start()):
            raise CudaError(
                _line(code, found.start()), f"declare extern __shared__ {name} inside the kernel"
            )
        new = f'{kind}* {name} = static_cast<{kind}*>(simt::dynamic("{name}", sizeof({kind})));'
        yield found.start(), found.end(), new


def _outside(code: str, position: int) -> bool:
    before = code[:position]
    return before.count("{") == before.count("}")


def _shared(text: str, code: str) -> Iterator[Edit]:
    for found in SHARED.finditer(code):
        if code[: found.start()].rstrip().endswith("extern"):
            continue
        line = _line(code, found.start())
        if _outside(code, found.start()):
            raise CudaError(line, "declare __shared__ variables inside the kernel")
        first, *others = _split(text[found.start(1) : found.end(1)])
        match = NAME.search(first)
        if not match or "=" in found[1]:
            raise CudaError(line, "expected __shared__ TYPE NAME[SIZE]; without a value")
        # The type stands before the first name, and counts for all.
        kind, names = first[: match.start()], [first[match.start() :], *others]
        yield found.start(), found.end(), " ".join(_variable(kind, name) for name in names)


def _variable(kind: str, declarator: str) -> str:
    name = declarator.replace("[", " ").split()[0]
    held = f"struct simt_{name} {{ {kind.strip()} {declarator.strip()}; }};"
    return f'{held} auto& {name} = simt::shared(&simt_{name}::{name}, "{name}");'


def _split(declarators: str) -> list[str]:
    """Split at the commas that stand in no brackets, template arguments included."""
    parts, depth = [""], 0
    for char in declarators:
        depth += (char in "([{<") - (char in ")]}>")
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return parts
