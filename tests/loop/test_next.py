"""``--next``: its options, which katas it takes, and in which order."""

from __future__ import annotations

import json
import re
from datetime import UTC
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

import pytest

from plugins.course.files import content_of
from plugins.course.lectures import read_course
from plugins.course.model import Kata
from plugins.loop.channel import Told
from plugins.loop.kata_session import Order
from plugins.loop.next import katas_from
from plugins.loop.watch_state import Desk
from plugins.progress.plugin import remember_run
from plugins.progress.standing import Results
from plugins.progress.standing import TestOutcome
from plugins.progress.store import BOOKMARK
from plugins.progress.store import Bookmark
from plugins.progress.store import change_bookmark
from tests.support.threekatas import CANNOT
from tests.support.threekatas import NOTHING
from tests.support.threekatas import PLUGINS
from tests.support.threekatas import RIGHT
from tests.support.threekatas import STUB
from tests.support.threekatas import TEST
from tests.support.threekatas import WRONG
from tests.support.threekatas import read_heading
from tests.support.threekatas import solve


if TYPE_CHECKING:
    from tests.conftest import MiniCourse


def test_a_skipped_kata_comes_back_at_the_end_of_its_lecture(three: MiniCourse) -> None:
    """Also in the next run, in the order in which they were skipped; skipped again, at the end."""
    headings = []
    for arguments in (["--next"], *[["--next", "--skip"], ["--skip"]] * 2, ["--next"]):
        result = three.run("katas", *arguments)
        headings.append(read_heading(result))
    solve(three, "lecture02/k01_third")
    headings.append(read_heading(three.run("katas", "--next")))
    solve(three, "lecture01/k01_first")
    alone = three.run("katas", "--next", "--skip")

    assert headings == [
        "lecture01/k01_first",
        "lecture01/k02_second",
        # They come back at the end of their lecture, and once more at the end of the course.
        "lecture01/k01_first",
        "lecture01/k02_second",
        "lecture02/k01_third",
        "lecture02/k01_third",
        "lecture01/k01_first",
    ]
    assert "lecture01/k02_second" == read_heading(alone)
    alone.stdout.fnmatch_lines(["later   pytest * --next --skip"])
    skipped = json.loads((three.path / BOOKMARK).read_text())["skipped"]
    assert 2 == skipped.count("lecture01/k02_second")


def test_there_is_nothing_to_skip_at_first(three: MiniCourse) -> None:
    """The learner cannot mean a kata that they have not seen."""
    result = three.run("katas", "--next", "--skip")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["ERROR: --skip leaves out what --next has shown*"])


def test_nothing_can_be_skipped_where_nothing_is_remembered(three: MiniCourse) -> None:
    """In a read-only checkout the message names the option that works."""
    three.write(".katas", "a file, so that nothing can be made in it")
    three.run("katas", "--next")
    result = three.run("katas", "--next", "--skip")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["ERROR: --skip * .katas cannot be written (*), so use --from *"])


def test_a_kata_waits_for_what_it_builds_on(three: MiniCourse) -> None:
    """If the first is skipped, and nothing else of its lecture can be tried, both wait."""
    table = three.katas / "lecture01/lecture.toml"
    table.write_text(f'{table.read_text()}after = ["k01_first"]\n')
    three.run("katas", "--next")

    assert "lecture02/k01_third" == read_heading(three.run("katas", "--next", "--skip"))


TESTED = {"failing": "failed", "solved": "passed", "unavailable": "skipped"}


def remember(course: MiniCourse, kata: Kata, state: str, test: str) -> None:
    """Store that a run of its one test has left a kata in this state."""
    if state == "new":
        return
    verdict: Any = TESTED.get(state, "failed")
    # Of an open kata the content that was tested was another one.
    content = "another" if state == "open" else content_of(kata)
    run = Results(content, {test: TestOutcome(verdict, "nothing: there is none")}, 1)
    remember_run(course.path, kata, run, 0.0, datetime.now(UTC))


@pytest.mark.parametrize("skipped", [False, True], ids=["not_skipped", "skipped"])
@pytest.mark.parametrize("state", ["new", "open", "failing", "solved", "unavailable"])
def test_all_agree_on_what_is_next(course: MiniCourse, state: str, *, skipped: bool) -> None:
    """``--next``, the map and the moment under ``--watch``: in every state of the first kata.

    The second builds on it, and waits only for what is skipped and can be solved here.
    """
    course.write("conftest.py", NOTHING.format(plugins=PLUGINS))
    for name in ("k01_first", "k02_second", "k03_third", "k04_fourth"):
        test = TEST.format(lecture="lecture01", name=name)
        course.kata(name, test=test, stub=RIGHT if name == "k04_fourth" else STUB)
    if state == "unavailable":
        course.write("katas/lecture01/test_k01_first.py", CANNOT)
    table = course.katas / "lecture01/lecture.toml"
    second = 'name = "k02_second"\n'
    table.write_text(table.read_text().replace(second, f'{second}after = ["k01_first"]\n'))
    read = read_course([course.katas / "lecture01"])
    first, *_, last = read.lectures[0].katas
    remember(course, first, state, "test_small")
    desk = Desk(course.path, course.path, read, read.lectures[0].katas, moving=True)
    desk.saved([last.exercise])
    remember(course, last, "solved", "test_small")
    change_bookmark(course.path, lambda _: Bookmark("", (first.id,) if skipped else ()))
    desk.ran(Order("kata", last), Told(solved=(last.id,)))
    moment = desk.moment(Order("kata", last), (80, 60))[-1].text
    where = course.run("--course").outlines
    result = course.run("--next")

    left = state not in {"solved", "unavailable"}
    expected = "k03_third" if left and skipped else "k01_first" if left else "k02_second"
    assert f"next    press n: lecture01/{expected}, The title of {expected}" == moment
    assert f"Next, The title of {expected}:" == where[-2]
    assert f"lecture01/{expected}" == read_heading(result)
    assert (left and skipped) == any("waits for lecture01/k01" in line for line in result.outlines)


def test_it_can_begin_elsewhere(three: MiniCourse) -> None:
    """With a lecture or with a kata; those before do not count."""
    lecture = three.run("katas", "--from", "lecture02")
    kata = three.run("katas", "--next", "--from=lecture01/k02")

    assert ["lecture02/k01_third", "lecture01/k02_second"] == [
        read_heading(lecture),
        read_heading(kata),
    ]
    kata.stdout.fnmatch_lines(["lecture01 * 0 of 2"])
    solve(three, "lecture01/k02_second")
    solve(three, "lecture02/k01_third")
    three.run("katas", "--next", "--from=lecture01/k02").stdout.fnmatch_lines(
        ["Everything in lecture01 to lecture02 is solved: 2 of 2 katas."]
    )


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ["katas", "--from", "lecture2"],
            "no lecture is called 'lecture2'; *: lecture02, *",
        ),
        (["katas", "--from", "lecture01/k3_second"], "*the nearest: lecture01/k02_second,*"),
        (["katas/lecture01", "--from", "lecture02"], "*not among the katas of this command"),
        (["conftest.py", "--next"], "--next wants katas: pytest katas --next, *"),
        (["katas", "--next", "--solutions"], "--next runs your own answers*"),
        (["katas", "--next", "--unsolved"], "--next runs your own answers*"),
        (["katas", "--next", "-n", "2"], "--next runs your own answers*"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    three: MiniCourse, arguments: list[str], says: str
) -> None:
    """In one message, with the names that exist."""
    result = three.run(*arguments)

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines([f"ERROR: *{says}"])


def test_help_is_help(three: MiniCourse) -> None:
    """``--help`` beside ``--next`` wins."""
    three.run("--next", "--help").stdout.fnmatch_lines(["*--from=NAME*"])


def a_kata(name: str, *after: str, lecture: str = "lecture01") -> Kata:
    """Return a kata that builds on others of its lecture."""
    return Kata(lecture, name, "T", "lab", (), (), (), (), after, (), (), Path(lecture))


FIRST = a_kata("k01_a")
SECOND = a_kata("k02_b", "k01_a")
THIRD = a_kata("k03_c")
OTHER = a_kata("k01_a", lecture="lecture02")
ALL = [FIRST, SECOND, THIRD, OTHER]


def test_starting_elsewhere_leaves_out_what_comes_before() -> None:
    """And keeps the rest of the course."""
    assert [THIRD, OTHER] == katas_from(ALL, THIRD)


def state_sizes(course: MiniCourse, *optional: str) -> None:
    """State the sizes of all katas; those that are named, by their lectures too, are optional."""
    for file in course.katas.glob("lecture*/lecture.toml"):
        head, *tables = file.read_text().split("[[kata]]")
        names = [f"{file.parent.name}/{re.findall('k[0-9]+_[a-z]+', table)[0]}" for table in tables]
        sized = [
            f'\nsize = "spark"\nminutes = 5\ncore = {str(name not in optional).lower()}{table}'
            for name, table in zip(names, tables, strict=True)
        ]
        file.write_text("[[kata]]".join([head, *sized]))


OFFER = "1 more is optional: pytest katas/lecture01 --next --all"


def test_the_core_path_comes_first(three: MiniCourse) -> None:
    """The rest is offered where a lecture ends, and taken with ``--all`` or by its name."""
    state_sizes(three, "lecture01/k02_second")
    solve(three, "lecture01/k01_first")
    path = three.run("katas", "--next")
    every = three.run("katas", "--next", "--all")
    named = three.run("katas", "--from", "lecture01/k02")
    lecture = three.run("katas/lecture01", "--next")
    alone = three.run("katas/lecture01/test_k02_second.py", "--next")

    assert "lecture02/k01_third" == read_heading(path)
    path.stdout.fnmatch_lines(
        [OFFER, "*core path: 1 of 2", "lecture02/k01_third: * (spark, 5 min)"]
    )
    for result in (every, named, alone):
        assert "lecture01/k02_second" == read_heading(result)
        result.stdout.fnmatch_lines(["lecture01/k02_second: * (spark, 5 min, optional)"])
        result.stdout.no_fnmatch_line("*optional:*")
    lecture.stdout.fnmatch_lines(
        ["Everything in the core path of lecture01 is solved: 1 of 1 katas.", "*", OFFER]
    )


def test_the_core_path_of_the_course_ends(three: MiniCourse) -> None:
    """With how many katas are optional in all lectures, and the map goes on with the first."""
    state_sizes(three, "lecture01/k02_second", "lecture02/k01_third")
    solve(three, "lecture01/k01_first")

    result = three.run("katas", "--next")

    assert 0 == result.ret
    result.stdout.fnmatch_lines(
        [
            "Everything in the core path of the course is solved: 1 of 1 katas.",
            "2 more are optional: pytest katas --next --all",
        ]
    )


def test_nothing_is_offered_before_all_tests_have_run(three: MiniCourse) -> None:
    """The core path is not done while ``-k`` leaves some of its tests out."""
    state_sizes(three, "lecture01/k02_second")
    three.write("katas/lecture01/k01_first.py", WRONG)

    result = three.run("katas/lecture01", "--next", "-k", "small")

    result.stdout.fnmatch_lines(["Nothing failed, but not all tests ran: 0 of 1 katas*"])
    result.stdout.no_fnmatch_line("*optional*")


def test_all_is_for_what_goes_on(three: MiniCourse) -> None:
    """A plain pytest runs all tests anyway."""
    result = three.run("katas", "--all")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["ERROR: --all is for --next and --watch, which leave*"])


PATHS = """
[[path]]
name = "short"
title = "A short way"
about = "For those in a hurry."
katas = ["lecture01/k02_second", "lecture02/k01_third"]
"""


def test_a_path_has_its_own_katas(three: MiniCourse) -> None:
    """Optional ones too, and no others; its end is that of the path."""
    three.write("katas/paths.toml", PATHS)
    state_sizes(three, "lecture01/k02_second")
    first = three.run("katas", "--next", "--path", "short")
    solve(three, "lecture01/k02_second")
    second = three.run("katas", "--next", "--path", "short")
    solve(three, "lecture02/k01_third")
    done = three.run("katas", "--next", "--path", "short")

    assert "lecture01/k02_second" == read_heading(first)
    assert "lecture02/k01_third" == read_heading(second)
    done.stdout.fnmatch_lines(
        ["Everything in the path short is solved: 2 of 2 katas.", "*pytest katas --next"]
    )


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["katas", "--next", "--path", "long"], "--path: no path is called 'long'; *: short"),
        (["katas/lecture01/test_k01_first.py", "--next", "--path", "short"], "no kata of short *"),
        (["katas", "--path", "short"], "--path is for *: pytest katas --next --path short"),
    ],
)
def test_a_path_that_cannot_be_meant_is_refused(
    three: MiniCourse, arguments: list[str], says: str
) -> None:
    """In one message."""
    three.write("katas/paths.toml", PATHS)
    result = three.run(*arguments)

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines([f"ERROR: *{says}"])


def test_a_lab_is_at_a_step(three: MiniCourse) -> None:
    """The heading names the step of the test that fails."""
    name = "katas/lecture01/test_k01_first.py"
    text = (three.path / name).read_text().replace("def test_small", "STEP\ndef test_small")
    text = text.replace("def test_large", '@pytest.mark.step(2, "large")\ndef test_large')
    three.write(name, "import pytest\n" + text.replace("STEP", '@pytest.mark.step(1, "small")'))
    small = three.run("katas", "--next")
    solve(three, "lecture01/k01_first", WRONG)
    large = three.run("katas", "--next")

    small.stdout.fnmatch_lines(["lecture01/k01_first: *", "step 1 of 2: small"])
    large.stdout.fnmatch_lines(["lecture01/k01_first: *", "step 2 of 2: large"])
