"""Which episodes explain a kata, and what is said when they cannot be found."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from plugins.catalogue import Catalogue
from plugins.episodes import problems
from plugins.layout import Course
from plugins.layout import EpisodeRef
from plugins.layout import Kata
from plugins.layout import Lecture


if TYPE_CHECKING:
    from tests.conftest import MiniCourse


PLUGINS = ("plugins.course", "plugins.episodes", "plugins.failures")
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
    """A slug that no file has; but where a file is broken, only that, since slugs are in it."""
    folder = Path("katas/lecture77")
    refs = (EpisodeRef("strides", "why"),)
    kata = Kata(
        "lecture77", "k01_a", "A", "lab", (), refs, (), (), (), (), (), folder
    )  # fmt: skip
    course = Course((Lecture("lecture77", "", {}, (kata,), folder),), ())

    where = "katas/lecture77/lecture.toml: kata k01_a: episodes"
    expected = "expected a slug of episodes.toml, found 'strides'"
    assert [f"{where}: {expected}"] == problems(course, Catalogue())
    assert ["broken"] == problems(course, Catalogue(errors=("broken",)))
    assert [] == problems(Course((), ()), Catalogue())


def test_a_broken_file_is_one_line_and_the_tests_run(course: MiniCourse) -> None:
    """In the header and at the end; a failure still shows what to read and the hint."""
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
            "read    c10/core/DispatchKeySet.h: DispatchKeySet",
            "hint    pytest katas/lecture01/test_k01_first.py --hint",
            "*= where to go on =*",
            line,
        ]
    )
    result.stdout.no_fnmatch_line("*listen*")


def test_a_broken_file_is_told_when_all_is_well(course: MiniCourse) -> None:
    """Quietly too, where there is no header; and without it nothing is said."""
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
    """It names the lecture's file and the kata; the other episodes are shown."""
    course.plugins(*PLUGINS)
    course.kata(test=FAILING, episodes=("strides", "stridse"))

    result = course.run()

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "broken: */lecture01/lecture.toml: kata k01_first: episodes: *, found 'stridse'",
            "listen  #62 Strides, 20:31: why strides fits",
        ]
    )


def test_hook_episodes(course: MiniCourse) -> None:
    """A lecture's own conftest.py answers for its tests; what it passes on is as usual."""
    course.plugins(*PLUGINS)
    answer = """
        from plugins.layout import EpisodeRef

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
            "*_ test_it _*",
            "listen  #34 vmap, 17:47: because of test_it",
            "*_ test_other _*",
            "listen  #62 Strides, 20:31: why strides fits",
            "*_ test_it _*",
            "listen  #62 Strides, 20:31: why strides fits",
        ]
    )


def test_hook_episode_sources(course: MiniCourse) -> None:
    """A plugin brings a file of episodes; katas name them like those of the course."""
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
            "listen  #1 Of another show, 1:30: why another-show fits",
            "        https://radio.example/1",
            "        #62 Strides, 20:31: why strides fits",
        ]
    )
    result.stdout.no_fnmatch_line("broken: *")


def test_a_run_reads_no_feed(course: MiniCourse) -> None:
    """What only the sync needs is not imported, and torch is not for the sake of its version."""
    course.write(
        "conftest.py",
        f"""
        import sys

        pytest_plugins = {PLUGINS!r}

        def pytest_unconfigure():
            for name in ("plugins.feed", "feedparser", "tomlkit", "torch", "plugins.catalogue"):
                print(name, name in sys.modules)
        """,
    )
    course.kata(test=FAILING)

    course.run().stdout.fnmatch_lines(
        [
            "plugins.feed False",
            "feedparser False",
            "tomlkit False",
            "torch False",
            "plugins.catalogue True",
        ]
    )
