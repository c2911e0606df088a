"""What a proof rests on: the text of a kata and its answers, and the parts of the gate that decide.

`content_of` names each part with the SHA-256 of its text, and `key_of` makes one key of all. The
key leaves out titles, hints, episodes, the lecture's README, and the engine in plugins/: where
that changes, every solution and every stub is run again, and a sample of the proofs is made anew.
Of plugins/kit.py it holds what the kata uses, and of plugins/checks what is behind that.
"""

from __future__ import annotations

import json
import re
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from tests.gate.kit import kit_text
from tests.gate.syntax import syntax_of


if TYPE_CHECKING:
    from collections.abc import Iterator

    from plugins.course.model import Kata
    from tests.gate.cases import Gate


HERE = Path(__file__).parent
# The modules of this folder that decide whether a kata passes, by what they decide about.
DECIDES = {
    "all": (
        *(
            "answers",
            "cases",
            "checks",
            "content",
            "demands",
            "forks",
            "kit",
            "mutant",
            "mutation",
            "opened",
        ),
        *("outcome", "overlay", "protocol", "prove", "recorder", "repeats", "runner", "server"),
        *("syntax", "wrongrules"),
    ),
    "Python": ("pyedits", "pymutants", "pyoperators"),
    "C++": ("cxxmutants",),
}
# Of the whole course, beside the kata's own files and those that its lecture shares.
COMMON = ("katas/__init__.py", "katas/compat.py")
OWNER = re.compile(r"(?:test_)?(k\d\d)_")
NO_CONTENT = {"README.md", "lecture.toml"}
PIN = re.compile(r"^torch==(\d+\.\d+)", re.MULTILINE)


def content_of(gate: Gate, kata: Kata) -> dict[str, str]:
    """Return the digest of each part that a proof of the kata rests on, by path or name."""
    files = files_of(gate, kata)
    content = {
        path.relative_to(gate.root).as_posix(): _digest(_normal(path.read_bytes()))
        for path in files
    }
    if used := kit_text(gate.root, files):
        content["the kit"] = _digest(used.encode())
    languages = ["all", "Python"] + (["C++"] if kata.csrc else [])
    content |= {f"the gate ({language})": gate_digest(language) for language in languages}
    versions = kata.torch.versions if kata.torch else ""
    table = [kata.id, kata.kind, kata.needs, kata.csrc, versions]
    content["[[kata]] in lecture.toml"] = _digest(json.dumps(table).encode())
    content["torch"] = _digest(pinned_torch(gate.root).encode())
    return dict(sorted(content.items()))


def key_of(content: dict[str, str]) -> str:
    """Return the key of a proof that rests on this content."""
    return _digest(json.dumps(sorted(content.items())).encode())


def files_of(gate: Gate, kata: Kata) -> list[Path]:
    """Return the files that a proof rests on: the kata's, its lecture's, its answers."""
    found = [gate.root / name for name in COMMON]
    found += [path for path in _files(kata.folder) if _concerns(kata, path)]
    found.append(gate.tests / "wrong" / kata.lecture / f"{kata.name}.toml")
    for answer in gate.right(kata):
        found += _files(answer) if answer.is_dir() else [answer]
    return [path for path in found if path.is_file()]


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        hidden = any(part.startswith(".") or part == "__pycache__" for part in parts)
        if path.is_file() and not hidden and path.suffix != ".bak":
            yield path


def _concerns(kata: Kata, path: Path) -> bool:
    """Whether the file is the kata's own, or one that no kata of its lecture has for itself."""
    owner = OWNER.match(path.name)
    if owner:
        return kata.name.startswith(f"{owner[1]}_")
    return path.relative_to(kata.folder).as_posix() not in NO_CONTENT


def pinned_torch(root: Path) -> str:
    """Return the minor version of torch that the course is proved with, such as "2.13"."""
    file = root / "requirements.txt"
    found = PIN.search(file.read_text(encoding="utf-8")) if file.is_file() else None
    return found[1] if found else ""


@cache
def gate_digest(language: str, folder: Path = HERE) -> str:
    """Return the digest of the parts of the gate that decide about a language."""
    texts = [(folder / f"{name}.py").read_text(encoding="utf-8") for name in DECIDES[language]]
    return _digest("\n".join(map(syntax_of, texts)).encode())


def _normal(data: bytes) -> bytes:
    """Return the text with the line ends of Unix, whatever git has made of them."""
    return data.replace(b"\r\n", b"\n")


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()
