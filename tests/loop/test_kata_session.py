"""The session of ``--next`` and ``--watch``: which katas run in it, and how it ends."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING
from typing import Any
from typing import cast

import pytest

from plugins.loop.channel import above_key
from plugins.loop.kata_session import PARTLY
from plugins.loop.kata_session import OneKata
from plugins.loop.kata_session import Order
from plugins.progress.store import BOOKMARK
from tests.support.threekatas import PLUGINS
from tests.support.threekatas import RIGHT
from tests.support.threekatas import WRONG
from tests.support.threekatas import read_heading
from tests.support.threekatas import read_state
from tests.support.threekatas import solve


if TYPE_CHECKING:
    from tests.conftest import MiniCourse


# As --watch does it in a fork.
ONE = """
import pytest

from plugins.course.session import course_key

pytest_plugins = {plugins!r}

@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    from plugins.loop.next import start_walk
    from plugins.loop.kata_session import OneKata

    katas = [kata for kata in config.stash[course_key].katas]
    start_walk(config, OneKata(config, katas, katas[0]))
"""


def test_it_goes_on_when_a_kata_is_solved(three: MiniCourse) -> None:
    """The one that has just been solved is named; then the next one is shown, and at last none."""
    headings = [read_heading(three.run("katas", "--next"))]
    solve(three, "lecture01/k01_first")
    result = three.run("katas", "--next")
    headings.append(read_heading(result))
    result.stdout.fnmatch_lines(["lecture01/k01_first is solved: *", "* core path: 1 of 3"])
    solve(three, "lecture01/k02_second")
    solve(three, "lecture02/k01_third")
    result = three.run("katas", "--next")

    assert ["lecture01/k01_first", "lecture01/k02_second"] == headings
    assert pytest.ExitCode.OK == result.ret
    assert [line for line in result.outlines if line][-1] == (
        "Everything in the course is solved: 3 of 3 katas."
    )


def test_what_is_solved_does_not_run_again(three: MiniCourse) -> None:
    """Not even its module is imported; an edit opens it again."""
    solve(three, "lecture01/k01_first", f"{RIGHT}open('imported', 'a').write('1')\n")
    three.run("katas", "--next")
    three.run("katas", "--next")
    imported = (three.path / "imported").read_text()
    solve(three, "lecture01/k01_first", f"{RIGHT}open('imported', 'a').write('23')\n")
    three.run("katas", "--next")

    # Saved within the same second, a file of the same length would run as it was.
    assert ("1", "123") == (imported, (three.path / "imported").read_text())


def test_what_comes_later_is_not_imported(three: MiniCourse) -> None:
    """A course of a hundred katas starts as fast as one of two."""
    three.write("katas/lecture01/test_k02_second.py", "open('imported', 'w')")
    three.run("katas", "--next")

    assert not (three.path / "imported").exists()


def test_results_are_remembered(three: MiniCourse) -> None:
    """As those of any other run: the map knows them."""
    solve(three, "lecture01/k01_first")
    three.run("katas", "--next")

    assert ("solved", "failing") == (
        read_state(three, "lecture01/k01_first"),
        read_state(three, "lecture01/k02_second"),
    )


def test_a_crash_is_shown_like_a_failure(three: MiniCourse) -> None:
    """Another process replays the earlier tests, and the output appears once."""
    solve(three, "lecture01/k01_first", f"import time\ntime.sleep(1.1)\n{RIGHT}")
    solve(three, "lecture01/k02_second", "import os\n\ndef answer(n):\n    os.abort()\n")
    result = three.run("katas", "--next")

    assert "lecture01/k02_second" == read_heading(result)
    result.stdout.fnmatch_lines(
        ["*core path: 1 of 3", "edit    katas/lecture01/k02_second.py:4", "*abort (SIGABRT)*"]
    )
    assert 1 == result.stdout.str().count("again   ")
    assert "solved" == read_state(three, "lecture01/k01_first")


def test_ctrl_c_says_no_more_than_it_does_elsewhere(three: MiniCourse) -> None:
    """The kata has not failed."""
    solve(three, "lecture01/k01_first", "def answer(n):\n    raise KeyboardInterrupt\n")
    result = three.run("katas", "--next")

    assert pytest.ExitCode.INTERRUPTED == result.ret
    result.stdout.no_fnmatch_line("*core path*")


def test_pytest_exit_ends_the_walk(three: MiniCourse) -> None:
    """As does a test that asks the session to stop."""
    three.write(
        "katas/lecture01/test_k01_first.py",
        "def test(request): request.session.shouldstop = 'enough'",
    )
    result = three.run("katas", "--next")

    assert pytest.ExitCode.INTERRUPTED == result.ret
    result.stdout.fnmatch_lines(["*enough*"])


@pytest.fixture
def one(three: MiniCourse) -> MiniCourse:
    """Return the three katas, of which only the first runs."""
    three.monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    three.write("conftest.py", ONE.format(plugins=PLUGINS))
    return three


def test_one_kata_runs_again_though_it_is_solved(one: MiniCourse) -> None:
    """And no other: the bar counts it once, and the end is no praise of the course."""
    solve(one, "lecture01/k01_first", f"{RIGHT}open('imported', 'a').write('1')\n")
    results = [one.run("katas"), one.run("katas")]

    assert "11" == (one.path / "imported").read_text()
    for result in results:
        assert pytest.ExitCode.OK == result.ret
        assert [line for line in result.outlines if line] == [
            "lecture01/k01_first is solved: The title of k01_first",
            "learned why strides fits",
            "  the reference: pytest katas/lecture01/test_k01_first.py --solution",
            "lecture01 ##########.......... 1 of 2   core path: 1 of 3",
        ]


def test_one_kata_that_fails_is_not_bookmarked(one: MiniCourse) -> None:
    """Where ``--next`` stands is for ``--next`` to say."""
    solve(one, "lecture01/k01_first", WRONG)
    result = one.run("katas")

    assert pytest.ExitCode.TESTS_FAILED == result.ret
    assert "lecture01/k01_first" == read_heading(result)
    assert not (one.path / BOOKMARK).exists()


def test_a_part_of_one_katas_tests_is_named_a_part(one: MiniCourse) -> None:
    """``-k`` leaves it open, without a failure."""
    solve(one, "lecture01/k01_first")
    result = one.run("katas", "-k", "small")

    assert pytest.ExitCode.OK == result.ret
    result.stdout.fnmatch_lines(["* core path: 0 of 3", PARTLY])


def test_the_tests_that_failed_last_run_first(one: MiniCourse) -> None:
    """The others keep their order."""
    order = """
def answer(n):
    with open("order", "a") as file:
        file.write(f"{n} ")
    return 2 * n
"""
    solve(one, "lecture01/k01_first", WRONG)
    one.run("katas")
    solve(one, "lecture01/k01_first", order)
    one.run("katas")
    one.run("katas")

    assert "10 1 1 10 " == (one.path / "order").read_text()


@pytest.mark.parametrize(
    ("order", "first"),
    [
        (Order("next"), "lecture02"),
        (Order("skip", first="lecture01/k02"), "lecture01/k02"),
        (Order("kata", first="lecture01/k02"), None),
    ],
)
def test_an_order_says_where_the_way_begins(order: Order, first: str | None) -> None:
    """If the learner has chosen it there; one kata alone begins nowhere."""
    option = SimpleNamespace(**{"from": "lecture02"})
    stash = pytest.Stash()
    config: Any = SimpleNamespace(
        option=option, stash=stash, pluginmanager=SimpleNamespace(register=id)
    )
    order.apply(config)

    assert first == getattr(option, "from")
    assert "" == stash[above_key]


def test_a_prediction_is_shown_when_all_its_rows_have_run() -> None:
    """Its message says how many are right; any other failure is shown at once."""
    walk, told = OneKata.__new__(OneKata), list[str]()
    for rows in (("test_row[a]",), ()):
        walk.teller = cast("Any", SimpleNamespace(rows=rows, tell_once=lambda: told.append("now")))
        assert walk.goes_on()

    assert ["now"] == told
