"""Reads a C++ or CUDA source for what an exercise must not use.

What runs inside a kernel of PyTorch can hide from every observer, so for C++ the text is what is
checked: by token, so that neither a comment nor a longer name counts, nor another spelling hides.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from plugins.tools.cxx import TOKEN
from plugins.tools.cxx import code_of


if TYPE_CHECKING:
    from pathlib import Path


# Kernels of PyTorch that are called without the dispatcher, and guards that hide from the
# profiler: with them a kata that counts operators sees nothing.
HIDDEN = (
    *("at::cpu", "at::cuda", "at::native", "at::meta", "at::compositeexplicitautograd"),
    *("at::compositeimplicitautograd", "DisableRecordFunctionGuard", "RecordFunctionGuard"),
    *("enableRecordFunction", "clearCallbacks", "clearThreadLocalCallbacks"),
)
ALIAS = re.compile(r"namespace\s+(\w+)\s*=\s*(?:::\s*)?([\w:\s]+?)\s*;")
USING = re.compile(r"using\s+namespace\s+(?:::\s*)?([\w:\s]+?)\s*;")


def forbids_tokens(source: Path, *names: str, allow: tuple[str, ...] = ()) -> None:
    """Check that a C++ or CUDA source uses none of some names, nor what hides from the profiler.

    Parameters
    ----------
    source
        The learner's file, such as ``extension.file``.
    names
        Namespaces, functions or classes: "at::native::add_out", "at::softmax", "__shfl_xor_sync".
        A namespace forbids all in it; a name without ``::`` counts wherever it stands.
    allow
        What of `HIDDEN` the brief itself asks for.

    Raises
    ------
    AssertionError
        That gives the line of the first use of each.
    """
    __tracebackhide__ = True
    forbidden = [*names, *(name for name in HIDDEN if name not in allow)]
    text = source.read_text(encoding="utf-8")
    found = uses(text, forbidden)
    lines = [f"{source.name}:{line} uses {name}" for name, line in found.items()]
    if lines:
        raise AssertionError("\n".join([*lines, "write that yourself, and do not hide it"]))


def uses(text: str, names: list[str]) -> dict[str, int]:
    """Return the line of the first use of each of these names that a C++ source uses."""
    code = code_of(text)
    opened = [_joined(match[1]) for match in USING.finditer(code)]
    aliases = {match[1]: _joined(match[2]) for match in ALIAS.finditer(code)}
    found: dict[str, int] = {}
    for spelled, line in _qualified(code):
        first, colons, rest = spelled.partition("::")
        full = f"{aliases.get(first, first)}{colons}{rest}"
        spellings = {full, *(f"{space}::{full}" for space in opened)}
        for name in names:
            if name not in found and any(_is_or_is_in(each, name) for each in spellings):
                found[name] = line
    return found


def _joined(name: str) -> str:
    """Return a qualified name without the spaces that it may have."""
    return re.sub(r"\s+", "", name)


def _is_or_is_in(spelled: str, name: str) -> bool:
    """Whether a qualified name is the forbidden one, ends in it or lies in its namespace."""
    return f"::{name}::" in f"::{spelled}::"


def _qualified(code: str) -> list[tuple[str, int]]:
    """Return the qualified names of a source, such as ``at::native::add``, with their lines."""
    names: list[tuple[str, int]] = []
    line = 1
    parts: list[str] = []
    glued = False
    position = 0
    for match in TOKEN.finditer(code):
        line += code.count("\n", position, match.start())
        position = match.start()
        word = match[0]
        if word == "::":
            glued = True
        elif word[0].isalpha() or word[0] == "_":
            if parts and not glued:
                names.append(("::".join(parts), line))
                parts = []
            parts.append(word)
            glued = False
        else:
            if parts:
                names.append(("::".join(parts), line))
            parts, glued = [], False
    return [*names, ("::".join(parts), line)]
