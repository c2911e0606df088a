"""How pytest's report of a failure in a kata is shortened."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from plugins.guide.shorten import MOST
from plugins.guide.shorten import drop_bare
from plugins.guide.shorten import drop_foreign_calls
from plugins.guide.shorten import is_foreign
from plugins.guide.shorten import shorten_message
from tests.support.failures import PLUGINS


if TYPE_CHECKING:
    from tests.conftest import MiniCourse


LECTURE = Path("/course/katas/lecture01")
STUB = """
import contextlib
import thirdparty

def give(value):
    return thirdparty.deep(value)

def chained(value):
    try:
        thirdparty.deep(value)
    except ValueError as error:
        raise KeyError("again") from error

@contextlib.contextmanager
def managed():
    raise TypeError("in the context")
    yield
"""
THIRD = """
def deep(value, left=9):
    if left:
        return deep(value, left - 1)
    raise ValueError("no {}".format(value))
"""
TESTS = """
import pytest

from katas.lecture01.k01_first import chained
from katas.lecture01.k01_first import give
from katas.lecture01.k01_first import managed


def test_deep():
    assert give(3) == 3

def test_chained():
    chained(4)

def test_context():
    with managed():
        pass

def test_long():
    assert False, "\\n".join(map(str, range(100)))

def test_reason():
    pytest.fail("\\n".join(map(str, range(100))), pytrace=False)
"""


@pytest.fixture
def katas(course: MiniCourse) -> MiniCourse:
    """A course with an installed package that raises deep within."""
    course.plugins(*PLUGINS)
    site = course.path / "lib/site-packages"
    course.write("lib/site-packages/thirdparty.py", THIRD)
    course.path_first(site)
    course.kata(stub=STUB, test=TESTS)
    return course


@pytest.mark.parametrize("options", [[], ["-n1"]])
def test_frames_of_packages_are_cut(katas: MiniCourse, options: list[str]) -> None:
    """What is left is the learner's and the test's; the message stays, from a worker too."""
    result = katas.run("-k", "deep", *options)

    shown = result.stdout.str()
    assert "thirdparty.py" not in shown
    result.stdout.fnmatch_lines(
        [
            "katas/lecture01/test_k01_first.py:*: in test_deep",
            "    assert give(3) == 3",
            "katas/lecture01/k01_first.py:6: in give",
            "    return thirdparty.deep(value)",
            "E   ValueError: no 3",
        ]
    )


@pytest.mark.parametrize("option", ["-v", "--tb=long", "--all-failures"])
def test_every_frame_is_shown_if_asked_for(katas: MiniCourse, option: str) -> None:
    """As pytest itself does."""
    lines = katas.run("-k", "deep or reason", option).outlines

    assert 10 <= sum("thirdparty.py:" in line for line in lines)
    assert "99" in lines


@pytest.mark.parametrize("style", ["line", "native", "no"])
def test_another_style_is_pytests(katas: MiniCourse, style: str) -> None:
    """Nothing breaks in a style that has no entries to cut."""
    result = katas.run("-k", "deep or chained", f"--tb={style}")

    result.assert_outcomes(failed=2)
    assert ("thirdparty.py" in result.stdout.str()) == (style != "no")


def test_each_exception_of_a_chain_is_cut(katas: MiniCourse) -> None:
    """The first one too."""
    result = katas.run("-k", "chained")

    assert "thirdparty.py" not in result.stdout.str()
    result.stdout.fnmatch_lines(
        [
            "katas/lecture01/k01_first.py:10: in chained",
            "E   ValueError: no 4",
            "The above exception was the direct cause of the following exception:",
            "katas/lecture01/k01_first.py:12: in chained",
            "E   KeyError: 'again'",
        ]
    )


def test_frames_of_python_are_cut(katas: MiniCourse) -> None:
    """Its contextlib stands between a test and the learner's function."""
    shown = katas.run("-k", "context").stdout.str()

    assert "contextlib.py" not in shown
    assert "E   TypeError: in the context" in shown


@pytest.mark.parametrize("name", ["test_long", "test_reason"])
def test_a_long_message_is_cut(katas: MiniCourse, name: str) -> None:
    """It says how many lines are left out, and what shows them."""
    lines = katas.run("-k", name).outlines

    begin = next(number for number, line in enumerate(lines) if name in line)
    shown = lines[begin : lines.index(f"{' short test summary info ':=^80}")]
    assert len(shown) <= MOST + 4
    assert any(line.endswith("more lines: -v shows them") for line in shown)
    assert not any(line.split()[-1:] == ["60"] for line in shown)


def test_a_syntax_error_shows_no_import(katas: MiniCourse) -> None:
    """Only the line in the test module, and the error."""
    katas.write("katas/lecture01/k01_first.py", "def give(value:\n    return 1\n")

    result = katas.run()

    assert "importlib" not in result.stdout.str()
    result.stdout.fnmatch_lines(
        ["katas/lecture01/test_k01_first.py:4: in <module>", "E     File *k01_first.py*, line 1"]
    )


def test_a_test_of_the_project_is_shown_as_ever(katas: MiniCourse) -> None:
    """Only katas are shortened."""
    katas.write("tests/test_ours.py", "import thirdparty\ndef test_it(): thirdparty.deep(1)\n")

    shown = katas.run("tests").stdout.str()

    assert "thirdparty.py:5: ValueError" in shown


def test_junit_and_the_progress_have_the_message(course: MiniCourse) -> None:
    """Whatever the terminal leaves out."""
    course.kata(test="def test_it(): assert False, '\\n'.join(map(str, range(100)))")

    course.run("--junitxml=out.xml")

    (file,) = (course.path / ".katas/progress").rglob("k01_first.json")
    (outcome,) = json.loads(file.read_text())["results"]["tests"].values()
    assert outcome["message"].startswith("AssertionError: 0\n  1\n  2\n")
    assert "AssertionError: 0" in (course.path / "out.xml").read_text()


def test_calls_in_foreign_files_go_with_their_code() -> None:
    """Lines that belong to no call stay."""
    lines = [
        "ImportError while importing test module",
        "/usr/lib/python3/dist-packages/x.py:1: in import_module",
        "    return _bootstrap()",
        "<frozen importlib._bootstrap>:1204: in _gcd_import",
        "katas/lecture01/test_k01.py:3: in <module>",
        "    from katas import k",
        "E   ImportError: k",
    ]

    assert [*drop_foreign_calls(lines, LECTURE)] == [lines[0], *lines[4:]]


def test_an_installed_lecture_is_not_foreign() -> None:
    """Its frames are the learner's, in site-packages too."""
    site = "/venv/lib/python3.12/site-packages"

    assert is_foreign(f"{site}/torch/nn.py", Path(f"{site}/lectures/lecture77"))
    assert not is_foreign(f"{site}/lectures/lecture77/k01.py", Path(f"{site}/lectures/lecture77"))
    assert is_foreign(os.__file__, LECTURE)
    assert not is_foreign("katas/lecture01/k01.py", LECTURE)


def test_the_first_lines_of_a_message_stay() -> None:
    """A message that fits is left as it is."""
    fits = [f"E   {number}" for number in range(MOST)]

    assert shorten_message(fits) == fits
    assert shorten_message(["    code", *fits, "E   one", "E   two"]) == [
        "    code",
        *fits[:-1],
        "E   ... 3 more lines: -v shows them",
    ]
    assert shorten_message([str(n) for n in range(MOST + 1)], "")[-1] == (
        "... 2 more lines: -v shows them"
    )


def test_a_value_that_says_nothing_is_left_out() -> None:
    """Below the sentence of an assertion; a line that says where it comes from needs it."""
    said = ["E   AssertionError: no view", "E   assert False"]
    where = ["E   AssertionError: no view", "E   assert False", "E    +  where False = f(1)"]

    assert drop_bare(said) == said[:1]
    assert drop_bare([*said, "E   assert not tensor(True)", "E   more"]) == [said[0], "E   more"]
    assert drop_bare(["AssertionError: no", "assert None", "assert 1"]) == [
        "AssertionError: no",
        "assert 1",
    ]
    assert drop_bare(where) == where
    assert drop_bare(["E   assert False"]) == ["E   assert False"]
    assert drop_bare([]) == []


@pytest.mark.parametrize(
    "source",
    [
        "where 1 = count(<function test_two.<locals>.inside at 0x7f101f6056c0>)",
        "  and   <function pattern at 0x7f0d72c75300> = method('view', [0, 1])",
        f"where True = fusable({'Node, ' * 12})",
    ],
)
def test_a_source_that_takes_long_to_say_is_dropped(source: str) -> None:
    """Below the sentence of an assertion; without one it is all that there is."""
    said = ["E   AssertionError: keywords swapped", "E   assert 1 == 0", f"E    +  {source}"]
    code = ["E   AssertionError: assert 1 == 0", f"E    +  {source}"]
    short = [*said[:2], "E    +  where 1 = count(twice)"]

    assert drop_bare(said) == said[:2]
    assert drop_bare(code) == code
    assert drop_bare(short) == short


def test_a_failure_shows_no_value_that_says_nothing(katas: MiniCourse) -> None:
    """In what pytest shows and in what --next does; -v leaves it."""
    katas.write(
        "katas/lecture01/test_k01_first.py", "def test_it(): assert False, 'twice is two'\n"
    )
    short, whole = katas.run(), katas.run("-v")

    assert "E   AssertionError: twice is two" in short.outlines
    assert "assert False" not in [line.removeprefix("E").strip() for line in short.outlines]
    assert "E   assert False" in whole.outlines
