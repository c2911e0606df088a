"""Which episodes explain a kata, and the report when one cannot be found."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from plugins.course.model import Course
from plugins.course.model import EpisodeRef
from plugins.course.model import Kata
from plugins.course.model import Lecture
from plugins.guide.catalogue import Catalogue
from plugins.guide.episodes import find_problems


if TYPE_CHECKING:
    from tests.conftest import MiniCourse


# A run of katas imports none of these but the last, which a failure needs.
NAMES = ("plugins.feed.__main__", "feedparser", "tomlkit", "torch", "plugins.guide.catalogue")
PLUGINS = (
    "plugins.course.session",
    "plugins.guide.episodes",
    "plugins.guide.failures",
    "plugins.guide.summary",
)
FAILING = "def test_it():\n    assert False, 'not yet'\n"
MINE = """
[[episode]]
number = 1
slug = "{slug}"
guid = "guid-1"
title = "Of another show"
published = 2023-01-01
seconds = 90
page = "https://radio.example/1"
audio = "https://radio.example/1.mp3"
links = []
"""


def test_problems() -> None:
    """Unknown slugs are reported, but not while a broken file may have them."""
    folder = Path("katas/lecture77")
    refs = (EpisodeRef("strides", "why"),)
    kata = Kata(
        "lecture77", "k01_a", "A", "lab", (), refs, (), (), (), (), (), folder
    )  # fmt: skip
    course = Course((Lecture("lecture77", "", {}, (kata,), folder),), ())

    where = "katas/lecture77/lecture.toml: kata k01_a: episodes"
    expected = "expected a slug of episodes.toml, found 'strides'"
    assert [f"{where}: {expected}"] == find_problems(course, Catalogue())
    assert ["broken"] == find_problems(course, Catalogue(errors=("broken",)))
    assert [] == find_problems(Course((), ()), Catalogue())


def test_a_broken_file_is_one_line_and_the_tests_run(course: MiniCourse) -> None:
    """It stands in the header and at the end; a failure still shows what to read and the hint."""
    course.plugins(*PLUGINS)
    course.kata(test=FAILING)
    course.write("episodes.toml", "[[episode]]\nnumber = 'one'\n")
    line = (
        "broken: */episodes.toml: episode 1: number: expected a whole number above 0, found 'one'"
    )

    result = course.run()

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            line,
            "rootdir: *",
            "*= FAILURES =*",
            "*= where to go on =*",
            "  read    c10/core/DispatchKeySet.h: DispatchKeySet",
            "  hint    pytest katas/lecture01/test_k01_first.py --hint",
            line,
        ]
    )
    result.stdout.no_fnmatch_line("*listen*")


def test_a_broken_file_is_reported_when_all_tests_pass(course: MiniCourse) -> None:
    """Also with ``-q``, which has no header; without a broken file nothing is reported."""
    course.plugins(*PLUGINS)
    course.kata()
    quiet = course.run("-q")
    (course.path / "episodes.toml").unlink()
    broken = course.run("-q")

    quiet.assert_outcomes(passed=1)
    quiet.stdout.no_fnmatch_line("*where to go on*")
    broken.assert_outcomes(passed=1)
    broken.stdout.fnmatch_lines(
        ["*= where to go on =*", "broken: */episodes.toml: file: expected a readable UTF-8 file: *"]
    )


def test_an_unknown_slug_is_one_line(course: MiniCourse) -> None:
    """The line names the lecture's file and the kata; the other episodes are shown."""
    course.plugins(*PLUGINS)
    course.kata(test=FAILING, episodes=("strides", "stridse"))

    result = course.run()

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "broken: */lecture01/lecture.toml: kata k01_first: episodes: *, found 'stridse'",
            "  listen  #62 Strides, 20:31: why strides fits",
        ]
    )


def test_hook_episodes(course: MiniCourse) -> None:
    """A lecture's own conftest.py can answer for its tests; for the others it returns None.

    Of each kata those of the first failing test are shown; the first kata comes last.
    """
    course.plugins(*PLUGINS)
    answer = """
        from plugins.course.model import EpisodeRef

        def pytest_kata_episodes(item):
            if item.name == "test_it":
                return [EpisodeRef("vmap", "because of " + item.name)]
    """
    course.kata(test=FAILING + FAILING.replace("test_it", "test_other"))
    course.kata(test=FAILING, lecture="lecture02")
    course.write("katas/lecture01/conftest.py", answer)

    result = course.run()

    result.assert_outcomes(failed=3)
    result.stdout.fnmatch_lines(
        [
            "lecture02/k01_first: The title of k01_first",
            "  listen  #62 Strides, 20:31: why strides fits",
            "lecture01/k01_first: The title of k01_first",
            "  listen  #34 vmap, 17:47: because of test_it",
        ]
    )
    other = course.run("katas/lecture01/test_k01_first.py::test_other")
    other.stdout.fnmatch_lines(["  listen  #62 Strides, 20:31: why strides fits"])


def test_hook_episode_sources(course: MiniCourse) -> None:
    """A plugin can add a file of episodes; katas name them like those of the course."""
    course.write("mine/radio.toml", MINE.format(slug="another-show"))
    course.write(
        "conftest.py",
        f"""
        from pathlib import Path

        pytest_plugins = {PLUGINS!r}

        def pytest_kata_episode_sources(config):
            return [config.rootpath / "mine/radio.toml"]
        """,
    )
    course.kata(test=FAILING, episodes=("another-show", "strides"))

    result = course.run()

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "  listen  #1 Of another show, 1:30: why another-show fits",
            "          https://radio.example/1",
            "  hint *",
        ]
    )
    result.stdout.no_fnmatch_line("broken: *")


def test_a_run_reads_no_feed(course: MiniCourse) -> None:
    """It imports neither what only the sync needs, nor torch to learn its version."""
    course.write(
        "conftest.py",
        f"""
        import sys

        pytest_plugins = {PLUGINS!r}

        def pytest_unconfigure():
            for name in {NAMES!r}:
                print(name, name in sys.modules)
        """,
    )
    course.kata(test=FAILING)

    course.run().stdout.fnmatch_lines(
        [
            "plugins.feed.__main__ False",
            "feedparser False",
            "tomlkit False",
            "torch False",
            "plugins.guide.catalogue True",
        ]
    )
