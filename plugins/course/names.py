"""Finds the course, its lectures and its katas by what people type; no pytest, no torch."""

from __future__ import annotations

import importlib.util
import os
import textwrap
from difflib import SequenceMatcher
from pathlib import Path
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Iterable

    from plugins.course.model import Course
    from plugins.course.model import Kata


KATAS = "katas"
WIDTH = 80
# How many names a message suggests.
MOST = 3


class UnknownNameError(ValueError):
    """No lecture or kata has this name; the message suggests the nearest of those that exist."""


def katas_named(course: Course, name: str) -> list[Kata]:
    """Return all katas of a lecture, or the one that a name such as ``lecture04/k02_clamp`` means.

    ``lecture04/k03`` is enough, and so is the path of the exercise or of the test module.

    Raises
    ------
    UnknownNameError
        If the name means nothing, or several katas.
    """
    plain = plain_name(name)
    lectures = {lecture.name: list(lecture.katas) for lecture in course.lectures}
    head, slash, rest = plain.partition("/")
    if not slash and head in lectures:
        return lectures[head]
    # A name without a lecture may belong to a kata of any lecture.
    among = lectures.get(head) or [kata for katas in lectures.values() for kata in katas]
    wanted = rest if head in lectures else plain
    found = [kata for kata in among if wanted in {kata.name, kata.id, kata.name.partition("_")[0]}]
    if len(found) == 1:
        return found
    if head.startswith("lecture") and head not in lectures:
        raise UnknownNameError(describe_unknown("lecture", head, lectures))
    if found:
        raise UnknownNameError(describe_ambiguous(plain, found))
    raise UnknownNameError(describe_unknown("kata", plain, [kata.id for kata in among]))


def plain_name(name: str) -> str:
    """Return ``lecture04/k02_clamp`` for this name, or for the path of one of the kata's files."""
    parts = [part for part in name.replace("\\", "/").split("/") if part not in {"", "."}]
    starts = [place for place, part in enumerate(parts) if part.startswith("lecture")]
    parts = parts[starts[-1] if starts else 0 :]
    if len(parts) < 2:  # noqa: PLR2004 - a lecture and a file
        return "/".join(parts)
    file = parts[-1].partition("::")[0]
    return f"{parts[0]}/{file.partition('.')[0].removeprefix('test_')}"


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """Return the known names, those that are spelled most like `name` first."""
    return sorted(known, key=lambda each: -SequenceMatcher(None, name, each).ratio())


def describe_ambiguous(name: str, katas: Iterable[Kata]) -> str:
    """Return a message that `name` may mean any of these katas."""
    names = ", ".join(kata.id for kata in katas)
    return textwrap.fill(f"{name!r} may be: {names}", WIDTH, subsequent_indent="  ")


def describe_unknown(kind: str, name: str, known: Iterable[str]) -> str:
    """Return a message that `name` is unknown, with the known names that are nearest to it."""
    names = ", ".join(nearest(name, known)[:MOST])
    text = f"no {kind} is called {name!r}; the nearest: {names}"
    return textwrap.fill(text, WIDTH, subsequent_indent="  ", break_on_hyphens=False)


def find_root(paths: Iterable[Path]) -> Path | None:
    """Return the course: the nearest folder above the first of the paths that has katas above it.

    pytest's rootdir may be another folder: that of ``-c``, or one that an editor has opened.
    """
    # Not resolved: pytest does not follow links either when it names what it collects.
    starts = (Path(os.path.normpath(path.absolute())) for path in paths)
    folders = (folder for start in starts for folder in (start, *start.parents))
    return next((it for it in folders if (it / KATAS / "__init__.py").is_file()), None)


def lecture_folders(root: Path) -> list[Path]:
    """Return the folders of the lectures in the course itself, in teaching order."""
    return sorted((root / KATAS).glob("lecture*/"))


def path_in_course(kata: Kata, root: Path) -> Path:
    """Return the test module as a file of the course, which it need not be.

    A lecture of another package is somewhere in ``site-packages``, elsewhere on each machine;
    ``lecture77/test_k01_root.py`` is short, the same everywhere, and an argument that works.
    """
    inside = kata.test.is_relative_to(root)
    return kata.test if inside else root / kata.lecture / kata.test.name


def name_for_pytest(kata: Kata, start: Path) -> str:
    """Return the argument by which pytest, started in the folder `start`, finds a kata's tests.

    That is the path, unless it leads to no course.
    """
    return os.path.relpath(kata.test, start) if find_root([kata.test]) else kata.id


def resolve_argument(course: Course, start: Path, argument: str, *, modules: bool) -> str:
    """Return an argument that names a lecture or a kata with its path instead, any other as it is.

    It may be the name, ``lecture77/k01_root``, or a node id; with `modules`, as ``--pyargs`` has
    it, a module. pytest takes paths, and would look for the settings of a path in
    ``site-packages`` there, and not in the course.
    """
    name, colons, test = argument.partition("::")
    if is_path(start / name):
        return argument
    found = (find_module(name) if modules else None) or find_named(course, name)
    folders = [lecture.folder for lecture in course.lectures]
    if found and any(found.is_relative_to(it) or it.is_relative_to(found) for it in folders):
        return f"{found}{colons}{test}"
    return argument


def restore_argument(course: Course, start: Path, argument: str) -> str:
    """Return a path among the arguments as a learner in `start` types it, with names again."""
    path, colons, test = argument.partition("::")
    file = start / path
    names = {} if find_root([file]) else {it.folder: it.name for it in course.lectures}
    if names:
        names |= {kata.test: kata.id for it in course.lectures for kata in it.katas}
    return f"{names.get(file) or os.path.relpath(file, start)}{colons}{test}"


def is_path(path: Path) -> bool:
    """Whether a path exists; what is too long to be one does not."""
    return os.path.exists(path)  # noqa: PTH110 - the method raises OSError


def find_named(course: Course, name: str) -> Path | None:
    """Return the folder of the lecture, or the test module of the kata, with this name."""
    try:
        katas = katas_named(course, name)
    except UnknownNameError:
        return None
    if len(katas) == 1:
        return katas[0].test
    return katas[0].folder if katas else None


def find_module(name: str) -> Path | None:
    """Return the folder of a package or the file of a module, without importing any.

    The answers that a lecture's package shows are decided when it is imported, which is later.
    """
    package, *rest = name.split(".")
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return None
    for folder in (spec and spec.submodule_search_locations) or ():
        path = Path(folder, *rest)
        for found in (path, path.with_name(f"{path.name}.py")):
            if found.exists():
                return found
    return None
