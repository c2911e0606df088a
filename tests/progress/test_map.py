"""The map of the course: its line for each lecture and kata, in eighty columns."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from plugins.course.model import Course
from plugins.course.model import Kata
from plugins.course.model import Lecture
from plugins.course.paths import CoursePath
from plugins.progress.map import WIDTH
from plugins.progress.map import Place
from plugins.progress.map import format_map
from plugins.progress.map import format_path
from plugins.progress.map import next_place
from plugins.progress.map import why_away
from plugins.progress.standing import Results
from plugins.progress.standing import Standing
from plugins.progress.standing import State
from plugins.progress.standing import TestOutcome


if TYPE_CHECKING:
    from collections.abc import Sequence


ROOT = Path(__file__).parents[2]


def a_place(
    name: str,
    state: State = "new",
    tests: dict[str, TestOutcome] | None = None,
    seconds: float = 0.0,
    lecture: str = "lecture01",
) -> Place:
    """Return a kata on the map."""
    folder = ROOT / "katas" / lecture
    kata = Kata(lecture, name, f"Title {name}", "lab", (), (), (), (), (), (), (), folder)
    return Place(kata, state, Standing(seconds, results=Results("", tests or {})))


def a_map(*places: Place, blocks: bool = False, title: str = "A title") -> list[str]:
    """Return the lines of a map of these places."""
    return format_map(Course(lectures_of(places, title), ()), places, start=ROOT, blocks=blocks)


def lectures_of(places: Sequence[Place], title: str) -> tuple[Lecture, ...]:
    """Return the lectures of these katas."""
    names = dict.fromkeys(place.kata.lecture for place in places)
    return tuple(
        Lecture(
            name,
            title,
            {},
            tuple(place.kata for place in places if place.kata.lecture == name),
            Path(name),
        )
        for name in names
    )


def test_the_map_of_a_course() -> None:
    """It has all lectures, the katas of the current one, and the next step."""
    results = {
        "a": TestOutcome("passed"),
        "b": TestOutcome("failed", "x"),
        "c": TestOutcome("skipped", "gpu"),
    }
    places = [
        a_place("k01_first", "solved", seconds=3600 + 300),
        a_place("k02_second", "failing", results, seconds=600),
        a_place("k03_third"),
        a_place("k01_other", lecture="lecture02"),
    ]

    assert a_map(*places) == [
        "1 of 4 katas solved, 1 h 15 min spent",
        "",
        "> lecture01  A title                                     ####..........  1 of 3",
        "    k01_first   Title k01_first   solved       1 h 05 min",
        "  > k02_second  Title k02_second  1 of 2 pass      10 min",
        "    k03_third   Title k03_third",
        "  lecture02  A title                                     ..............  0 of 1",
        "",
        "Not run on this machine:",
        "  1 test: gpu",
        "",
        "Next, Title k02_second:",
        "  pytest katas/lecture01/test_k02_second.py -x",
    ]


def folded(rows: int, here: int) -> list[str]:
    """Return the map of ten lectures of six katas, folded around one of the katas."""
    places = [
        a_place(
            f"k{kata:02}_kata",
            "solved" if 6 * lecture + kata <= here else "new",
            lecture=f"lecture{lecture + 1:02}",
        )
        for lecture in range(10)
        for kata in range(1, 7)
    ]
    course = Course(lectures_of(places, "A title"), ())
    return format_map(course, places, start=ROOT, blocks=False, rows=rows)


@pytest.mark.parametrize("rows", [16, 18, 24])
@pytest.mark.parametrize("here", [0, 5, 6, 29, 33, 55, 59, 60])
def test_a_folded_map_fits(rows: int, here: int) -> None:
    """The learner's place is on it, and a row is left for the prompt."""
    text = folded(rows, here)

    assert len(text) < rows
    assert (here == 60) == (not [line for line in text if line.startswith("  > k")])


def test_what_is_folded_is_counted() -> None:
    """Lectures before and after, and katas of the lecture where the learner is."""
    assert folded(16, 33)[2:-3] == [
        "  lecture01 to lecture04: 24 of 24 solved",
        "  lecture05  A title                                     ##############  6 of 6",
        "> lecture06  A title                                     #######.......  3 of 6",
        "    2 before",
        "    k03_kata  Title k03_kata  solved",
        "  > k04_kata  Title k04_kata",
        "    k05_kata  Title k05_kata",
        "    k06_kata  Title k06_kata",
        "  lecture07  A title                                     ..............  0 of 6",
        "  lecture08 to lecture10: 0 of 18 solved; -v shows all",
    ]


def test_a_folded_map_counts_what_did_not_run() -> None:
    """The whole map says why."""
    results = {"a": TestOutcome("skipped", "gpu"), "b": TestOutcome("skipped", "gpu")}
    places = [a_place("k01_first", "unavailable", results), a_place("k02_second")]
    course = Course(lectures_of(places, "A title"), ())

    text = format_map(course, places, start=ROOT, blocks=False, rows=24)

    assert "2 tests are not run on this machine." in text


def test_a_path_has_katas_of_several_lectures() -> None:
    """Folded, it keeps the learner's place on the screen."""
    places = [
        a_place("k01_a", "solved" if number < 6 else "new", lecture=f"lecture{number:02}")
        for number in range(1, 21)
    ]
    path = CoursePath("short", "A way", "For all.", tuple(place.kata for place in places))
    text = format_path(path, places, rows=16)

    assert len(text) == 15
    assert text[:3] == [
        "A way: For all.",
        "5 of 20 katas solved",
        "",
    ]
    assert ["    2 before", "    lecture03/k01_a  Title k01_a  solved"] == text[3:5]
    assert "  > lecture06/k01_a  Title k01_a" in text
    assert text[-4:] == [
        "    11 more; -v shows all",
        "",
        "Next, lecture06/k01_a:",
        "  pytest katas --next --path short",
    ]


def test_a_path_that_is_done_says_so() -> None:
    """It does not go on elsewhere by itself."""
    places = [a_place("k01_a", "solved"), a_place("k02_b", "unavailable")]
    path = CoursePath("short", "A way", "For all.", tuple(place.kata for place in places))

    assert "What of this path can run here is solved." == format_path(path, places)[-1]


def test_a_course_that_is_done_says_so() -> None:
    """Katas that cannot run here do not count as left."""
    text = a_map(a_place("k01_first", "solved"), a_place("k02_second", "unavailable"))

    assert "1 of 2 katas solved, 0 min spent" == text[0]
    assert "Everything that can run here is solved." == text[-1]
    assert not [line for line in text if ">" in line]


SKIPPED = TestOutcome("skipped", "no reason")
UNDECIDED = {
    "a": TestOutcome("passed"),
    "b": TestOutcome("skipped", "torchx: none; get one"),
    "c": TestOutcome("skipped", "torchx: none; get one"),
}


def test_a_kata_that_is_not_decided_says_so() -> None:
    """Nothing is left to do in it here; it is not solved."""
    text = a_map(a_place("k01_a", "unavailable", UNDECIDED), a_place("k02_b"))

    assert "0 of 2 katas solved, 0 min spent" == text[0]
    assert "    k01_a  Title k01_a  undecided" == text[3]
    assert "  > k02_b  Title k02_b" == text[4]


@pytest.mark.parametrize(
    ("tests", "why"),
    [
        (UNDECIDED, "is not decided here: 1 test passes, 2 wait for torchx: none; get one"),
        (
            {"a": UNDECIDED["a"], "b": TestOutcome("skipped", "tool: none"), "c": SKIPPED},
            "is not decided here: 1 test passes, 1 waits for tool: none, 1 is skipped: no reason",
        ),
        (
            {"a": UNDECIDED["a"], **dict.fromkeys("bc", TestOutcome("skipped", "only on macOS"))},
            "is not decided here: 1 test passes, 2 are skipped: only on macOS",
        ),
        ({"b": UNDECIDED["b"]}, f"cannot run here: {UNDECIDED['b'].message}"),
    ],
)
def test_why_a_kata_is_away(tests: dict[str, TestOutcome], why: str) -> None:
    """How many tests pass, how many do not run, and how to get what they lack."""
    assert why == why_away(Results("", tests))


def test_an_empty_course_has_a_map() -> None:
    """A lecture without katas has a line, and so has a broken one."""
    course = Course((Lecture("lecture01", "T", {}, (), Path("lecture01")),), ("it is broken",))
    text = list(format_map(course, [], start=ROOT, blocks=False))

    assert "0 of 0 katas solved, 0 min spent" == text[0]
    assert "broken: it is broken" in text


@pytest.mark.parametrize("blocks", [False, True])
def test_no_line_is_wider_than_the_terminal(*, blocks: bool) -> None:
    """Long titles and times are cut, and long reasons are wrapped."""
    reason = TestOutcome("skipped", "gpu: " + "there is none here " * 20)
    tests = {str(number): reason for number in range(100)} | {"x": TestOutcome("failed")}
    places = [
        a_place("k01_a_name_that_is_very_long", "failing", tests, 999_999.0),
        a_place("k02_b", "solved", {}, 50.0),
    ]
    text = a_map(*places, blocks=blocks, title="Very long " * 20)

    assert [line for line in text if len(line) > WIDTH] == []
    assert all(line.isascii() for line in text) is not blocks


def test_the_bar_grows_with_the_lecture() -> None:
    """It is empty, half full or full."""
    for solved, bar in ((0, "." * 14), (1, "#" * 7 + "." * 7), (2, "#" * 14)):
        text = a_map(*(a_place(f"k0{n}", "solved" if n < solved else "open") for n in range(2)))

        assert f" {bar}  {solved} of 2" in text[2]


def test_the_next_kata_is_the_first_that_is_not_done() -> None:
    """In teaching order, even if later katas are solved."""
    places = [a_place("k01_a", "solved"), a_place("k02_b", "unavailable"), a_place("k03_c", "open")]

    assert places[2] is next_place([*places, a_place("k04_d", "failing")])
    assert next_place(places[:2]) is None


def test_a_skipped_kata_is_next_once_no_other_is_left() -> None:
    """As with ``--next``; and what builds on it waits too."""
    first, second = a_place("k01_a"), a_place("k02_b")
    later = replace(second, kata=replace(second.kata, after=("k01_a",)))
    skipped = replace(first, skipped=(1,))
    other = replace(a_place("k03_c"), skipped=(0,))

    assert next_place([skipped, later, a_place("k04_d")]) == a_place("k04_d")
    assert next_place([skipped, later]) is skipped
    assert next_place([skipped, later, other]) is other


def sized(place: Place, size: str, minutes: int, *, core: bool = True) -> Place:
    """Return the place with the size of its kata."""
    return replace(place, kata=replace(place.kata, size=size, minutes=minutes, core=core))


def test_titles_have_the_room_that_the_other_columns_leave() -> None:
    """Nothing is solved and no time spent: a title of 45 letters stands there whole."""
    title = "What comes back, and what it costs to keep it"
    places = [
        sized(replace(place, kata=replace(place.kata, title=title)), "kata", 30)
        for place in (a_place("k01_first"), a_place("k02_second"))
    ]

    assert a_map(*places)[3:5] == [
        f"  > k01_first   {title}  kata 30 min",
        f"    k02_second  {title}  kata 30 min",
    ]


def test_the_core_path_comes_next() -> None:
    """What is optional comes when no other is left, in all lectures."""
    beside = sized(a_place("k01_first"), "kata", 30, core=False)
    core = sized(a_place("k01_other", lecture="lecture02"), "spark", 5)

    assert next_place([beside, core]) is core
    assert next_place([beside, replace(core, state="solved")]) is beside
    assert next_place([replace(beside, state="solved")]) is None


def test_sizes_and_minutes_stand_beside_the_katas() -> None:
    """In parentheses if the kata is optional; no line is wider than the terminal."""
    results = {str(number): TestOutcome("passed") for number in range(18)}
    places = [
        sized(a_place("k01_first", "solved", seconds=3900), "spark", 5),
        sized(
            a_place("k02_a_second_kata_here", "failing", results | {"b": TestOutcome("failed")}),
            "lab",
            60,
        ),
        sized(a_place("k03_third"), "kata", 30, core=False),
    ]

    lines = a_map(*places)

    assert "1 of the 2 on the core path, which --next follows" == lines[1]
    assert lines[4:7] == [
        "    k01_first               Title ...  spark 5 min    solved         1 h 05 min",
        "  > k02_a_second_kata_here  Title ...  lab 60 min     18 of 19 pass",
        "    k03_third               Title ...  (kata 30 min)",
    ]
    assert "Next, Title k02_a_second_kata_here (lab, 60 min):" in lines
    assert max(map(len, lines)) <= WIDTH
