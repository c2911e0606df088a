"""The page of the real course for an invented learner: with every test failing, or as usual."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC
from datetime import datetime
from functools import cache
from itertools import cycle
from typing import TYPE_CHECKING

from plugins import ROOT
from plugins.course.files import content_of
from plugins.course.lectures import read_course
from plugins.course.paths import read_paths
from plugins.course.syllabus import read_syllabus
from plugins.guide.catalogue import read_catalogue
from plugins.progress.map import Place
from plugins.progress.pagedata import page_of
from plugins.progress.standing import LONGEST
from plugins.progress.standing import Results
from plugins.progress.standing import Standing
from plugins.progress.standing import TestOutcome


if TYPE_CHECKING:
    from plugins.course.model import Course
    from plugins.course.model import Kata
    from plugins.progress.pagedata import Page


# Makes up the place of a kata, by its number in the course.
Invented = Callable[[int, "Kata"], Place]
NOW = datetime(2026, 11, 22, 18, 30, tzinfo=UTC)
# What katas that somebody works on say, which differs from test to test.
MESSAGES = (
    (
        "AssertionError: strides of a tensor with a dimension of size 0: case {n}\n"
        "assert (3, 1, {n}) == (1, 1, {n})\n  \n  At index 0 diff: 3 != 1\n  \n  Full diff:\n"
        "    (\n  -     1,\n  ?     ^\n  +     3,\n  ?     ^\n        1,\n        {n},\n    )"
    ),
    (
        "AssertionError: Tensor-likes are not close!\n\nMismatched elements: {n} / 400 (1.2%)\n"
        "Greatest absolute difference: 0.9512{n} at index (2, 1) (up to 1e-05 allowed)\n"
        "Greatest relative difference: inf at index (0, {n}) (up to 1.3e-06 allowed)\n\n"
        "The derivative of `windows_of` | `as_strided` is <wrong> where @windows overlap: *each* "
        "element is counted #{n} times, see https://example.org/{n}"
    ),
    (
        "Failed: katas/lecture04/csrc/k02_clamp.cpp:{n}:14: error: no member named 'scalar_type' "
        "in namespace 'at::native'\n    auto type = at::native::scalar_type(self);\n"
        "                ~~~~~~~~~~~~^\n"
    ),
)


@cache
def real_course() -> Course:
    """Return the course as it is."""
    return read_course(sorted((ROOT / "katas").glob("lecture*/")))


def real_katas() -> list[Kata]:
    """Return its katas, in teaching order."""
    return list(real_course().katas)


def whole_page(place: Invented) -> Page:
    """Return the page of the real course, with the places that `place` makes up for its katas."""
    places = [place(number, kata) for number, kata in enumerate(real_katas())]
    catalogue = read_catalogue([ROOT / "episodes.toml"])
    syllabus = read_syllabus(ROOT / "syllabus.toml")
    return page_of(
        real_course(),
        places,
        syllabus,
        catalogue=catalogue,
        tag="v2.13.0",
        now=NOW,
        paths=read_paths(real_course(), ROOT),
    )


def untouched(_: int, kata: Kata) -> Place:
    """Return the place of a kata on a fresh clone."""
    return Place(kata, "new", Standing())


def solved(number: int, kata: Kata) -> Place:
    """Return the place of a kata that is solved."""
    tests = {name: TestOutcome("passed") for name in names_of(kata)}
    return tried(number, kata, tests)


def as_stub(number: int, kata: Kata) -> Place:
    """Return the place of a kata each of whose tests fails as with the stub."""
    text = kata.exercise.read_text(encoding="utf-8")
    missing = re.findall(r'NotImplementedError\("([^"]+)', text) or [kata.name]
    said = cycle(f"NotImplementedError: {name}" for name in missing)
    return tried(number, kata, {name: failed(next(said)) for name in names_of(kata)})


def all_wrong(number: int, kata: Kata) -> Place:
    """Return the place of a kata each of whose tests fails, with a long message of its own."""
    tests = {
        name: failed(MESSAGES[(number + n) % len(MESSAGES)].format(n=n))
        for n, name in enumerate(names_of(kata))
    }
    return tried(number, kata, tests)


def failed(message: str) -> TestOutcome:
    """Return the outcome of a failed test, as it is stored."""
    return TestOutcome("failed", message[:LONGEST])


def tried(number: int, kata: Kata, tests: dict[str, TestOutcome]) -> Place:
    """Return the place of a kata after a run of all its tests."""
    results = Results(content_of(kata), tests, len(tests))
    moment = NOW.isoformat()
    standing = Standing(300.0 + number * 311 % 2400, moment, {}, results)
    return Place(kata, results.state, standing, number * 5 % 7 // 3)


def names_of(kata: Kata) -> list[str]:
    """Return the tests of a kata by their names, as many as its proof has counted."""
    entry = kata.meta / "proof.json"
    count = json.loads(entry.read_text(encoding="utf-8"))["tests"]["all"]
    functions = re.findall(r"^def (test_\w+)", kata.test.read_text(encoding="utf-8"), re.MULTILINE)
    return [f"{functions[n % len(functions)]}[shape{n}-float32]" for n in range(count)]
