"""``nox -s new -- lecture02 strides "Contiguous strides"``: writes the files of a new kata.

The new kata is red for the right reasons: exercise and solution raise NotImplementedError, and
every text that is yours to write says TODO, which the layout check refuses.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from plugins.course.lectures import read_lecture
from plugins.course.model import KINDS
from plugins.course.model import SIZES
from tests.gate import cxxtemplates
from tests.gate import templates
from tests.gate.cases import package_of
from tests.gate.runner import HOME


if TYPE_CHECKING:
    from collections.abc import Sequence


# The line of a kata in a README, as in "3. `k03_item` (spark, 10 min): ...".
LISTED = re.compile(r"^(?:\d+\.|-) `k\d\d_\w+`.*\n", re.MULTILINE)
NATIVE = {"cpp": ".cpp", "cuda": ".cu"}
# What the table of a new kata states of its size: minutes are a guess until it is solved.
EFFORT = 'size = "{size}"\nminutes = {minutes}\ncore = {core}\n'
MINUTES = {"spark": 5, "kata": 30, "lab": 75}
ON = "It is on the core path (core = true)."
BESIDE = (
    "It is optional (core = false); on the core path, for which there is --core, it takes more."
)
UNSIZED = "{} states no sizes: leave out --size, or state those of its katas first"


def main(arguments: Sequence[str], root: Path = HOME) -> int:
    """Write the files and print the next steps."""
    parser = argparse.ArgumentParser(prog="new", description=__doc__)
    parser.add_argument(
        "lecture", help="lecture02, or the folder of one in a package; made if it does not exist"
    )
    parser.add_argument("name", help="one word or more_words, without the number")
    parser.add_argument("title", help="a title in words")
    parser.add_argument("--kind", choices=KINDS, default="lab")
    parser.add_argument("--size", choices=SIZES, help="default: kata, if the lecture states sizes")
    parser.add_argument(
        "--core", action="store_true", help="on the core path; default: the first of a lecture is"
    )
    parser.add_argument("--number", type=int, help="default: one more than the last")
    options = parser.parse_args(arguments)
    elsewhere = "/" in options.lecture
    folder = Path(options.lecture).resolve() if elsewhere else root / "katas" / options.lecture
    if not re.fullmatch(r"lecture\d\d", folder.name):
        parser.error(f"expected lectureNN, found {options.lecture!r}")
    if not re.fullmatch(r"[a-z][a-z0-9_]*", options.name):
        parser.error(f"expected a name in lower case and underscores, found {options.name!r}")
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
    if twin := [kata.name for kata in katas if kata.name[4:] == options.name]:
        parser.error(f"{options.lecture} already has {twin[0]}")
    name, size = f"k{number:02}_{options.name}", options.size or ("kata" if sized else "")
    # What everybody is to do is a decision; a lecture opens on its core path.
    minutes, core = MINUTES.get(size, 0), options.core or not katas
    values = {"size": size, "minutes": minutes, "core": str(core).lower()}
    effort = EFFORT.format_map(values) if size else ""
    told = f"{size}, {minutes} min{'' if core else ', optional'}" if size else ""
    written = _kata(folder, name, options.title, options.kind, (effort, told))
    lines = [os.path.relpath(path, root) for path in written]
    steps = templates.NEXT.format(
        lecture=folder.name, number=name[:3], told=_core_path(folder, core=core) if effort else ""
    )
    sys.stdout.write("\n".join(["wrote", *lines, steps.rstrip(), ""]))
    return 0


def _core_path(folder: Path, *, core: bool) -> str:
    """Return what the README has to say of the core path, now that there is a kata more."""
    lecture = read_lecture(folder)
    path = [kata for kata in lecture.katas if kata.core]
    minutes = sum(kata.minutes for kata in lecture.katas)
    return (
        f"{ON if core else BESIDE} README.md says how long the core path is, now"
        f" {len(path)} of the {len(lecture.katas)} katas, {lecture.minutes} minutes; all take"
        f" {minutes} minutes.\n"
    )


def with_entry(page: str, entry: str) -> str:
    """Return a README with the entry behind the last of its list of katas, or at its end."""
    found = [*LISTED.finditer(page)]
    end = found[-1].end() if found else len(page)
    return f"{page[:end]}{entry}\n{page[end:]}"


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


def _kata(folder: Path, name: str, title: str, kind: str, size: tuple[str, str]) -> list[Path]:
    effort, told = size
    native = kind in NATIVE
    file = f"csrc/{name}{NATIVE[kind]}" if native else f"{name}.py"
    values = {
        "lecture": folder.name,
        "package": package_of(folder),
        "item": next(iter(read_lecture(folder).syllabus)),
        "name": name,
        "number": name[:3],
        "place": str(int(name[1:3])),
        "told": f" ({told})" if told else "",
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
        folder / ".meta" / name / "wrong.toml": templates.WRONG,
    }
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_filled(text, values), encoding="utf-8")
    table, page = folder / "lecture.toml", folder / "README.md"
    table.write_text(table.read_text("utf-8") + _filled(templates.TABLE, values), encoding="utf-8")
    before = page.read_text(encoding="utf-8") if page.exists() else ""
    page.write_text(with_entry(before, _filled(templates.ENTRY, values)), encoding="utf-8")
    return [*texts, table, page]


def _filled(text: str, values: dict[str, str]) -> str:
    # Not str.format: the texts are full of braces.
    return re.sub(r"<(\w+)>", lambda found: values.get(found[1], found[0]), text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
