"""Where a lecture's README tells sizes and minutes, they are those of lecture.toml."""

from __future__ import annotations

import re

import pytest

from plugins import ROOT
from plugins.course.lectures import read_course
from plugins.course.lectures import read_lecture
from tests.gate.sizes import CORE
from tests.gate.sizes import LIMITS


# `k01_walk` (spark, 10 min): ...
TOLD = re.compile(r"`(k\d\d_\w+)` \(((?:spark|kata|lab), [^)]*)\)")
PAGES = {
    page.parent.name: text
    for page in sorted(ROOT.glob("katas/lecture*/README.md"))
    if TOLD.search(text := page.read_text(encoding="utf-8"))
}


@pytest.mark.parametrize("name", PAGES)
def test_the_readme_tells_sizes(name: str) -> None:
    """Each kata with its size, its minutes, and whether it is optional."""
    katas = read_lecture(ROOT / "katas" / name).katas

    expected = [f"`{kata.name}` ({kata.effort})" for kata in katas]
    told = [f"`{kata}` ({effort})" for kata, effort in TOLD.findall(PAGES[name])]
    assert expected == told, "the list of katas in README.md differs from lecture.toml"


@pytest.mark.parametrize("name", PAGES)
def test_the_readme_tells_the_core_path(name: str) -> None:
    """How many katas it has, and how many minutes they and all take."""
    lecture = read_lecture(ROOT / "katas" / name)
    core, every = (len([kata for kata in lecture.katas if kata.core or each]) for each in (0, 1))
    minutes = sum(kata.minutes for kata in lecture.katas)

    page = PAGES[name]
    told = re.findall(r"(\d+) of the (\d+) katas, (\d+) minutes\b.*?(\d+) minutes", page)
    whole = re.findall(r"\b[Aa]ll (\d+) katas, (\d+) minutes\b", page)
    # Where nothing is optional, one number of each is enough.
    right = [(every, minutes)] if core == every else [(core, every, lecture.minutes, minutes)]
    assert right == [tuple(map(int, each)) for each in whole or told], (
        f"README.md, expected: {core} of the {every} katas, {lecture.minutes} minutes ..."
        f" {minutes} minutes, or if none is optional: All {every} katas, {minutes} minutes"
    )


def test_each_lecture_with_sizes_tells_them() -> None:
    """Each that states them."""
    course = read_course(sorted(ROOT.glob("katas/lecture*/")))

    assert [*PAGES] == [lecture.name for lecture in course.lectures if lecture.katas[0].size]


def test_the_course_tells_what_an_evening_holds() -> None:
    """The most minutes of each size; all lectures state them."""
    page = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    course = read_course(sorted(ROOT.glob("katas/lecture*/")))
    plain = [lecture.name for lecture in course.lectures if not lecture.katas[0].size]

    assert f"a spark to warm up (5 to {LIMITS['spark'].minutes} minutes)" in page
    assert f"a kata (20 to {LIMITS['kata'].minutes})" in page
    assert CORE == 8 * 60
    assert "takes at most eight hours" in page
    assert [] == plain
