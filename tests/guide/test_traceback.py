"""What ``--next`` shows of a failure: whose calls, which line to edit, in how much room."""

from __future__ import annotations

from dataclasses import replace

import pytest

from plugins.frames import called_place
from plugins.frames import cut
from plugins.frames import edit_place
from plugins.frames import read_failure
from plugins.lessonview import WIDTH
from plugins.lessonview import Lesson
from plugins.lessonview import bar
from plugins.lessonview import brief_title
from plugins.lessonview import done_lines
from plugins.lessonview import lesson_lines


TRACEBACK = """\
katas/lecture01/test_k01.py:12: in test_it
    assert twice(1) == 2
           ^^^^^^^^
katas/lecture01/k01.py:7: in twice
    return torch.add(n)
/usr/lib/torch/functional.py:3: in add
    return inner(n)
/usr/lib/torch/inner.py:4: in inner
    raise TypeError("two arguments")
E   TypeError: two arguments
E
E   and a second line"""
EXERCISE = '''"""Twice as much.

More, with a # TODO that is none of the code: the brief may speak of it.
"""

def twice(n):
    return torch.add(n)

def half(n):
    # TODO: halve it
    raise NotImplementedError("half")

def third(n):
    raise NotImplementedError("third")
'''.replace("# TODO that", "#TODO that")
CPP = """\
// tier: small
//
// An operator of your own.

Tensor twice(const Tensor& self) {
  // TODO: a loop
  TORCH_CHECK_NOT_IMPLEMENTED(false, "twice");
}
"""
PATH = "katas/lecture01/k01.py"
OWN = [PATH, "katas/lecture01/test_k01.py"]


def a_place(text: str, **files: str) -> tuple[str, int]:
    """Return where to edit `files`, by default one exercise."""
    return edit_place(read_failure(text), files or {PATH: EXERCISE})


def test_a_traceback_is_cut_to_the_learners_calls() -> None:
    """Of the calls in other files it is enough that there are some."""
    failure = read_failure(TRACEBACK)

    assert ("TypeError: two arguments", "", "and a second line") == failure.message
    assert cut(failure.calls, OWN) == [
        "katas/lecture01/test_k01.py:12: in test_it",
        "    assert twice(1) == 2",
        "           ^^^^^^^^",
        "katas/lecture01/k01.py:7: in twice",
        "    return torch.add(n)",
        "    (2 calls in other files)",
    ]
    assert cut(failure.calls[:3], OWN)[-1] == "    (1 call in other files)"
    assert [] == cut(failure.calls[2:], OWN)


def test_a_text_without_a_traceback_is_a_message() -> None:
    """What a compiler or the crash guard says."""
    failure = read_failure(
        "segmentation fault (SIGSEGV) at k01.py:3\n\nk01.py:3: in twice\n    f()"
    )

    assert () == failure.calls
    assert 4 == len(failure.message)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (TRACEBACK, 7),
        (f"{PATH}:11: in half\nE   NotImplementedError: half", 10),
        (f"{PATH}:14: in third\nE   NotImplementedError: third", 14),
        (f"{PATH}:99: in gone\nE   ValueError: edited meanwhile", 99),
        ("katas/lecture01/test_k01.py:12: in test_it\nE   assert 1 == 2", 10),
        (f'E     File "/home/me/{PATH}", line 9\nE   SyntaxError: invalid syntax', 9),
        (f"{PATH}:9:3: error: expected ';'\n{PATH}:11:3: error: another", 9),
        ("/usr/lib/python3.11/json.py:9: a message about other files", 10),
    ],
    ids=["call", "stub", "no-todo", "edited", "assert", "syntax", "compiler", "elsewhere"],
)
def test_the_place_to_edit(text: str, line: int) -> None:
    """The learner's last call, or the TODO of the stub that it reached; else the first TODO."""
    assert (PATH, line) == a_place(text)


def test_the_place_to_edit_without_a_todo() -> None:
    """The first stub; and if there is none, the brief."""
    assert ("k.py", 2) == a_place("E   x", **{"k.py": "\nraise NotImplementedError"})
    assert ("k.py", 1) == a_place("E   x", **{"k.py": "x = 1"})


def test_a_todo_far_above_belongs_to_something_else() -> None:
    """A stub says where to write just above the line that raises."""
    text = "# TODO: the first\n" + "x = 1\n" * 20 + "raise NotImplementedError\n"

    assert ("k.py", 22) == a_place("k.py:22: in <module>\nE   x", **{"k.py": text})


def test_the_place_to_edit_in_cpp() -> None:
    """The message of TORCH_CHECK names the source and the line."""
    text = "E   NotImplementedError: twice\nE   Exception raised from twice at /x/k.cpp:7 (most"

    assert ("k.cpp", 6) == a_place(text, **{"k.cpp": CPP})


def test_the_title_is_the_first_line_of_the_brief() -> None:
    """Of a docstring, raw or on one line, or of a comment below the tier."""
    assert "Twice as much." == brief_title({"k.py": EXERCISE})
    assert "An operator of your own." == brief_title({"k.cpp": CPP})
    assert "Short." == brief_title({"k.py": 'r"""Short."""\n'})
    assert "" == brief_title({"k.py": "x = 1"})


LESSON = Lesson(
    "lecture01/k01_first: Twice",
    ["read    a/b.h: c"],
    {PATH: EXERCISE},
    OWN[1],
    "test_it[cpu]",
    "It doubles.",
    TRACEBACK,
)


def shown(lesson: Lesson) -> list[str]:
    """Return the lines of a lesson."""
    return [line.text for line in lesson_lines(lesson, "pytest katas --next")]


def test_long_texts_fit_the_terminal() -> None:
    """A message of prose is wrapped; a difference of two values keeps its columns."""
    text = f"E   AssertionError: {'word ' * 40}\nE     {'- aligned ' * 10}\nE   + {'x' * 90}"
    lines = shown(replace(LESSON, text=text, says="It says much. " * 20))
    wide = [line for line in lines if len(line) > WIDTH]

    assert [line[:3] for line in wide] == ["  -", "+ x"]
    assert sum(line.startswith("        says") or "It says" in line for line in lines) > 2


def test_a_very_long_message_is_cut() -> None:
    """And says where the rest is."""
    lines = shown(replace(LESSON, text="\n".join(f"E   {n}" for n in range(100))))

    assert "(60 more lines: pytest katas/lecture01/test_k01.py -x)" in lines
    assert "39" in lines
    assert "40" not in lines


def test_what_was_printed_is_shown() -> None:
    """The last lines of it."""
    printed = ("Captured stdout call", "\n".join(f"line {n}" for n in range(100)))
    lines = shown(replace(LESSON, printed=[printed]))

    assert lines[lines.index("Captured stdout call") :][:2] == ["Captured stdout call", "line 80"]


def test_the_bar_is_what_the_terminal_can_show() -> None:
    """And an empty course has one too."""
    assert "##########.......... 2 of 4 katas solved" == bar(2, 4, blocks=False)
    assert "██████████░░░░░░░░░░ 2 of 4 katas solved" == bar(2, 4, blocks=True)
    assert f"{'.' * 20} 0 of 0 katas solved" == bar(0, 0, blocks=False)


def test_the_end_is_told_as_it_is() -> None:
    """All, all that can run here, or all that was asked for."""

    def text(solved: int, away: dict[str, str], *, whole: bool = True) -> list[str]:
        return [line.text for line in done_lines("there", solved, 3, whole=whole, away=away)]

    assert text(3, {}) == ["Everything in there is solved: 3 of 3 katas."]
    assert text(2, {"k": "gpu"}) == [
        "Everything that can run here in there is solved: 2 of 3 katas."
    ]
    assert text(3, {}, whole=False)[1:] == ["The rest of the course: pytest katas --next"]
    assert text(2, {}) == ["Nothing failed, but not all tests ran: 2 of 3 katas are solved."]


def test_what_a_test_has_called_is_a_place() -> None:
    """The innermost call that names something of the learner's; no other does."""
    files = {"k.py": "def inner():\n    return 1\n\n\nasync def outer():\n    pass\n"}
    text = """test_k.py:3: in test_it
    check(kata.outer())
test_k.py:9: in check
    assert 2 == inner() + outer
E   assert 2 == 1"""

    assert ("k.py", 1) == called_place(read_failure(text), files)
    assert ("k.py", 5) == called_place(read_failure(text.replace("inner", "other")), files)
    assert called_place(read_failure(text), {"k.cpp": "int inner() { return 1; }"}) is None
