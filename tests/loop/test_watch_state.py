"""The meaning of a save or a key under ``--watch``, without a terminal."""

from __future__ import annotations

from datetime import UTC
from datetime import datetime
from typing import TYPE_CHECKING

import pytest

from plugins.course.files import content_of
from plugins.course.lectures import read_course
from plugins.loop.channel import Told
from plugins.loop.kata_session import Order
from plugins.loop.screen import KEYS
from plugins.loop.screen import MEANINGS
from plugins.loop.watch_state import NONE_OPEN
from plugins.loop.watch_state import WELCOME
from plugins.loop.watch_state import Desk
from plugins.progress.plugin import remember_run
from plugins.progress.standing import Results
from plugins.progress.standing import TestOutcome
from plugins.progress.store import Bookmark
from plugins.progress.store import change_bookmark
from plugins.progress.store import note_run
from plugins.progress.store import read_bookmark
from plugins.progress.store import standing_file


if TYPE_CHECKING:
    from pathlib import Path

    from plugins.course.model import Course
    from plugins.course.model import Kata
    from tests.conftest import MiniCourse


BLOCKS = f"{'█' * 10}{'░' * 10}"
RUN, NEXT = Order("kata"), Order("next")
FIRST, SECOND, THIRD = "lecture01/k01_first", "lecture01/k02_second", "lecture02/k03_third"


@pytest.fixture
def read(course: MiniCourse) -> Course:
    """Two lectures with three katas, one of them in C++."""
    course.kata("k01_first")
    course.kata("k02_second", csrc=("csrc/k02_second.cpp",))
    course.kata("k03_third", lecture="lecture02")
    return read_course(sorted(course.katas.glob("lecture*/")))


def desk_of(course: MiniCourse, read: Course, *, moving: bool = False) -> Desk:
    """Return a desk for all katas."""
    katas = list(read.katas)
    return Desk(course.path, course.path, read, katas, moving=moving)


def solve(course: MiniCourse, read: Course, name: str) -> None:
    """Let a kata be solved as it is."""
    katas = {kata.id: kata for kata in read.katas}
    run = Results(content_of(katas[name]), {"test": TestOutcome("passed")}, 1)
    remember_run(course.path, katas[name], run, 1.0, datetime.now(UTC))


def texts(lines: object) -> list[str]:
    """Return the texts of the lines to show."""
    assert isinstance(lines, list)
    return [line.text for line in lines]


def describe_order(order: object) -> tuple[str, str, str]:
    """Return the parts of an order, with the name of its kata."""
    assert isinstance(order, Order)
    return order.kind, order.kata.id if order.kata else "", order.why


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["lecture01/k02_second.py"], ("kata", SECOND)),
        (["lecture01/csrc/k02_second.cpp"], ("kata", SECOND)),
        (["lecture02/test_k03_third.py"], ("kata", THIRD)),
        # A formatter writes many: the current kata is meant, or the first.
        (["lecture02/k03_third.py", "lecture01/k01_first.py"], ("kata", FIRST)),
        (["lecture02/k03_third.py", "lecture01/k02_second.py"], ("kata", THIRD)),
        # Files that several katas may use.
        (["lecture01/csrc/tile.h"], ("kata", FIRST)),
        (["lecture02/models.py"], ("kata", FIRST)),
    ],
)
def test_a_save_means_a_kata(
    course: MiniCourse, read: Course, names: list[str], expected: tuple[str, str]
) -> None:
    """Its exercise, its source, its tests; a file of no kata means the current one."""
    files = [course.write(f"katas/{name}", "# saved\n") for name in names]
    order = desk_of(course, read).saved(files)
    saved = names[0] if expected[1] != FIRST else names[-1]

    assert (*expected, f"saved   katas/{saved}") == describe_order(order)


@pytest.mark.parametrize(
    "name",
    ["lecture01/solutions/k01_first.py", "lecture01/README.md", "lecture01/k01_first.py~", "x.py"],
)
def test_other_files_mean_nothing(course: MiniCourse, read: Course, name: str) -> None:
    """The reference, prose, an editor's copies, and files outside the lectures."""
    assert desk_of(course, read).saved([course.katas / name]) is None


def test_a_save_of_a_kata_that_was_left_out_is_answered(course: MiniCourse, read: Course) -> None:
    """It runs nothing, and a line says why; a kata of the command beside it runs."""
    katas = read.lectures[1].katas
    desk = Desk(course.path, course.path, read, katas, moving=False)
    left_out, own = katas_files = [
        course.katas / "lecture01/k01_first.py",
        course.katas / "lecture02/k03_third.py",
    ]

    assert [
        "saved   katas/lecture01/k01_first.py",
        f"{FIRST} is not among the katas of this command: its tests do not",
        "run.",
    ] == texts(desk.saved([left_out]))
    assert ("kata", THIRD, "saved   katas/lecture02/k03_third.py") == describe_order(
        desk.saved(katas_files)
    )
    assert desk.saved([own])


def test_it_begins_with_the_first_that_is_open(course: MiniCourse, read: Course) -> None:
    """If all are solved, with the first."""
    first = describe_order(desk_of(course, read).first(skipping=False))
    solve(course, read, FIRST)
    second = describe_order(desk_of(course, read).first(skipping=False))
    solve(course, read, SECOND)
    solve(course, read, THIRD)
    desk = desk_of(course, read)

    assert ("kata", FIRST, "") == first
    assert ("kata", SECOND, "") == second
    assert ("kata", FIRST, "") == describe_order(desk.first(skipping=False))
    assert [NONE_OPEN] == texts(desk.pressed("n"))


def test_the_next_kata_is_the_next_that_is_open(course: MiniCourse, read: Course) -> None:
    """After the current one; after the last one comes the first again."""
    desk = desk_of(course, read)
    solve(course, read, SECOND)
    found = [describe_order(desk.pressed("n"))[1] for _ in range(3)]

    assert [THIRD, FIRST, THIRD] == found


def test_the_moment_names_the_kata_that_the_key_leads_to(course: MiniCourse, read: Course) -> None:
    """Without ``--next`` that is the one after the kata at hand, though one before it is open."""
    desk = desk_of(course, read)
    desk.saved([course.katas / "lecture01/k02_second.py"])
    solve(course, read, SECOND)
    desk.ran(RUN, Told(solved=(SECOND,)))
    moment = texts(desk.moment(RUN, (80, 60)))

    assert f"next    press n: {THIRD}, The title of k03_third" == moment[-1]
    assert THIRD == describe_order(desk.pressed("n"))[1]


def test_keys_are_about_the_kata_at_hand(course: MiniCourse, read: Course) -> None:
    """The solution is that of the kata that was saved last, if it is solved."""
    desk = desk_of(course, read)
    desk.saved([course.katas / "lecture01/k02_second.py"])
    desk.ran(RUN, Told(failed=SECOND))
    before, passed = texts(desk.pressed("s")), desk.passed
    solve(course, read, SECOND)
    desk.ran(RUN, Told(solved=(SECOND,)))

    assert passed is None
    assert [
        f"{SECOND} is not solved yet: its tests have not passed with your",
        "current answer.",
        "  s shows the reference once they pass.",
    ] == before
    assert f"{SECOND}: The title of k02_second" == texts(desk.pressed("s"))[0]
    assert ["Hint 1 of 3: the first hint", "2 more: press h again."] == texts(desk.pressed("h"))[1:]
    assert ("kata", SECOND, "") == describe_order(desk.pressed("r"))
    assert desk.passed
    assert desk.pressed("z") is None
    assert [f"{key}  {MEANINGS[key]}" for key in KEYS] == texts(desk.pressed("?"))


def test_a_save_runs_the_kata_that_was_saved(course: MiniCourse, read: Course) -> None:
    """With ``--next`` too, whichever it is; it says where the learner was, and n goes back."""
    desk = desk_of(course, read, moving=True)
    nothing_shown = describe_order(desk.pressed("n"))
    change_bookmark(course.path, lambda _: Bookmark(SECOND))
    desk.ran(NEXT, Told(failed=SECOND))
    order = desk.saved([course.katas / "lecture01/k01_first.py"])
    solve(course, read, FIRST)
    desk.ran(RUN, Told(solved=(FIRST,)))
    passed, moment = desk.passed, texts(desk.moment(RUN, (80, 60)))
    back = desk.pressed("n")

    assert ("next", "", "") == nothing_shown
    assert isinstance(order, Order)
    assert ("kata", FIRST, "saved   katas/lecture01/k01_first.py") == describe_order(order)
    assert order.away
    assert order.away.id == SECOND
    assert passed
    assert passed.id == FIRST
    assert f"next    press n: {SECOND}, The title of k02_second" == moment[-1]
    assert ("kata", SECOND, "") == describe_order(back)
    assert ("skip", "", "") == describe_order(desk.pressed("n"))
    assert ("skip", "", "") == describe_order(desk.first(skipping=True))


@pytest.mark.parametrize("flying", [False, True])
def test_a_solved_kata_is_stopped_at_unless_one_flies(
    course: MiniCourse, read: Course, *, flying: bool
) -> None:
    """With ``--go`` the save of the current kata goes on by itself, that of another does not."""
    katas = list(read.katas)
    desk = Desk(course.path, course.path, read, katas, moving=True, flying=flying)
    begin = describe_order(desk.first(skipping=False))[:2]
    change_bookmark(course.path, lambda _: Bookmark(FIRST))
    desk.ran(NEXT, Told(failed=FIRST))
    current = describe_order(desk.saved([course.katas / "lecture01/k01_first.py"]))
    other = describe_order(desk.saved([course.katas / "lecture02/k03_third.py"]))

    assert ("next", "") == begin
    assert ("next" if flying else "kata") == current[0]
    assert ("kata", THIRD) == other[:2]


def test_a_solved_kata_has_its_screen(course: MiniCourse, read: Course) -> None:
    """What was learned, the time, the hints, the reference beside, and what comes next.

    Whenever it runs again: by a key that goes back to it, too.
    """
    course.write("katas/lecture01/solutions/k01_first.py", "def f(): return 1\n")
    desk = desk_of(course, read, moving=True)
    desk.pressed("h")
    desk.run()
    solve(course, read, FIRST)
    desk.ran(RUN, Told(solved=(FIRST,)))
    first = desk.moment(RUN, (80, 60))
    desk.run()
    desk.ran(RUN, Told(solved=(FIRST,)))

    assert [
        "",
        "k01_first.py: your answer on the left, the reference on the right",
        f"{'':38} > def f(): return 1",
        "The full reference: katas/lecture01/solutions/k01_first.py",
        "",
        f"{FIRST} is solved: The title of k01_first",
        "learned why strides fits",
        "time    under 1 min, 1 of 3 hints",
        f"lecture01 {BLOCKS} 1 of 2   core path: 1 of 3",
        f"next    press n: {SECOND}, The title of k02_second",
    ] == texts(first)
    assert first == desk.moment(RUN, (80, 60))
    assert [] == desk.moment(NEXT, (80, 60))


def test_the_screen_of_a_solved_kata_reads_the_other_lectures_once(
    course: MiniCourse, read: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With hundreds of solved katas each further look would be felt after every save."""
    solve(course, read, THIRD)
    desk = desk_of(course, read, moving=True)
    desk.run()
    solve(course, read, FIRST)
    desk.ran(RUN, Told(solved=(FIRST,)))
    asked: list[str] = []

    def named(root: Path, kata: Kata) -> Path:
        asked.append(kata.id)
        return standing_file(root, kata)

    monkeypatch.setattr("plugins.progress.store.standing_file", named)

    assert desk.moment(RUN, (80, 60))
    assert 1 == asked.count(THIRD)


def test_a_lecture_ends_once(course: MiniCourse, read: Course) -> None:
    """Its page comes when its last kata is solved; later that kata's own screen is shown."""
    desk = Desk(course.path, course.path, read, read.lectures[1].katas, moving=False)
    desk.run()
    solve(course, read, THIRD)
    desk.ran(RUN, Told(solved=(THIRD,)))
    first = texts(desk.moment(RUN, (80, 60)))
    desk.run()
    desk.ran(RUN, Told(solved=(THIRD,)))
    again = texts(desk.moment(RUN, (80, 60)))

    assert "The end of lecture02: The title of lecture02" in first
    assert "k03_third.py: the same as the reference" in again
    assert not any(line.startswith("The end of ") for line in again)
    assert first[-4:] == again[-4:]


def test_the_page_of_a_lecture_leaves_room_for_the_comparison(
    course: MiniCourse, read: Course
) -> None:
    """The last answer stands above it, cut; on a small screen the page is alone."""
    right = "".join(f"    x{n} = {n}\n" for n in range(30))
    course.write("katas/lecture02/solutions/k03_third.py", f"def f():\n{right}")
    desk = Desk(course.path, course.path, read, read.lectures[1].katas, moving=False)
    desk.run()
    solve(course, read, THIRD)
    desk.ran(RUN, Told(solved=(THIRD,)))
    large, small, none = (texts(desk.moment(RUN, (80, rows))) for rows in (60, 20, 12))
    page = "The end of lecture02: The title of lecture02"

    compared = "k03_third.py: your answer on the left, the reference on the right"
    assert large.index(compared) < large.index(page)
    assert f"{'':38} >     x29 = 29" in large
    assert f"{'':38} >     x0 = 0" in small[: small.index(page)]
    assert any(line.endswith("more lines: press s)") for line in small)
    assert 20 == len(small)
    assert page == none[0]
    assert large[large.index(page) :] == small[small.index(page) :] == none


@pytest.mark.parametrize("moving", [False, True])
def test_the_key_for_the_next_kata_postpones_one_that_is_not_solved(
    course: MiniCourse, read: Course, *, moving: bool
) -> None:
    """Not one that is solved, nor the only kata of a command."""
    desk = desk_of(course, read, moving=moving)
    change_bookmark(course.path, lambda _: Bookmark(FIRST))
    alone = Desk(course.path, course.path, read, [desk.kata], moving=moving)
    before = desk.postpones, alone.postpones
    solve(course, read, FIRST)

    assert (True, False) == before
    assert not desk.postpones


def test_it_goes_back_to_the_kata_that_was_left_by_a_save(course: MiniCourse, read: Course) -> None:
    """The key postpones none then."""
    desk = desk_of(course, read, moving=True)
    change_bookmark(course.path, lambda _: Bookmark(FIRST))
    desk.saved([course.katas / f"{SECOND}.py"])

    assert not desk.postpones
    assert FIRST == describe_order(desk.pressed("n"))[1]


def test_the_key_for_the_next_kata_names_the_command_of_the_page(
    course: MiniCourse, read: Course
) -> None:
    """Where nothing of the command is open, and something of the course is."""
    desk = Desk(course.path, course.path, read, read.lectures[1].katas, moving=False)
    desk.run()
    solve(course, read, THIRD)
    desk.ran(RUN, Told(solved=(THIRD,)))
    page = texts(desk.moment(RUN, (200, 60)))
    said = texts(desk.pressed("n"))

    command = said[1].removeprefix("The rest of the course: ")
    assert NONE_OPEN == said[0]
    assert command.endswith("lecture01 --watch --next")
    assert command in " ".join(line.strip() for line in page)


def test_the_end_of_a_command_leads_to_another_lecture(course: MiniCourse, read: Course) -> None:
    """To the first open kata of a later lecture, or else of an earlier one; or to none."""
    last = "lecture03/k04_last"
    course.kata("k04_last", lecture="lecture03")
    read = read_course(sorted(course.katas.glob("lecture*/")))
    katas = read.lectures[1].katas
    desk = Desk(course.path, course.path, read, katas, moving=False)
    ids = []
    for name in (last, FIRST, SECOND):
        ids.append(desk.beyond.id if desk.beyond else "")
        if name == FIRST:
            desk.ran(Order("kata", katas[0]), Told(solved=(THIRD,)))
            shown = " ".join(text.strip() for text in texts(desk.moment(RUN, (80, 60))))
        solve(course, read, name)

    assert [last, FIRST, SECOND] == ids
    assert f"next    {FIRST}, The title of k01_first: pytest" in shown
    assert shown.endswith("katas/lecture01 --watch --next")
    assert desk.beyond is None


def test_a_farewell_names_what_is_next(course: MiniCourse, read: Course) -> None:
    """An open kata of the command, or else of another lecture, with the command for that."""
    katas = read.lectures[1].katas
    desk = Desk(course.path, course.path, read, katas, moving=False)
    ended = []
    for name in (THIRD, FIRST, SECOND):
        ended.append(" ".join(desk.farewell(["katas/lecture02", "--watch"])))
        solve(course, read, name)

    assert ended[0].endswith("go on with: pytest katas/lecture02 --watch")
    assert f"next {FIRST}" in ended[1]
    assert ended[1].endswith("lecture01 --watch --next")
    assert "nothing else is open here" in " ".join(desk.farewell([]))


def test_a_long_reference_leaves_room_for_the_moment(course: MiniCourse, read: Course) -> None:
    """Its first lines are shown, and a key shows all."""
    course.write(
        "katas/lecture01/solutions/k01_first.py", "".join(f"a{n} = 1\n" for n in range(60))
    )
    desk = desk_of(course, read)
    desk.run()
    solve(course, read, FIRST)
    desk.ran(RUN, Told(solved=(FIRST,)))

    lines = texts(desk.moment(RUN, (80, 20)))
    assert "k01_first.py: your answer on the left, the reference on the right" == lines[1]
    assert f"{'':38} > a10 = 1" == lines[12]
    assert [
        "(50 more lines: press s)",
        "",
        f"{FIRST} is solved: The title of k01_first",
        "learned why strides fits",
        "time    under 1 min, no hint",
        f"lecture01 {BLOCKS} 1 of 2   core path: 1 of 3",
        f"next    press n: {SECOND}, The title of k02_second",
    ] == lines[13:]
    assert 60 < len(texts(desk.pressed("s")))


def test_the_last_kata_of_a_lecture_has_a_page(course: MiniCourse, read: Course) -> None:
    """What one can do now, and the next lecture; the last of all says that nothing is open."""
    course.write("katas/lecture01/README.md", "## What you will be able to do\n\n- Read.\n")
    desk, pages = desk_of(course, read), []
    for name in (SECOND, FIRST, THIRD):
        desk.saved([course.katas / f"{name}.py"])
        solve(course, read, name)
        desk.ran(RUN, Told(solved=(name,)))
        pages.append(texts(desk.moment(RUN, (80, 24))))

    page = "The end of lecture01: The title of lecture01"
    assert page not in pages[0]
    assert pages[1][pages[1].index(page) :][:6] == [
        page,
        "",
        "What you can do now:",
        "- Read.",
        "",
        "It took 0 min. This is a good place to stop.",
    ]
    assert f"next    press n: {THIRD}, The title of k03_third" == pages[1][-1]
    assert "Nothing else is open here." == pages[2][-1]


def test_an_unsolved_kata_that_is_left_waits(course: MiniCourse, read: Course) -> None:
    """The screen of the next one says how to go back to it; a solved one does not wait."""
    desk = desk_of(course, read)
    left = describe_order(desk.pressed("n"))
    solve(course, read, SECOND)
    solved = describe_order(desk.pressed("n"))

    assert ("kata", SECOND, f"{FIRST} is postponed: press b to go back to it") == left
    assert ("kata", THIRD, "") == solved


@pytest.mark.parametrize("moving", [False, True])
def test_a_key_goes_back(course: MiniCourse, read: Course, *, moving: bool) -> None:
    """To the kata that the key for the next one has left, which is skipped no more."""
    desk = desk_of(course, read, moving=moving)
    nothing = texts(desk.pressed("b"))
    change_bookmark(course.path, lambda _: Bookmark(FIRST))
    desk.ran(NEXT, Told(failed=FIRST))
    before = desk.can_go_back
    desk.pressed("n")
    change_bookmark(course.path, lambda _: Bookmark(SECOND, (FIRST,)))
    desk.ran(NEXT, Told(failed=SECOND))

    assert ["You have left no kata yet: n leaves one, and b goes back to it."] == nothing
    assert not before
    assert desk.can_go_back
    assert ("kata", FIRST, "") == describe_order(desk.pressed("b"))
    assert not desk.can_go_back
    if moving:
        assert Bookmark(FIRST) == read_bookmark(course.path)


def test_the_only_open_kata_is_not_left(course: MiniCourse, read: Course) -> None:
    """The key for the next one comes back to it, and none leads back from there."""
    desk = desk_of(course, read, moving=True)
    change_bookmark(course.path, lambda _: Bookmark(FIRST))
    desk.ran(NEXT, Told(failed=FIRST))
    desk.pressed("n")
    change_bookmark(course.path, lambda _: Bookmark(FIRST, (FIRST,)))
    desk.ran(Order("skip"), Told(failed=FIRST))

    assert not desk.can_go_back


@pytest.mark.parametrize("flying", [False, True])
def test_a_key_goes_on_where_nothing_is_remembered(
    course: MiniCourse, read: Course, *, flying: bool
) -> None:
    """With ``--next`` in a read-only checkout too: to one kata after the other, and back."""
    course.write(".katas", "a file, so that nothing can be made in it")
    katas = list(read.katas)
    desk = Desk(course.path, course.path, read, katas, moving=True, flying=flying)
    found = [describe_order(desk.pressed("n"))[:2] for _ in range(3)]

    assert [("kata", SECOND), ("kata", THIRD), ("kata", FIRST)] == found
    assert desk.can_go_back


def test_where_nothing_is_remembered_the_run_says_which_kata_is_at_hand(
    course: MiniCourse, read: Course
) -> None:
    """With ``--next`` it goes past what it has solved; keys are about the kata that it shows."""
    course.write(".katas", "a file, so that nothing can be made in it")
    course.write("katas/lecture01/solutions/k01_first.py", "def f(): return 1\n")
    desk = desk_of(course, read, moving=True)
    desk.ran(NEXT, Told(failed=SECOND, solved=(FIRST,)))
    hint, passed = texts(desk.pressed("h")), desk.passed
    desk.saved([course.katas / "lecture01/k01_first.py"])
    desk.ran(RUN, Told(solved=(FIRST,)))

    assert f"{SECOND}: The title of k02_second" == hint[0]
    assert passed is None
    assert f"{FIRST}: The title of k01_first" == texts(desk.pressed("s"))[0]


def test_a_run_that_was_killed_leaves_the_kata_at_hand(course: MiniCourse, read: Course) -> None:
    """It is solved if it was."""
    desk = desk_of(course, read, moving=True)
    desk.ran(NEXT, Told())
    open_one = desk.passed
    solve(course, read, FIRST)
    desk.ran(NEXT, Told())

    assert open_one is None
    assert desk.passed
    assert FIRST == desk.passed.id == desk.kata.id


def test_a_file_that_is_gone_was_removed(course: MiniCourse, read: Course) -> None:
    """Not saved."""
    file = course.katas / "lecture01/k01_first.py"
    file.unlink()

    order = desk_of(course, read).saved([file])
    assert ("kata", FIRST, "removed katas/lecture01/k01_first.py") == describe_order(order)


def test_what_is_optional_is_offered_where_a_lecture_ends(course: MiniCourse, read: Course) -> None:
    """It runs when it is saved, but is not on the way; the key for the next one says what is."""
    katas = list(read.katas)
    first, second, third = katas
    desk = Desk(course.path, course.path, read, katas, moving=False, path=[first, third])
    offer = "1 more is optional: pytest katas/lecture01 --watch --next --all"
    saved = describe_order(desk.saved([second.exercise]))
    later = describe_order(desk.pressed("n"))
    desk.saved([first.exercise])
    solve(course, read, FIRST)
    desk.ran(RUN, Told(solved=(FIRST,)))
    moment = texts(desk.moment(RUN, (80, 60)))
    solve(course, read, THIRD)
    end = texts(desk.pressed("n"))
    solve(course, read, SECOND)

    assert ("kata", SECOND) == saved[:2]
    assert ("kata", THIRD) == later[:2]
    assert [f"next    press n: {THIRD}, The title of k03_third", offer] == moment[-2:]
    assert [NONE_OPEN, offer] == end
    assert [NONE_OPEN] == texts(desk.pressed("n"))


def test_the_list_has_the_katas_of_one_lecture(course: MiniCourse, read: Course) -> None:
    """The current kata's; the other lectures take a line each."""
    desk = desk_of(course, read)
    desk.pressed("l")
    assert desk.list
    lines = desk.list.lines(22)

    assert ["> lecture01", "  > k01_first", "    k02_second", "  lecture02"] == [
        line[: 2 + line[2:].rindex("  The title")].rstrip() for line in lines
    ]
    assert [] == [line for line in lines if len(line) > 80]


def test_the_first_run_of_all_is_a_welcome(course: MiniCourse, read: Course) -> None:
    """With ``--next``; whoever has run something, or where nothing is remembered, has none."""
    first = describe_order(desk_of(course, read, moving=True).first(skipping=False))
    alone = describe_order(desk_of(course, read).first(skipping=False))
    note_run(course.path, datetime.now(UTC))
    later = describe_order(desk_of(course, read, moving=True).first(skipping=False))

    assert ("next", "", WELCOME) == first
    assert max(map(len, WELCOME.splitlines())) <= 80
    assert ("kata", FIRST, "") == alone
    assert ("next", "", "") == later


@pytest.mark.parametrize("moving", [False, True])
def test_one_jumps_from_the_list(course: MiniCourse, read: Course, *, moving: bool) -> None:
    """To another kata, as if it had been saved; a key goes back."""
    change_bookmark(course.path, lambda _: Bookmark(FIRST))
    desk = desk_of(course, read, moving=moving)
    opened = texts(desk.pressed("l"))
    moved = texts(desk.pressed("j"))
    jump = desk.pressed("\n")
    back = desk.pressed("b")

    assert [] == opened == moved
    assert ("kata", SECOND, "") == describe_order(jump)
    assert isinstance(jump, Order)
    assert jump.away == (read.katas[0] if moving else None)
    assert desk.list is None
    assert ("kata", FIRST, "") == describe_order(back)


def test_one_goes_on_from_the_list(course: MiniCourse, read: Course) -> None:
    """The way begins at that kata, as with ``--from``, for what follows too."""
    change_bookmark(course.path, lambda _: Bookmark(FIRST))
    desk = desk_of(course, read, moving=True)
    desk.pressed("l")
    desk.pressed("j")
    order = desk.pressed("g")
    solve(course, read, SECOND)
    desk.ran(RUN, Told(solved=(SECOND,)))
    following = desk.open_kata
    after = desk.pressed("n")

    assert isinstance(order, Order)
    assert ("kata", SECOND, None) == (order.kind, order.kata and order.kata.id, order.away)
    assert SECOND == read_bookmark(course.path).shown
    assert following
    assert THIRD == following.id
    assert Order("next", first=SECOND) == after


def test_any_other_key_closes_the_list(course: MiniCourse, read: Course) -> None:
    """And means what it means elsewhere; the list's own key only closes it."""
    desk = desk_of(course, read)
    answers = {}
    for key in ("l", "z", "h", "r"):
        desk.pressed("l")
        answers[key] = desk.pressed(key)
        assert desk.list is None

    assert [] == answers["l"] == answers["z"]
    assert "Hint 1 of 3: the first hint" == texts(answers["h"])[1]
    assert ("kata", FIRST, "") == describe_order(answers["r"])


def test_a_reset_is_of_the_kata_at_hand_or_in_the_list(
    course: MiniCourse, read: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the key came twice in a row; then the save of the stub says so."""
    done: list[str] = []

    def reset(_: object, kata: Kata) -> tuple[bool, list[str]]:
        done.append(kata.id)
        return True, ["the stub again"]

    monkeypatch.setattr("plugins.loop.course_list.reset_kata", reset)
    desk = desk_of(course, read)
    asked = texts(desk.pressed("x"))
    desk.pressed("z")
    desk.pressed("x")
    told = texts(desk.pressed("x"))
    desk.pressed("l")
    desk.pressed("j")
    desk.pressed("x")
    desk.pressed("x")
    saved = desk.saved([course.katas / "lecture01/k02_second.py"])

    assert "Press x again to put the stub of lecture01/k01_first back." == asked[0]
    assert ["the stub again"] == told
    assert [FIRST, SECOND] == done
    assert ("kata", SECOND, "the stub again") == describe_order(saved)
