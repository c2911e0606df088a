"""Rewrites what CUDA C++ adds to C++, so a host compiler accepts a ``.cu`` file.

It rewrites a few things, each on its own lines, so messages name the learner's lines::

    axpy<<<grid, block>>>(n, x)     simt::kernel(SIMT_NAME(axpy), simt::Config(grid, block), ...
    __shared__ float a[32];         struct simt_a { float a[32]; }; auto& a = simt::shared(...
    extern __shared__ float b[];    float* b = static_cast<float*>(simt::dynamic("b", ...
    __device__ int c = 3;           int c = 3; ... simt::watch(simt::Where::Device, c, "c");
    cudaLaunchKernel((void*)k, ...  cudaLaunchKernel(simt::named(SIMT_NAME(k), k), ...
    asm volatile("..." : ...)       simt::inline_ptx()

``plugins/cuda/csrc/simt.h`` defines everything else.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from plugins.cuda.variables import rewrite_variables
from plugins.native.languages import RewriteError
from plugins.tools.cxx import CLOSE
from plugins.tools.cxx import OPEN
from plugins.tools.cxx import code_of
from plugins.tools.cxx import line_number


if TYPE_CHECKING:
    from collections.abc import Iterator

    from plugins.cuda.variables import Edit


LAUNCH = re.compile(r"\bcudaLaunch(?:Cooperative)?Kernel\s*\(")
POINTER = r"(?:const\s+)?void\s*(?:const\s*)?\*"
CAST = re.compile(rf"\s*(?:\(\s*{POINTER}\s*\)|(?:reinterpret|static)_cast\s*<\s*{POINTER}\s*>)")
ASM = re.compile(r"\b(?:asm|__asm__|__asm)\b\s*(?:(?:volatile|__volatile__)\s*)?\(")
TEXTURE = re.compile(
    r"\bcuda(?:Texture|Surface)Object_t\b|\b(?:texture|surface)\s*<\s*\w+\s*,"
    r"|\b(?:tex[123]D\w*|surf[123]D\w*)\s*[<(]"
)
# Editors that know C++ only put a blank into them, which nvcc takes.
OPENING, CLOSING = re.compile(r"<<\s?<"), re.compile(r">>\s?>")


def rewrite_cuda(text: str) -> str:
    """Return C++ with the same lines.

    Raises
    ------
    RewriteError
        If a launch or a declaration is incomplete.
    """
    code = code_of(text)
    if found := TEXTURE.search(code):
        line = line_number(code, found.start())
        raise RewriteError(line, "textures and surfaces are not supported on the CPU")
    edits = [
        *_rewrite_launches(text, code),
        *_rewrite_pointers(text, code),
        *rewrite_variables(text, code),
        *_rewrite_asm(text, code),
    ]
    for start, end, new in sorted(edits, reverse=True):
        # Newlines that an edit removes are added again, to keep the numbers of the lines below.
        # Those of a macro's definition continue it.
        missing = re.findall(r"\\?\n", text[start:end])[new.count("\n") :]
        text = text[:start] + new + "".join(missing) + text[end:]
    return text


def _rewrite_launches(text: str, code: str) -> Iterator[Edit]:
    found = OPENING.search(code)
    while found:
        position = found.start()
        end, closed = _find_end(code, found.end())
        start = _find_name(code, position)
        name = " ".join(text[start:position].replace("\\\n", " ").split())
        if end < 0 or not name:
            what = "has no >>>" if name else "follows no kernel's name"
            raise RewriteError(line_number(text, position), f"<<< {what}")
        config = text[found.end() : end]
        call = f"[=](auto... simt_arguments) {{ {name}(simt_arguments...); }}"
        yield start, closed, f"simt::kernel(SIMT_NAME({name}), simt::Config({config}), {call})"
        found = OPENING.search(code, end)


def _find_end(code: str, position: int) -> tuple[int, int]:
    """Return where the first ``>>>`` outside brackets begins and ends, or -1."""
    depth = 0
    while position < len(code):
        if code[position] in OPEN:
            depth += 1
        elif code[position] in CLOSE:
            depth -= 1
        elif depth == 0 and (found := CLOSING.match(code, position)):
            return found.span()
        if depth < 0 or (depth == 0 and code[position] == ";"):
            break
        position += 1
    return -1, -1


def _find_name(code: str, position: int) -> int:
    """Return where the name that ends at `position` begins, with its template arguments."""
    # In a macro's definition the line before ends with a backslash.
    start = len(code[:position].rstrip(" \t\n\\"))
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


def _rewrite_pointers(text: str, code: str) -> Iterator[Edit]:
    """Yield kernels that are launched by address: a cast to ``void*`` has hidden their types."""
    for found in LAUNCH.finditer(code):
        end = _argument_end(code, found.end())
        name = CAST.sub("", text[found.end() : end], count=1).strip()
        while name.startswith("(") and name.endswith(")"):
            name = name[1:-1].strip()
        name = name.lstrip("&")
        yield found.end(), end, f"simt::named(SIMT_NAME({name}), {name})"


def _argument_end(code: str, position: int) -> int:
    depth = 0
    while position < len(code) and (depth or code[position] not in ",)"):
        depth += (code[position] in "([{<") - (code[position] in ")]}>")
        position += 1
    return position


def _rewrite_asm(text: str, code: str) -> Iterator[Edit]:
    """Yield inline PTX, which becomes a call that no compiler accepts where it is made."""
    for found in ASM.finditer(code):
        depth, end = 1, found.end()
        while end < len(code) and depth:
            depth += (code[end] in OPEN) - (code[end] in CLOSE)
            end += 1
        if '"' in text[found.start() : end]:
            yield found.start(), end, "simt::inline_ptx()"
