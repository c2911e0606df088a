"""``nox -s verify``: the report of a run of the gate, and which lectures come first."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.gate import verify
from tests.gate.changes import changed_lectures
from tests.gate.forms import words
from tests.gate.mutant import Mutant
from tests.gate.runner import HOME
from tests.gate.table import Row
from tests.gate.table import merged
from tests.gate.table import report
from tests.gate.table import table


if TYPE_CHECKING:
    from plugins.layout import Kata
    from tests.conftest import MiniCourse
    from tests.gate.checks import Checks


STUB = '"""Twice: see c10/core/DispatchKeySet.h."""\n\n\ndef twice(n: int) -> int:\n    "Double."\n'
TEST = '''"""Twice."""

from katas.lecture01.k01_twice import twice


def test_of_two():
    """Two twice is four."""
    assert twice(2) == 4
'''


@pytest.fixture
def small(course: MiniCourse, monkeypatch: pytest.MonkeyPatch) -> MiniCourse:
    """Return a course of one kata whose test cannot tell doubling from adding two."""
    course.plugins("plugins.course", "plugins.solutions", "plugins.randomness")
    course.write("episodes.toml", '[[episode]]\nslug = "strides"\n')
    stub = f"{STUB}    # TODO\n    raise NotImplementedError\n"
    course.kata("k01_twice", TEST, stub=stub, solution=f"{STUB}    return n * 2\n")
    monkeypatch.setattr(verify, "HOME", course.path)
    return course


@pytest.mark.usefixtures("small")
def test_survivors_and_problems_come_first(capsys: pytest.CaptureFixture[str]) -> None:
    """The status is 1; the survivor is shown as a diff and the table counts it."""
    assert verify.main(["lecture01", "k01", "--repeats", "2", "--jobs", "1"]) == 1

    out = capsys.readouterr().out
    assert "survivor  lecture01/k01_twice  k01_twice.py:6 in twice  (arithmetic)" in out
    assert "-    return n * 2\n+    return (n + 2)" in out
    assert "3 of 4 mutants killed" in out
    assert "PROBLEM  lecture01/k01_twice  layout: the brief has" in out
    assert "PROBLEM  lecture01/k01_twice  mutants: " in out
    last = [cell.strip() for cell in out.splitlines()[-1].split("|")[1:-1]]
    assert last[:4] == ["lecture01/k01_twice", "1", "red", "yes"]
    assert last[7] == "2/2"


@pytest.mark.usefixtures("small")
def test_only_what_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    """--only leaves the other cells empty."""
    assert verify.main(["all", "--only", "unsolved", "--jobs", "1"]) == 1

    row = capsys.readouterr().out.splitlines()[-1]
    assert [cell.strip() for cell in row.split("|")[2:8]] == ["1", "red", "yes", "", "", ""]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("arguments", [["lecture09"], ["lecture01", "k09"]])
def test_a_kata_that_is_not_there(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    """A name that fits nothing is an error of its own, not a green table."""
    assert verify.main(arguments) == 2
    assert "no such kata" in capsys.readouterr().out


def test_a_lecture_that_cannot_be_read(
    small: MiniCourse, capsys: pytest.CaptureFixture[str]
) -> None:
    """The line that says what is wrong with lecture.toml is all there is to say."""
    small.write("katas/lecture01/lecture.toml", 'title = "no syllabus"\n')

    assert verify.main(["lecture01"]) == 2
    assert "lecture.toml: syllabus: expected" in capsys.readouterr().out


def test_the_rows_of_an_ended_run_are_kept(
    small: MiniCourse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C in the second kata loses nothing of the first."""
    small.kata("k02_ended", TEST, stub=STUB, solution=STUB)
    page = small.write("tests/README.md", "<!-- verify -->\n")
    check = verify.check

    def ended(checks: Checks, kata: Kata, only: list[str], *, full: bool) -> Row:
        if kata.name == "k02_ended":
            raise KeyboardInterrupt
        return check(checks, kata, only, full=full)

    monkeypatch.setattr(verify, "check", ended)
    with pytest.raises(KeyboardInterrupt):
        verify.main(["lecture01", "--only", "solved", "--jobs", "1", "--write"])

    assert "| lecture01/k01_twice |" in page.read_text()


def test_a_check_that_does_not_exist(capsys: pytest.CaptureFixture[str]) -> None:
    """A misspelt check is refused with the names of those there are."""
    with pytest.raises(SystemExit):
        verify.main(["lecture01", "--only", "mutant"])

    assert "expected unsolved, solved, wrong, right, mutants, flakes; found mutant" in (
        capsys.readouterr().err
    )


def test_the_table_is_aligned() -> None:
    """Rows of any width make one Markdown table."""
    rows = [Row("lecture01/k01_first"), Row("a")]
    rows[0].add("wrong", "3/3", [])

    lines = table(rows).splitlines()

    assert len({len(line) for line in lines}) == 1
    assert lines[1].strip("|-") == ""
    assert "3/3" in lines[2]


def test_the_table_in_the_readme_is_renewed_row_by_row() -> None:
    """Rows of other katas and other checks stay, in order; seconds are left out."""
    first, second = Row("lecture01/k01_first"), Row("lecture01/k02_second")
    for row in (first, second):
        row.cells = {"tests": "3", "wrong": "3/3", "seconds": "9"}
    page = merged("Words.\n\n<!-- verify -->\n", [second])
    page = merged(page, [first])
    again = Row("lecture01/k02_second", {"wrong": "4/4"})

    assert merged(page, [again]).startswith("Words.\n\n<!-- verify -->\n\n| kata ")
    rows = merged(page, [again]).splitlines()[-2:]
    cells = [[cell.strip() for cell in row.split("|")] for row in rows]
    assert cells[0][1:6] == ["lecture01/k01_first", "3", "", "", "3/3"]
    assert cells[1][1:6] == ["lecture01/k02_second", "3", "", "", "4/4"]
    assert "9" not in merged(page, [again])


def test_the_report_shows_what_survived() -> None:
    """A survivor is named by file, line, function and operator."""
    row = Row("lecture01/k01_first")
    row.survivors = (Mutant("k01_first.py", "", "constant", 7, "-a = 1\n+a = 2", ""),)

    assert report([row]).startswith(
        "survivor  lecture01/k01_first  k01_first.py:7 in the module  (constant)\n-a = 1\n+a = 2\n"
    )


def test_changed_lectures_are_those_git_sees(course: MiniCourse) -> None:
    """Committed and uncommitted changes count, of katas and of their answers."""

    def git(*arguments: str) -> None:
        identity = ("-c", "user.name=k", "-c", "user.email=k@example.com")
        subprocess.run(["git", *identity, *arguments], cwd=course.path, check=True)

    git("init", "--quiet")
    for number in range(1, 5):
        course.write(f"katas/lecture0{number}/README.md", "first")
    git("add", ".")
    git("commit", "--quiet", "-m", "first")
    course.write("katas/lecture02/README.md", "second")
    git("commit", "--quiet", "-am", "second")
    course.write("katas/lecture03/README.md", "third")
    course.write("tests/wrong/lecture04/k01_first.toml", "")
    git("add", "-N", "tests")

    assert changed_lectures(course.path) == {"lecture02", "lecture03", "lecture04"}


def test_without_git_nothing_has_changed(course: MiniCourse) -> None:
    """A folder that is no repository changes nothing, and fails nothing."""
    assert changed_lectures(course.path) == set()


@pytest.mark.parametrize("name", ["test_gate_wrong.py", "test_gate_mutants.py"])
def test_nothing_is_started_when_the_time_is_over(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """With --gate-minutes 0 all of these are skipped, and it says how to run them."""
    monkeypatch.chdir(HOME)
    result = pytester.runpytest_subprocess(
        f"tests/{name}", "--rootdir", HOME, "--gate-minutes", "0", "-rs", timeout=600
    )

    result.stdout.fnmatch_lines(["*--gate-minutes 0 are over; nox -s verify -- lecture*"])
    assert set(result.parseoutcomes()) == {"skipped"}


def test_an_answer_is_told_by_kata_number_and_misconception() -> None:
    """What a learner thinks stands in the test's id, in the characters of an id."""
    assert words("shortcut: calls `torch.clamp`") == "shortcut-calls-torch-clamp"
