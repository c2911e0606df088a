"""Rewrites variables of CUDA's memory spaces, for `plugins.cuda.source`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from plugins.native.languages import RewriteError
from plugins.tools.cxx import CLOSE
from plugins.tools.cxx import OPEN
from plugins.tools.cxx import TOKEN
from plugins.tools.cxx import line_number
from plugins.tools.cxx import without_directives


if TYPE_CHECKING:
    from collections.abc import Iterator

# Where an edit begins and ends, and the text that replaces what stands there.
Edit = tuple[int, int, str]

SPACE = re.compile(r"\b__(shared|device|constant|managed)__\b")
# How the braces of a namespace begin, which are no function's.
NAMESPACE = re.compile(r"\bnamespace\b[\w:\s]*$|\bextern\s*$")
ALIGNING = ("alignas", "__align__", "__attribute__", "__builtin_align__")
STORAGE = ("extern", "static", "inline", "__shared__", "__device__", "__constant__", "__managed__")
# Words that no declaration begins before.
ENDS = ("else", "do", "return", "public", "private", "protected")


def _outside_functions(code: str, position: int) -> bool:
    """Whether no brackets are open at `position` but the braces of namespaces.

    What is given to a macro stands where the macro does.
    """
    opened: list[bool] = []
    for brace in re.finditer(r"[{}()]", code[:position]):
        if brace[0] in "})":
            opened[-1:] = []
        elif brace[0] == "(":
            opened.append(True)
        else:
            before = max(code.rfind(end, 0, brace.start()) for end in ";{}")
            opened.append(not NAMESPACE.search(code[before + 1 : brace.start()].rstrip()))
    return not any(opened)


@dataclass(frozen=True)
class Declaration:
    """Variables of one declaration in a memory space.

    `kind` is their type, without storage but with alignment, and `names` are the declarators,
    each with its array bounds and its value.
    """

    start: int
    end: int
    space: str
    storage: frozenset[str]
    alignment: str
    kind: str
    names: tuple[str, ...]


def rewrite_variables(text: str, code: str) -> Iterator[Edit]:
    """Yield the edits of all declarations in a memory space; `code` is `text` without comments."""
    # A directive is no part of a declaration. What a macro declares stays as it is.
    plain = without_directives(code)
    done = 0
    for found in SPACE.finditer(plain):
        if found.start() < done:
            continue
        declared = _read_declaration(text, plain, found.start(), done)
        if declared is None:
            continue
        done = declared.end
        if declared.space == "shared":
            yield declared.start, declared.end, _shared(declared, code)
        elif "extern" not in declared.storage and _outside_functions(plain, declared.start):
            where = "Constant" if declared.space == "constant" else "Device"
            const = re.search(r"\b(?:const|constexpr)\b", declared.kind)
            section = "" if const else "SIMT_DEVICE "
            yield declared.start, declared.start, section
            names = [_name(name) for name in declared.names]
            yield declared.end, declared.end, "".join(_watched(where, name) for name in names)


def _watched(where: str, name: str) -> str:
    return f' SIMT_WATCH({where}, {name}, "{name}");'


def _read_declaration(text: str, code: str, position: int, first: int) -> Declaration | None:
    """Read the variables whose memory space stands at `position`; None if it is a function."""
    start = _declaration_start(code, position, first)
    end = _declaration_end(code, position)
    if end < 0:
        return None
    storage, alignment, rest = set(), [], []
    tokens = list(TOKEN.finditer(code, start, end - 1))
    i = 0
    while i < len(tokens):
        word = tokens[i][0]
        if word in STORAGE:
            storage.add(word)
        elif word in ALIGNING:
            closing = _matching(tokens, i + 1)
            alignment.append(text[tokens[i].start() : tokens[closing].end()])
            i = closing
        else:
            rest.append(tokens[i])
        i += 1
    # The names begin at the identifier before the first bracket, comma, equals sign or the end.
    names = _first_name(rest)
    if names < 1:
        line = line_number(code, position)
        raise RewriteError(line, "expected a type and a name after the space")
    kind = " ".join(text[token.start() : token.end()] for token in rest[:names])
    space = "shared" if "__shared__" in storage else (SPACE.match(code, position) or [""])[1]
    declarators = _split_declarators(text[rest[names].start() : end - 1])
    kept = frozenset(storage)
    return Declaration(start, end, space, kept, " ".join(alignment), kind, tuple(declarators))


def _declaration_start(code: str, position: int, first: int) -> int:
    """Return where the declaration begins whose memory space stands at `position`."""
    tokens = list(TOKEN.finditer(code, first, position))
    start, i = position, len(tokens) - 1
    while i >= 0:
        word, depth = tokens[i][0], 0
        if word in ")>":
            pair = "()" if word == ")" else "<>"
            while i >= 0:
                depth += (tokens[i][0] == pair[1]) - (tokens[i][0] == pair[0])
                if not depth:
                    break
                i -= 1
            i -= 1
            if (
                i < 0
                or (word == ")" and tokens[i][0] not in ALIGNING)
                or tokens[i][0] == "template"
            ):
                break
        elif word in ENDS or (word not in ("::", "*", "&") and not re.match(r"[A-Za-z_]", word)):
            break
        start = tokens[i].start()
        i -= 1
    return start


def _declaration_end(code: str, position: int) -> int:
    """Return the position behind the ``;`` of variables, or -1 if this is something else."""
    depth, valued = 0, False
    for token in TOKEN.finditer(code, position):
        word = token[0]
        if depth == 0 and word == ";":
            return token.end()
        valued |= depth == 0 and word == "="
        if depth == 0 and word in "({" and not valued:
            before = TOKEN.findall(code, position, token.start())[-1]
            if before not in ALIGNING and not (word == "{" and re.match(r"\w|\]", before)):
                return -1
        depth += (word in OPEN) - (word in CLOSE)
        if depth < 0:
            return -1
    return -1


def _matching(tokens: list[re.Match[str]], i: int) -> int:
    """Return the index of the token that closes the bracket at `i`, or of the last."""
    depth = 0
    for at in range(i, len(tokens)):
        depth += (tokens[at][0] in OPEN) - (tokens[at][0] in CLOSE)
        if depth == 0:
            return at
    return len(tokens) - 1


def _first_name(tokens: list[re.Match[str]]) -> int:
    """Return the index of the first variable's name, behind its type; -1 if there is none."""
    depth = 0
    for i, token in enumerate(tokens):
        if depth == 0 and token[0] in ("[", ",", "=", "{"):
            return i - 1
        depth += (token[0] == "<") - (token[0] == ">")
    return len(tokens) - 1


def _name(declarator: str) -> str:
    return re.split(r"[\[={\s]", declarator.strip().lstrip("*& "), maxsplit=1)[0]


def _shared(declared: Declaration, code: str) -> str:
    line = line_number(code, declared.start)
    outside = _outside_functions(code, declared.start)
    if any(re.search(r"=|\{", name) for name in declared.names):
        raise RewriteError(line, "expected __shared__ TYPE NAME[SIZE]; without a value")
    declare = _dynamic if "extern" in declared.storage else _static
    return " ".join(declare(declared, name.strip(), outside=outside) for name in declared.names)


def _dynamic(declared: Declaration, declarator: str, *, outside: bool) -> str:
    """Return a pointer to what the launch gives each block, whose size is in no declaration."""
    name, kind = _name(declarator), declared.kind
    bounds = declarator[len(name) :].strip()
    rows = re.sub(r"^\[[^\]]*\]\s*", "", bounds) if bounds else ""
    target = f"simt::Element<{kind}{rows}>" if rows else kind
    function = "simt::dynamic_file" if outside else "simt::dynamic"
    place = f'{function}("{name}", sizeof({kind}), simt::is_wide<{kind}>)'
    if not bounds:
        return f"{target}& {name} = *static_cast<{target}*>({place});"
    static = "static " if outside else ""
    pointer = f"{target}* const" if outside else f"{target}*"
    return f"{static}{pointer} {name} = static_cast<{target}*>({place});"


def _static(declared: Declaration, declarator: str, *, outside: bool) -> str:
    name, kind = _name(declarator), f"{declared.alignment} {declared.kind}".strip()
    if outside:
        return f"SIMT_DEVICE static {kind} {declarator};{_watched('Shared', name)}"
    held = f"struct simt_{name} {{ {kind} {declarator}; }};"
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
