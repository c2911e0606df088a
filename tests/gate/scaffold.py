"""``nox -s new -- lecture02 strides "Contiguous strides"``: writes the files of a new kata.

The new kata is red for the right reasons: exercise and solution raise NotImplementedError, and
every text that is yours to write says TODO, which the layout check refuses.
"""

from __future__ import annotations

import argparse
import re
import sys
from typing import TYPE_CHECKING

from plugins.course.lectures import read_lecture
from plugins.course.model import KINDS
from plugins.course.model import SIZES
from tests.gate import cxxtemplates
from tests.gate import templates
from tests.gate.runner import HOME


if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


NATIVE = {"cpp": ".cpp", "cuda": ".cu"}
# What the table of a new kata states of its size: minutes are a guess until it is solved.
EFFORT = 'size = "{size}"\nminutes = {minutes}\ncore = true\n'
MINUTES = {"spark": 5, "kata": 30, "lab": 75}
UNSIZED = "{} states no sizes: leave out --size, or state those of its katas first"


def main(arguments: Sequence[str], root: Path = HOME) -> int:
    """Write the files and print the next steps."""
    parser = argparse.ArgumentParser(prog="new", description=__doc__)
    parser.add_argument("lecture", help="lecture02; created if it does not exist")
    parser.add_argument("name", help="one word or more_words, without the number")
    parser.add_argument("title", help="a title in words")
    parser.add_argument("--kind", choices=KINDS, default="lab")
    parser.add_argument("--size", choices=SIZES, help="default: kata, if the lecture states sizes")
    parser.add_argument("--number", type=int, help="default: one more than the last")
    options = parser.parse_args(arguments)
    if not re.fullmatch(r"lecture\d\d", options.lecture):
        parser.error(f"expected lectureNN, found {options.lecture!r}")
    if not re.fullmatch(r"[a-z][a-z0-9_]*", options.name):
        parser.error(f"expected a name in lower case and underscores, found {options.name!r}")
    folder = root / "katas" / options.lecture
    if not folder.exists():
        _lecture(folder)
    katas = read_lecture(folder).katas
    sized = any(kata.size for kata in katas)
    if options.size and katas and not sized:
        parser.error(UNSIZED.format(options.lecture))
    taken = [int(kata.name[1:3]) for kata in katas]
    number = options.number or max(taken, default=0) + 1
    if number in taken:
        parser.error(f"{options.lecture} already has a k{number:02}")
    name, size = f"k{number:02}_{options.name}", options.size or ("kata" if sized else "")
    effort = EFFORT.format(size=size, minutes=MINUTES[size]) if size else ""
    written = _kata(root, folder, name, options.title, options.kind, effort)
    lines = [str(path.relative_to(root)) for path in written]
    sys.stdout.write("\n".join(["wrote", *lines, templates.NEXT.format(lecture=folder.name), ""]))
    return 0


def _lecture(folder: Path) -> None:
    number = folder.name.removeprefix("lecture")
    folder.mkdir(parents=True)
    texts = {
        "__init__.py": templates.PACKAGE,
        "lecture.toml": templates.LECTURE,
        "README.md": templates.README,
    }
    for name, text in texts.items():
        (folder / name).write_text(text.format(number=number), encoding="utf-8")


def _kata(  # noqa: PLR0917 - what a template asks for
    root: Path, folder: Path, name: str, title: str, kind: str, effort: str
) -> list[Path]:
    native = kind in NATIVE
    file = f"csrc/{name}{NATIVE[kind]}" if native else f"{name}.py"
    values = {
        "lecture": folder.name,
        "name": name,
        "number": name[:3],
        "word": name[4:],
        "title": title,
        "kind": kind,
        "effort": effort,
        "file": file,
        "native": f'needs = ["cxx"]\ncsrc = ["{file}"]\n' if native else "",
    }
    stub = cxxtemplates.STUB if native else templates.STUB
    texts = {
        folder / file: stub,
        folder / "solutions" / file: cxxtemplates.SOLUTION if native else templates.SOLUTION,
        folder / f"test_{name}.py": cxxtemplates.TEST if native else templates.TEST,
        root / "tests" / "wrong" / folder.name / f"{name}.toml": templates.WRONG,
    }
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_filled(text, values), encoding="utf-8")
    for path, text in (
        (folder / "lecture.toml", templates.TABLE),
        (folder / "README.md", templates.ENTRY),
    ):
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        path.write_text(before + _filled(text, values), encoding="utf-8")
    return [*texts, folder / "lecture.toml", folder / "README.md"]


def _filled(text: str, values: dict[str, str]) -> str:
    # Not str.format: the texts are full of braces.
    return re.sub(r"<(\w+)>", lambda found: values.get(found[1], found[0]), text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
