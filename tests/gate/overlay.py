"""Lays an answer over a kata from a temporary folder: an edited solution or another one."""

from __future__ import annotations

import ast
import shutil
import textwrap
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Iterator

    from plugins.course.model import Kata
    from tests.gate.answers import Wrong


class EditError(ValueError):
    """An edit cannot be applied to the solution; the message says what to change."""


def edited(source: str, wrong: Wrong) -> str:
    """Return the solution's text with the wrong answer in it.

    Raises
    ------
    EditError
        If the text or function to replace is not found exactly once.
    """
    if wrong.function:
        return _with_body(source, wrong)
    count = source.count(wrong.replace)
    if count != 1:
        raise EditError(
            f"the text of `replace` is found {count} times in solutions/{wrong.file}, expected "
            f"once: copy more of the line, or its neighbours, from the current solution\n"
            f"{wrong.replace}"
        )
    return source.replace(wrong.replace, wrong.by)


def _with_body(source: str, wrong: Wrong) -> str:
    *classes, name = wrong.function.split(".")
    body: list[ast.stmt] = ast.parse(source).body
    for cls in classes:
        body = [s for c in body if isinstance(c, ast.ClassDef) and c.name == cls for s in c.body]
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    found = [node for node in body if isinstance(node, kinds) and node.name == name]
    if len(found) != 1:
        raise EditError(
            f"function {wrong.function!r} is found {len(found)} times in "
            f"solutions/{wrong.file}, expected once: write name or Class.name"
        )
    first, last = found[0].body[0], found[0].end_lineno
    assert last is not None
    lines = source.splitlines(keepends=True)
    indent = " " * (found[0].col_offset + 4)
    new = textwrap.indent(textwrap.dedent(wrong.body).strip("\n") + "\n", indent)
    return "".join([*lines[: first.lineno - 1], new, *lines[last:]])


@contextmanager
def laid_over(kata: Kata, texts: dict[str, str]) -> Iterator[Path]:
    """Yield a folder for ``KATAS_OVERLAY`` in which `texts` override the kata's own files."""
    with TemporaryDirectory(prefix="gate-overlay-") as folder:
        for file, text in texts.items():
            target = Path(folder) / kata.lecture / file
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        yield Path(folder)


@contextmanager
def right_laid_over(kata: Kata, answer: Path) -> Iterator[Path]:
    """Lay an alternative solution over the kata: a single file or a folder."""
    if answer.is_file():
        file = kata.exercise.relative_to(kata.folder).as_posix()
        with laid_over(kata, {file: answer.read_text(encoding="utf-8")}) as folder:
            yield folder
        return
    with TemporaryDirectory(prefix="gate-overlay-") as folder:
        shutil.copytree(answer, Path(folder) / kata.lecture)
        yield Path(folder)
