"""Names of lectures and katas as people type them, and the answer to those that do not exist."""

from __future__ import annotations

from pathlib import Path

import pytest

from plugins.layout import Course
from plugins.layout import Kata
from plugins.layout import Lecture
from plugins.names import UnknownNameError
from plugins.names import katas_named
from plugins.names import nearest


def a_lecture(name: str, *katas: str) -> Lecture:
    """Return a lecture with katas of these names."""
    found = [Kata(name, kata, "T", "lab", (), (), (), (), (), (), (), Path(name)) for kata in katas]
    return Lecture(name, "T", {}, tuple(found), Path(name))


MANY = [f"k{number:02}_name{number}" for number in range(5, 30)]
COURSE = Course(
    (
        a_lecture("lecture04", "k01_schema", "k03_clamp"),
        a_lecture("lecture10", "k01_tracer", *MANY),
        a_lecture("lecture11"),
    ),
    (),
)


@pytest.mark.parametrize(
    "name",
    [
        "lecture04/k03_clamp",
        "lecture04/k03",
        "katas/lecture04/k03_clamp.py",
        "katas/lecture04/csrc/k03_clamp.cpp",
        "katas\\lecture04\\k03_clamp.py",
        "./katas/lecture04/test_k03_clamp.py::test_x",
        "/home/somebody/lectures/katas/lecture04/test_k03_clamp.py",
        "k03_clamp",
        "k03",
    ],
)
def test_a_kata_has_many_names(name: str) -> None:
    """What the shell completes is one of them, and what is shown anywhere."""
    assert ["lecture04/k03_clamp"] == [kata.id for kata in katas_named(COURSE, name)]


def test_a_lecture_is_all_its_katas() -> None:
    """With or without the slash that the shell adds, and even if it has none yet."""
    for name in ("lecture04", "lecture04/", "katas/lecture04"):
        assert ["k01_schema", "k03_clamp"] == [kata.name for kata in katas_named(COURSE, name)]
    assert [] == katas_named(COURSE, "lecture11")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("lecture4", "no lecture is called 'lecture4'; there are: lecture04, "),
        ("lecture05/k03_clamp", "no lecture is called 'lecture05'; there are: "),
        (
            "lecture04/k03_calmp",
            "no kata is called 'lecture04/k03_calmp'; there are:\n  lecture04/k03_clamp, ",
        ),
        ("tracre", "no kata is called 'tracre'; there are: lecture10/k01_tracer, "),
        ("k01", "'k01' may be: lecture04/k01_schema, lecture10/k01_tracer"),
        ("", "no kata is called ''; there are: "),
    ],
)
def test_what_does_not_exist_is_answered_with_what_does(name: str, message: str) -> None:
    """The nearest first."""
    with pytest.raises(UnknownNameError) as caught:
        katas_named(COURSE, name)

    assert " ".join(message.split()) in " ".join(str(caught.value).split())
    assert [] == [line for line in str(caught.value).splitlines() if len(line) > 80]


def test_a_long_list_is_cut() -> None:
    """Twenty names are enough, and the number of the others."""
    with pytest.raises(UnknownNameError, match=r"and 8\s+more$"):
        katas_named(COURSE, "clamps")


def test_the_nearest_comes_first() -> None:
    """By the letters that two names share, in order."""
    assert ["k03_clamp", "k04_lamp", "k01_schema"] == nearest(
        "clamp", ["k01_schema", "k04_lamp", "k03_clamp"]
    )
