"""A failure's calls in the learner's files, and the line to edit."""

from __future__ import annotations

from dataclasses import replace

import pytest

from plugins.guide.definitions import definitions
from plugins.guide.traceback import called_place
from plugins.guide.traceback import edit_place
from plugins.guide.traceback import find_mention
from plugins.guide.traceback import keep_own_calls
from plugins.guide.traceback import lines_before
from tests.support.failures import CPP
from tests.support.failures import EXERCISE
from tests.support.failures import OWN
from tests.support.failures import PATH
from tests.support.failures import TRACEBACK
from tests.support.failures import failure_in


def place_in(text: str, **files: str) -> tuple[str, int]:
    """Return where to edit `files`, by default one exercise."""
    return edit_place(failure_in(text), files or {PATH: EXERCISE})


def test_only_calls_in_the_learners_files_are_kept() -> None:
    """Calls in other files are only counted, and not at all before the first of the learner's."""
    failure = failure_in(TRACEBACK)

    assert ("TypeError: two arguments", "", "and a second line") == failure.message
    assert keep_own_calls(failure.frames, OWN) == [
        [
            "katas/lecture01/test_k01.py:12: in test_it",
            "    assert twice(1) == 2",
            "           ^^^^^^^^",
        ],
        [
            "katas/lecture01/k01.py:7: in twice",
            "    return torch.add(n)",
            "    (2 calls in other files)",
        ],
    ]
    assert keep_own_calls(failure.frames[:3], OWN)[-1][-1] == "    (1 call in other files)"
    assert [] == keep_own_calls(failure.frames[2:], OWN)


def test_lines_outside_calls_and_message_are_dropped() -> None:
    """Before the first call, and between two lines of the message."""
    failure = failure_in("a line\nk.py:3: in f\n    f()\nE   one\nanother line\nE   two")

    assert [("k.py:3: in f", "    f()")] == [call.lines for call in failure.frames]
    assert ("one", "two") == failure.message


def test_a_text_without_a_traceback_is_a_message() -> None:
    """As a compiler or the crash guard writes it."""
    failure = failure_in("segmentation fault (SIGSEGV) at k01.py:3\n\nk01.py:3: in twice\n    f()")

    assert () == failure.frames
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
    assert (PATH, line) == place_in(text)


def test_the_place_to_edit_without_a_todo() -> None:
    """The first stub or, if there is none, the first line."""
    assert ("k.py", 2) == place_in("E   x", **{"k.py": "\nraise NotImplementedError"})
    assert ("k.py", 1) == place_in("E   x", **{"k.py": "x = 1"})


def test_a_todo_far_above_belongs_to_something_else() -> None:
    """A stub has its TODO just above the line that raises."""
    text = "# TODO: the first\n" + "x = 1\n" * 20 + "raise NotImplementedError\n"

    assert ("k.py", 22) == place_in("k.py:22: in <module>\nE   x", **{"k.py": text})


def test_the_place_to_edit_in_cpp() -> None:
    """The message of TORCH_CHECK names the source and the line."""
    text = "E   NotImplementedError: twice\nE   Exception raised from twice at /x/k.cpp:7 (most"

    assert ("k.cpp", 6) == place_in(text, **{"k.cpp": CPP})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("k.py:3: error", ("k.py", 3)),
        ("a.py:1, b.py:2, /x/k.py:3", ("k.py", 3)),
        ('k.py:3\n  File "k.py", line 4', ("k.py", 4)),
        ("xk.py:3", None),
    ],
    ids=["relative", "absolute", "python-first", "other-name"],
)
def test_a_place_in_a_message(text: str, expected: tuple[str, int] | None) -> None:
    """The first one in a file of the learner's; Python's form comes before that of compilers."""
    assert expected == find_mention(text, {"k.py": ""})


def test_a_wrong_result_leads_to_what_the_test_called() -> None:
    """Not to the first line of the file, or to the TODO of another function."""
    text = "test_k.py:3: in test_it\n    assert 2 == outer()\nE   assert 2 == 1"
    file = "def outer():\n    return 1\n\n\ndef other():\n    # TODO: write it\n"

    assert ("k.py", 1) == place_in(text, **{"k.py": file})
    assert ("k.py", 6) == place_in(text.replace("outer", "none"), **{"k.py": file})
    assert ("k.py", 1) == place_in(text.replace("outer", "none"), **{"k.py": "x = 1"})


def led_to(text: str, **tests: str) -> list[str]:
    """Return the lines before a failure."""
    return [
        *lines_before(failure_in(text).frames, {f"{name}.py": it for name, it in tests.items()})
    ]


def test_what_a_test_called_is_a_place() -> None:
    """The innermost call that names a definition of the learner's decides."""
    files = {"k.py": "def inner():\n    return 1\n\n\nasync def outer():\n    pass\n"}
    text = """test_k.py:3: in test_it
    check(kata.outer())
test_k.py:9: in check
    assert 2 == inner() + outer
E   assert 2 == 1"""

    assert ("k.py", 1) == called_place(led_to(text), files)
    assert ("k.py", 5) == called_place(led_to(text.replace("inner", "other")), files)
    cxx = {"k.cpp": "// a\nint inner() { return 1; }"}
    assert ("k.cpp", 2) == called_place(led_to(text), cxx)
    assert called_place(led_to(text.replace("inner", "other")), cxx) is None


TEST = """kata = 1


def check(tape, wanted):
    x = 1
    tape.backward(x)
    assert x == wanted


def test_it():
    tape = kata.Tape()

    def program(n):
        return n

    tape.record(program(1))  # not forward
    check(tape, 3)
"""
CHECKED = """test_k.py:17: in test_it
    check(tape, "record")
test_k.py:7: in check
    assert x == wanted  # by forward
E   AssertionError: the record is wrong"""


def test_the_lines_before_a_failure_are_those_of_the_tests() -> None:
    """What is shown, and then each function upwards, the innermost first; without its prose.

    Lines with a name of the failing line, or of what such a line is made of, come before others.
    """
    assert led_to(CHECKED, test_k=TEST) == [
        "    assert x == wanted  ",
        "    check(tape, )",
        "    tape.backward(x)",
        "    x = 1",
        "    tape.record(program(1))  ",
        "    tape = kata.Tape()",
        "",
        "        return n",
        "",
    ]
    assert led_to(CHECKED) == ["    assert x == wanted  ", "    check(tape, )"]


SHARED = """import kata


def test_it():
    schema = [1]
    first, second = kata.fill(schema), kata.fill(schema)
    assert first == second
    assert kata.trim(schema, first) == ()
    first.append(3)

    assert second == [1], "two calls share a list"
"""


def test_what_the_failing_line_compares_was_made_by_the_place() -> None:
    """Not the function that the test has called since then, for something else."""
    files = {"k.py": "def fill(x):\n    return x\n\n\ndef trim(x, y):\n    return ()\n"}
    text = """test_k.py:11: in test_it
    assert second == [1], "two calls share a list"
E   AssertionError: two calls share a list"""

    assert ("k.py", 1) == called_place(led_to(text, test_k=SHARED), files)
    other = text.replace("second == [1]", "first == [1]")
    assert ("k.py", 5) == called_place(led_to(other, test_k=SHARED), files)


TAPE = """class Tape:
    def record(self):
        return 1

    def backward(self, x):
        return 2
"""


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("", "", 5),
        ("the record is wrong", "`Tape.record` is wrong", 2),
        ("the record is wrong", "record() is wrong", 2),
        ("the record is wrong", "`tape` is wrong", 5),
        ("x == wanted", "tape.record(x)", 2),
    ],
    ids=["above", "backticks", "call", "no-place", "shown"],
)
def test_a_wrong_result_leads_to_what_the_test_called_last(old: str, new: str, line: int) -> None:
    """Of several functions to write: a word of the message counts less than a call."""
    places = {"k.py": [*definitions(TAPE, python=True).values()]}
    failure = failure_in(CHECKED.replace(old, new) if old else CHECKED)

    assert ("k.py", line) == edit_place(failure, {"k.py": TAPE}, places, {"test_k.py": TEST})


def test_a_hunt_for_bugs_leads_to_what_the_test_called() -> None:
    """Whether or not the TODO is still there."""
    text = "# TODO: find the bugs.\n\n\nclass Noise:\n    pass\n\n\nclass Gain:\n    pass\n"
    test = "def test_gain():\n    gain = Gain()\n    x = 1\n    assert gain(x) == 2\n"
    failure = failure_in("test_k.py:4: in test_gain\n    assert gain(x) == 2\nE   assert 1 == 2")

    assert ("k.py", 8) == edit_place(failure, {"k.py": text}, {}, {"test_k.py": test})
    assert ("k.py", 1) == edit_place(failure, {"k.py": text}, {})


def test_an_error_in_the_modules_own_code_is_a_place() -> None:
    """A broken import, say: no function to write is around it, and none is at fault."""
    text = "import nothing\n\n\ndef given():\n    return nothing()\n\n\ndef mine():\n    return 1\n"
    files = {"k.py": text}
    places = {"k.py": [definitions(text, python=True)["mine"]]}
    broken = failure_in("test_k.py:3: in <module>\nk.py:1: in <module>\nE   ModuleNotFoundError: x")
    inside = failure_in("test_k.py:3: in test_it\nk.py:5: in given\nE   TypeError: x")

    assert ("k.py", 1) == edit_place(broken, files, places)
    assert ("k.py", 8) == edit_place(inside, files, places)


def test_a_row_of_a_prediction_is_a_place() -> None:
    """Of a test that is one of the rows; a row that is not there leads to the table."""
    text = "def given():\n    pass\n\n\ndef rows():\n    return {\n        'one': 1,\n    }\n"
    files = {"k.py": text}
    places = {"k.py": [definitions(text, python=True)["rows"]]}
    wrong = failure_in("test_k.py:3: in test_it\nE   assert 1 == 2")

    def place(test: str, rows: tuple[str, ...]) -> tuple[str, int]:
        return edit_place(replace(wrong, test=test, rows=rows), files, places)

    assert ("k.py", 7) == place("test_it[one]", ("test_it[one]", "test_it[two]"))
    assert ("k.py", 5) == place("test_it[two]", ("test_it[one]", "test_it[two]"))
    assert ("k.py", 5) == place("test_it[one]", ())
