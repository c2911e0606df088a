"""What a proof rests on: the content of a kata, and nothing of the engine that runs it.

`content_of` names each part with the SHA-256 of what decides in it, and `key_of` makes one key of
all. Of Python that is the syntax without docstrings and messages, of C++ the tokens, of a wrong
answer what the edit makes of the solution and which test rejects it. So words, comments and
layout can change without a proof, and so can `plugins/` and the gate: `engine` and tests/README.md
say what answers for those.

A test that reads the source of an exercise (``forbids_tokens``, ``inspect.getsource``) may see a
comment there, and one that counts lines a line. Neither needs more in the key: a solution that a
test refuses for its comment is red in every run of tox, and a wrong answer is judged as an edit of
the solution that is green. The one comment that decides is the tier of a C++ source, and it is in.
"""

from __future__ import annotations

import ast
import json
import re
from functools import cache
from hashlib import sha256
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from plugins.tools.toml import TomlError
from tests.gate.answers import answers_file
from tests.gate.answers import read_answers
from tests.gate.cxxsyntax import cxx_syntax_of
from tests.gate.edits import edit_of
from tests.gate.mutant import normal
from tests.gate.shared import CXX
from tests.gate.shared import files_below
from tests.gate.shared import needed
from tests.gate.shared import own_and_shared
from tests.gate.syntax import deciding
from tests.gate.uses import EVERYTHING
from tests.gate.uses import names_used
from tests.gate.uses import used_text


if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from plugins.course.model import Kata
    from tests.gate.cases import Gate


COMPAT = "katas/compat.py"
# How the answers are laid over the katas; the engine's, like plugins/.
OVERLAY = "katas/__init__.py"
# The folders in that of a lecture whose files are run and not read.
CODE = re.compile(r"solutions/|csrc/|right/")
PIN = re.compile(r"^torch==(\d+\.\d+)", re.MULTILINE)


def content_of(gate: Gate, kata: Kata, opened: Iterable[str] = ()) -> dict[str, str]:
    """Return the digest of each part that a proof of the kata rests on, by its name.

    A file is named by its path in the lecture's folder. Of those that its katas share, `file_trace`
    names the ones that the runs of the proof have opened; the others are chosen by what the
    kata's files say.
    """
    files = _files(gate, kata, opened)
    content = {name: _deciding(name, path) for name, path in files.items()}
    compat = gate.root / COMPAT
    if compat.is_file() and (names := _uses_compat(files.values(), opened)):
        content[COMPAT] = _digest(used_text(compat.read_text(encoding="utf-8"), names))
    content |= _answers(kata)
    versions = kata.torch.versions if kata.torch else ""
    table = [kata.id, kata.kind, kata.needs, kata.csrc, versions]
    content["[[kata]] in lecture.toml"] = _digest(json.dumps(table))
    content["torch"] = _digest(pinned_torch(gate.root))
    return dict(sorted(content.items()))


def key_of(content: dict[str, str]) -> str:
    """Return the key of a proof that rests on this content."""
    return _digest(json.dumps(sorted(content.items())))


def names_of(gate: Gate, kata: Kata) -> dict[str, str]:
    """Return how the content names each file that a run of the kata may open."""
    files = {**_files(gate, kata, ()), **own_and_shared(kata)[1]}
    found = {gate.name_of(path): name for name, path in files.items()}
    return {**found, COMPAT: COMPAT, OVERLAY: ""}


def _files(gate: Gate, kata: Kata, opened: Iterable[str]) -> dict[str, Path]:
    """Return the kata's files, its right answers, and what it needs of the lecture's others."""
    files, shared = own_and_shared(kata)
    for answer in gate.right(kata):
        below = files_below(answer) if answer.is_dir() else {"": answer}
        files |= {f"right/{answer.name}/{name}".rstrip("/"): path for name, path in below.items()}
    names = needed(kata, files.values(), shared) | (shared.keys() & {*opened})
    return {**files, **{name: shared[name] for name in names}}


def _deciding(name: str, path: Path) -> str:
    """Return the digest of what decides of a file, whatever line ends git has given it.

    Of a folder of data that is every letter, of a program in it too.
    """
    code = not PurePosixPath(name).parent.name or CODE.match(name)
    if code and (path.suffix == ".py" or path.suffix in CXX):
        return _digest_of_source(path.read_text(encoding="utf-8"), path.suffix)
    return sha256(path.read_bytes().replace(b"\r\n", b"\n")).hexdigest()


@cache
def _digest_of_source(text: str, suffix: str) -> str:
    try:
        return _digest(deciding(text) if suffix == ".py" else cxx_syntax_of(text))
    except SyntaxError:
        # The run of the kata fails.
        return _digest(text)


def _uses_compat(files: Iterable[Path], opened: Iterable[str]) -> set[str]:
    """Return the names that files use of katas/compat.py; all where only a run has shown it."""
    found: set[str] = set()
    for path in files:
        if path.suffix == ".py" and "compat" in (text := path.read_text(encoding="utf-8")):
            try:
                found |= names_used(ast.parse(text), "katas", "compat")
            except SyntaxError:
                continue
    return found or ({EVERYTHING} if COMPAT in opened else set())


def _answers(kata: Kata) -> dict[str, str]:
    """Return the digests of the wrong answers and of the mutants that are listed, in any order."""
    file = answers_file(kata)
    try:
        answers = read_answers(file)
    except TomlError:
        # The rules report the file.
        return {"wrong answers": _digest(file.read_text("utf-8") if file.is_file() else "")}
    sources: dict[str, tuple[str, ast.Module | None]] = {}
    wrong = []
    for answer in answers.wrong:
        if answer.file not in sources:
            sources[answer.file] = _source(kata.folder / "solutions" / answer.file)
        versions = answer.torch.versions if answer.torch else ""
        edit = edit_of(*sources[answer.file], answer)
        wrong.append([answer.rejected_by, answer.file, versions, edit])
    equivalent = [
        [listed.file, listed.function, listed.operator, normal(listed.diff), listed.nth]
        for listed in answers.equivalent
    ]
    return {
        "wrong answers": _digest(json.dumps(sorted(wrong))),
        "equivalent mutants": _digest(json.dumps(sorted(equivalent))),
    }


def _source(path: Path) -> tuple[str, ast.Module | None]:
    """Return the text of a solution, and its syntax tree if it is Python."""
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    try:
        return text, ast.parse(text) if path.suffix == ".py" else None
    except SyntaxError:
        return text, None


def pinned_torch(root: Path) -> str:
    """Return the minor version of torch that the course is proved with, such as "2.13"."""
    file = root / "requirements.txt"
    found = PIN.search(file.read_text(encoding="utf-8")) if file.is_file() else None
    return found[1] if found else ""


def text_of(kata: Kata) -> str:
    """Return the digest of all words of the stub and the tests."""
    texts = [path.read_text(encoding="utf-8") for path in (kata.exercise, kata.test)]
    return _digest(json.dumps(texts))


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()
