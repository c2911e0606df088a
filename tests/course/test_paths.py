"""Reads ``katas/paths.toml``: the paths through the course; each mistake gives one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from plugins.course.model import Course
from plugins.course.model import Kata
from plugins.course.model import Lecture
from plugins.course.names import UnknownNameError
from plugins.course.paths import path_named
from plugins.course.paths import read_paths
from plugins.tools.toml import TomlError


def a_kata(name: str, lecture: str, minutes: int) -> Kata:
    """Return a kata that takes so many minutes."""
    folder = Path(lecture)
    return Kata(
        lecture, name, "T", "lab", (), (), (), (), (), (), (), folder, size="kata", minutes=minutes
    )


KATAS = [a_kata("k01_a", "lecture01", 10), a_kata("k02_b", "lecture01", 20)]
OTHERS = [a_kata("k01_c", "lecture02", 35)]
COURSE = Course(
    (
        Lecture("lecture01", "One", {}, tuple(KATAS), Path("lecture01")),
        Lecture("lecture02", "Two", {}, tuple(OTHERS), Path("lecture02")),
    ),
    (),
)
SOUND = """
[[path]]
name = "short"
title = "A short way"
about = "For those in a hurry."
katas = ["lecture01/k01_a", "lecture02/k01_c"]
"""


def write(root: Path, text: str) -> Path:
    """Write the file of a course in `root`, and return `root`."""
    (root / "katas").mkdir()
    (root / "katas/paths.toml").write_text(text)
    return root


def test_a_path_is_some_katas_in_order(tmp_path: Path) -> None:
    """It takes as long as they do."""
    [path] = read_paths(COURSE, write(tmp_path, SOUND))

    assert ("short", "A short way", "For those in a hurry.") == (path.name, path.title, path.about)
    assert (KATAS[0], *OTHERS) == path.katas
    assert 45 == path.minutes
    assert path == path_named("short", [path])


def test_a_course_may_have_none(tmp_path: Path) -> None:
    """A course without the file has no paths."""
    assert [] == read_paths(COURSE, tmp_path)
    with pytest.raises(UnknownNameError, match=r"'short': katas/paths.toml is missing"):
        path_named("short", [])


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('name = "short"\n', "", "path 1: name: expected a string, found nothing"),
        ("about", "abuot", "path short: about: expected a string, found nothing"),
        ("k01_c", "k01_d", "katas: no kata is called 'lecture02/k01_d'; the nearest: *"),
        ('"lecture01/k01_a", "lecture02/k01_c"', '"lecture02/k01_c", "lecture01/k01_a"', "order"),
        ('"lecture01/k01_a", ', '"lecture02/k01_c", ', "path short: katas: expected each once"),
        ('title = "A', 'titel = "x"\ntitle = "A', "titel: expected one of about, katas, name,"),
        ("[[path]]", "more = 1\n[[path]]", "more: expected one of path"),
    ],
)
def test_a_mistake_is_one_line(tmp_path: Path, old: str, new: str, says: str) -> None:
    """With the file, the path and the key."""
    assert old in SOUND
    with pytest.raises(TomlError, match=says) as caught:
        read_paths(COURSE, write(tmp_path, SOUND.replace(old, new)))
    assert str(caught.value).startswith(f"{tmp_path}/katas/paths.toml: ")
