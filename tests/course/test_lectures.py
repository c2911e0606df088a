"""Reads ``lecture.toml``; each mistake gives one line."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from plugins.course.lectures import LEARNED
from plugins.course.lectures import read_course
from plugins.course.lectures import read_lecture
from plugins.course.model import Course
from plugins.course.model import EpisodeRef
from plugins.course.model import TorchNeed
from plugins.course.model import Upstream
from plugins.tools.toml import TomlError


if TYPE_CHECKING:
    from pathlib import Path


LECTURE = """
title = "A lecture"

[syllabus]
a = "the first line"

[[kata]]
name = "k02_later"
title = "The later kata"
kind = "cpp"
syllabus = ["a"]
episodes = [{ slug = "strides", why = "it is about strides" }]
upstream = ["aten/src/ATen/TensorUtils.cpp: computeStride"]
hints = ["one", "two", "three"]
after = ["k01_first"]
needs = ["cxx"]
csrc = ["csrc/k02_later.cpp"]
torch = ">=2.13"
torch_because = "older ones lack the operator"

[[kata]]
name = "k01_first"
title = "The first kata"
kind = "lab"
syllabus = ["a"]
episodes = []
upstream = []
hints = ["one", "two", "three"]
"""


SIZED = LECTURE.replace(
    'kind = "cpp"', 'kind = "cpp"\nsize = "lab"\nminutes = 60\ncore = false'
).replace('kind = "lab"', 'kind = "lab"\nsize = "spark"\nminutes = 5\ncore = true')


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A lecture's folder with a sound ``lecture.toml``."""
    folder = tmp_path / "lecture77"
    folder.mkdir()
    (folder / "lecture.toml").write_text(LECTURE)
    return folder


def test_katas_come_in_the_order_of_their_names(folder: Path) -> None:
    """The order of the tables in the file does not matter."""
    lecture = read_lecture(folder)

    assert [kata.name for kata in lecture.katas] == ["k01_first", "k02_later"]
    assert lecture.title == "A lecture"
    assert lecture.syllabus == {"a": "the first line"}


def test_a_kata_may_build_on_one_of_another_lecture(folder: Path) -> None:
    """By its id; one that does not exist is an error of the course, in one line."""
    text = LECTURE.replace('["k01_first"]', '["k01_first", "lecture76/k01_root"]')
    (folder / "lecture.toml").write_text(text)
    other = folder.with_name("lecture76")
    other.mkdir()
    (other / "lecture.toml").write_text(LECTURE.replace("k01_first", "k01_root"))
    sound = read_course([other, folder])
    alone = read_course([folder])
    (other / "lecture.toml").write_text(LECTURE)
    broken = read_course([other, folder])

    assert ["lecture77/k01_first", "lecture76/k01_root"] == sound.katas[-1].builds_on
    assert sound.errors == alone.errors == ()
    says = f"{folder}/lecture.toml: kata k02_later: after: no kata is called 'lecture76/k01_root'"
    assert (says,) == broken.errors


def test_a_kata_knows_its_files(folder: Path) -> None:
    """The exercise is the C++ source where there is one, else the Python module."""
    first, later = read_lecture(folder).katas

    assert first.id == "lecture77/k01_first"
    assert first.exercise == folder / "k01_first.py"
    assert first.test == folder / "test_k01_first.py"
    assert later.exercise == folder / "csrc/k02_later.cpp"
    assert later.episodes == (EpisodeRef("strides", "it is about strides"),)
    assert later.upstream == (Upstream("aten/src/ATen/TensorUtils.cpp", "computeStride"),)
    assert later.after == ("k01_first",)
    assert later.needs == ("cxx",)
    assert later.torch == TorchNeed(">=2.13", "older ones lack the operator")
    assert first.after == first.needs == first.csrc == ()
    assert first.torch is None


@pytest.mark.parametrize(
    ("was", "name"),
    [("k03_old", "{}/k03_old"), ("lecture02/k03_old", "lecture02/k03_old")],
)
def test_a_kata_may_have_been_another(folder: Path, was: str, name: str) -> None:
    """In an earlier edition, in this lecture or another; most katas have been none."""
    (folder / "lecture.toml").write_text(
        LECTURE.replace('kind = "lab"', f'kind = "lab"\nwas = "{was}"')
    )

    assert [name.format(folder.name), ""] == [kata.was for kata in read_lecture(folder).katas]


@pytest.mark.parametrize(
    "was", ["old", "k03", "a/b/k03_old", "katas/k03_old.py", "Lecture/k03_old"]
)
def test_what_a_kata_was_has_the_name_of_a_kata(folder: Path, was: str) -> None:
    """Anything else would find no answer, and say nothing."""
    (folder / "lecture.toml").write_text(
        LECTURE.replace('kind = "lab"', f'kind = "lab"\nwas = "{was}"')
    )

    with pytest.raises(TomlError, match=r"was: expected kNN_words or lecture04/kNN_words, found"):
        read_lecture(folder)


def test_a_kata_may_say_what_is_learned(folder: Path) -> None:
    """In two lines of a terminal; a kata of another package need not say it."""
    said = "`view` copies nothing. ".ljust(LEARNED, "x")
    (folder / "lecture.toml").write_text(
        LECTURE.replace('kind = "lab"', f'kind = "lab"\nlearned = "{said}"')
    )

    assert [said, ""] == [kata.learned for kata in read_lecture(folder).katas]


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("7", "7"),
        ('""', "0 characters, ''"),
        ('" "', "1 characters, ' '"),
        ('"one\\ntwo"', r"7 characters, 'one\ntwo'"),
        (f'"{"x" * (LEARNED + 1)}"', f"{LEARNED + 1} characters, '{'x' * (LEARNED + 1)}'"),
    ],
)
def test_what_is_learned_is_a_sentence(folder: Path, value: str, found: str) -> None:
    """One that fits its place on the screen; the error says how long it is."""
    (folder / "lecture.toml").write_text(
        LECTURE.replace('kind = "lab"', f'kind = "lab"\nlearned = {value}')
    )

    with pytest.raises(TomlError) as caught:
        read_lecture(folder)

    assert (
        f"{folder}/lecture.toml: kata k01_first: learned: expected a sentence in one line, of at "
        f"most 140 characters, found {found}"
    ) == str(caught.value)


def test_a_lecture_need_not_state_sizes(folder: Path) -> None:
    """Then all of its katas are core, and how long they take is not known."""
    lecture = read_lecture(folder)

    assert [("", 0, True)] * 2 == [(it.size, it.minutes, it.core) for it in lecture.katas]
    assert ["", ""] == [kata.effort for kata in lecture.katas]
    assert lecture.minutes == 0


def test_a_lecture_states_how_large_its_katas_are(folder: Path) -> None:
    """The time of the core path is that of its own katas."""
    (folder / "lecture.toml").write_text(SIZED)
    lecture = read_lecture(folder)

    assert ["spark, 5 min", "lab, 60 min, optional"] == [kata.effort for kata in lecture.katas]
    assert lecture.minutes == 5


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('size = "spark"', "", "kata k01_first: size: expected one of spark, kata, lab: a lecture"),
        ("minutes = 5", "", "kata k01_first: minutes: expected a number of minutes, at least 1: a"),
        ("core = true", "", "kata k01_first: core: expected true or false: a lecture states size,"),
        (
            'size = "spark"\nminutes = 5\ncore = true',
            "",
            "kata k01_first: size: expected one of spark, kata, lab: a lecture states size,",
        ),
        ('"spark"', '"tiny"', "k01_first: size: expected one of spark, kata, lab; found 'tiny'"),
        (
            "minutes = 5",
            "minutes = 0",
            "minutes: expected a number of minutes, at least 1, found 0",
        ),
        ("minutes = 5", 'minutes = "5"', "minutes, at least 1, found '5'"),
        ("minutes = 5", "minutes = true", "minutes, at least 1, found True"),
        ("core = true", "core = 1", "kata k01_first: core: expected true or false, found 1"),
    ],
)
def test_a_lecture_states_all_sizes_or_none(folder: Path, old: str, new: str, message: str) -> None:
    """What is missing of a kata would be a guess."""
    assert SIZED.count(old) == 1
    (folder / "lecture.toml").write_text(SIZED.replace(old, new))

    with pytest.raises(TomlError) as caught:
        read_lecture(folder)

    assert message in str(caught.value)


def test_a_broken_lecture_does_not_hide_the_others(folder: Path, tmp_path: Path) -> None:
    """Its error is one line; the sound lecture is read all the same."""
    course = read_course([tmp_path / "lecture00", folder])

    assert [lecture.name for lecture in course.lectures] == ["lecture77"]
    (error,) = course.errors
    assert "lecture00/lecture.toml: file: expected a readable UTF-8 file" in error
    assert "\n" not in error


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[[kata]]", "[[kata", "file: expected valid TOML"),
        ('title = "A lecture"', "", "title: expected a string, found nothing"),
        ('title = "A lecture"', "title = 3", "title: expected a string, found 3"),
        ('title = "A lecture"', 'title = " "', "title: expected a string that is not empty"),
        ('title = "A lecture"', 'titel = "A"\ntitle = "A"', "titel: expected one of kata,"),
        ('"the first line"', "1", "syllabus.a: expected a string, found 1"),
        ('name = "k01_first"', 'name = "first"', "kata 2: name: expected kNN_words"),
        ('name = "k01_first"', 'name = "k02_later"', "kata k02_later: name: expected once"),
        ('kind = "lab"', 'kind = "lob"', "kata k01_first: kind: expected one of lab, cpp"),
        (
            'hints = ["one", "two", "three"]\nafter',
            'hints = ["one"]\nafter',
            "kata k02_later: hints: expected 3 strings, found 1",
        ),
        (
            'hints = ["one", "two", "three"]\nafter',
            'hints = ["one", 2, "three"]\nafter',
            "kata k02_later: hints: expected an array of strings, found 2 in it",
        ),
        ('"k01_first"]', '"k00_none"]', "kata k02_later: after: expected one of k01_first,"),
        (
            '["a"]\nepisodes = []',
            '["b"]\nepisodes = []',
            "kata k01_first: syllabus: expected one of a; found 'b'",
        ),
        ('slug = "strides", ', "", "kata k02_later: episodes 1: slug: expected a string"),
        ("episodes = []", "episodes = [1]", "k01_first: episodes: expected an array of tables"),
        ("computeStride", "", 'kata k02_later: upstream: expected "path/in/pytorch: symbol"'),
        ('">=2.13"', '"2.13"', """kata k02_later: torch: expected ">=2.13" or the like, found"""),
        ('torch = ">=2.13"', "", "kata k02_later: torch: expected a string, found nothing"),
        ("torch_because", "# ", "kata k02_later: torch_because: expected a string, found"),
        ('needs = ["cxx"]', 'neads = ["cxx"]', "kata k02_later: neads: expected one of after,"),
    ],
)
def test_a_mistake_is_one_line(folder: Path, old: str, new: str, message: str) -> None:
    """The line names the file, the key and what is expected there."""
    assert LECTURE.count(old) >= 1
    file = folder / "lecture.toml"
    file.write_text(LECTURE.replace(old, new, 1))

    with pytest.raises(TomlError) as caught:
        read_lecture(folder)

    assert message in str(caught.value)
    assert str(file) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_utf8_is_one_line(folder: Path) -> None:
    """A file in another encoding is refused like a missing one."""
    (folder / "lecture.toml").write_bytes(b'title = "\xff"')

    with pytest.raises(TomlError, match="file: expected a readable UTF-8 file"):
        read_lecture(folder)


def test_no_lectures_make_an_empty_course() -> None:
    """A course without folders has no errors either."""
    assert read_course([]) == Course((), ())


def test_two_lectures_of_one_name_are_one_too_many(folder: Path, tmp_path: Path) -> None:
    """What is stored would be about both; the same folder may be named twice."""
    other = tmp_path / "other/lecture77"
    shutil.copytree(folder, other)

    course = read_course([folder, folder, other])

    assert [folder, folder] == [lecture.folder for lecture in course.lectures]
    assert (f"{other}: left out, since {folder} is called lecture77 too",) == course.errors
