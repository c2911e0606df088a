"""The map of the course: what it says of each lecture and kata, in eighty columns."""

from __future__ import annotations

from pathlib import Path

import pytest

from plugins.coursemap import WIDTH
from plugins.coursemap import Place
from plugins.coursemap import duration
from plugins.coursemap import lines
from plugins.coursemap import next_place
from plugins.coursemap import shortened
from plugins.layout import Course
from plugins.layout import Kata
from plugins.layout import Lecture
from plugins.standing import Outcome
from plugins.standing import Results
from plugins.standing import Standing
from plugins.standing import State


ROOT = Path("/somewhere")


def a_place(
    name: str,
    state: State = "new",
    tests: dict[str, Outcome] | None = None,
    seconds: float = 0.0,
    lecture: str = "lecture01",
) -> Place:
    """Return a kata on the map."""
    folder = ROOT / "katas" / lecture
    kata = Kata(lecture, name, f"Title {name}", "lab", (), (), (), (), (), (), (), folder)
    return Place(kata, state, Standing(seconds, results=Results("", tests or {})))


def a_map(*places: Place, blocks: bool = False, title: str = "A title") -> list[str]:
    """Return the lines of a map of these places."""
    names = dict.fromkeys(place.kata.lecture for place in places)
    lectures = [
        Lecture(
            name,
            title,
            {},
            tuple(place.kata for place in places if place.kata.lecture == name),
            Path(name),
        )
        for name in names
    ]
    return list(lines(Course(tuple(lectures), ()), places, start=ROOT, blocks=blocks))


def test_the_map_of_a_course() -> None:
    """Lectures with what is solved; the katas of the one where the learner is; the next step."""
    results = {"a": Outcome("passed"), "b": Outcome("failed", "x"), "c": Outcome("skipped", "gpu")}
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
        "    k01_first              Title k01_first          solved          1 h 05 min",
        "  > k02_second             Title k02_second         1 of 2 pass         10 min",
        "    k03_third              Title k03_third",
        "  lecture02  A title                                     ..............  0 of 1",
        "",
        "Not run on this machine:",
        "  1 test: gpu",
        "",
        "Next, Title k02_second:",
        "  pytest katas/lecture01/test_k02_second.py -x",
    ]


def test_a_course_that_is_done_says_so() -> None:
    """What cannot run here is not waited for."""
    text = a_map(a_place("k01_first", "solved"), a_place("k02_second", "unavailable"))

    assert "1 of 2 katas solved, 0 min spent" == text[0]
    assert "Everything that can run here is solved." == text[-1]
    assert not [line for line in text if ">" in line]


def test_an_empty_course_has_a_map() -> None:
    """A lecture without katas, or no lecture at all."""
    course = Course((Lecture("lecture01", "T", {}, (), Path("lecture01")),), ("it is broken",))
    text = list(lines(course, [], start=ROOT, blocks=False))

    assert "0 of 0 katas solved, 0 min spent" == text[0]
    assert "broken: it is broken" in text


@pytest.mark.parametrize("blocks", [False, True])
def test_no_line_is_wider_than_the_terminal(*, blocks: bool) -> None:
    """However long the titles, the reasons and the times are."""
    reason = Outcome("skipped", "gpu: " + "there is none here " * 20)
    tests = {str(number): reason for number in range(100)} | {"x": Outcome("failed")}
    places = [
        a_place("k01_a_name_that_is_very_long", "failing", tests, 999_999.0),
        a_place("k02_b", "solved", {}, 50.0),
    ]
    text = a_map(*places, blocks=blocks, title="Very long " * 20)

    assert [line for line in text if len(line) > WIDTH] == []
    assert all(line.isascii() for line in text) is not blocks


def test_the_bar_grows_with_the_lecture() -> None:
    """Empty, half, full."""
    for solved, bar in ((0, "." * 14), (1, "#" * 7 + "." * 7), (2, "#" * 14)):
        text = a_map(*(a_place(f"k0{n}", "solved" if n < solved else "open") for n in range(2)))

        assert f" {bar}  {solved} of 2" in text[2]


def test_the_next_kata_is_the_first_that_is_not_done() -> None:
    """In teaching order, whatever was solved after it."""
    places = [a_place("k01_a", "solved"), a_place("k02_b", "unavailable"), a_place("k03_c", "open")]

    assert places[2] is next_place([*places, a_place("k04_d", "failing")])
    assert next_place(places[:2]) is None


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 min"), (29, "0 min"), (31, "1 min"), (3599, "1 h 00 min"), (7500, "2 h 05 min")],
)
def test_durations_are_rounded_to_minutes(seconds: float, text: str) -> None:
    """And to what a person reads."""
    assert text == duration(seconds)


@pytest.mark.parametrize(
    ("text", "room", "short"),
    [("one two three", 13, "one two three"), ("one two three", 12, "one two ...")],
)
def test_long_texts_lose_whole_words(text: str, room: int, short: str) -> None:
    """Only where there is no room for them."""
    assert short == shortened(text, room)
