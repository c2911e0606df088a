"""How much a learner's screen shows: of real katas, in a fresh clone, at 80 columns."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from plugins import ROOT
from plugins.native.folder import VARIABLE as BUILDS
from tests.conftest import CLEARED
from tests.support.fork import git


if TYPE_CHECKING:
    from pathlib import Path


COLUMNS = 80
# Lecture 4 has a test of its own: the README begins with it.
LECTURES = sorted({file.parent.name for file in ROOT.glob("katas/*/lecture.toml")} - {"lecture04"})
FAILURES = f"{' FAILURES ':=^80}"


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone for all these tests, since each would compile the bytecode of all plugins anew."""
    folder = tmp_path_factory.mktemp("wall")
    git(folder, "clone", "-q", str(ROOT), "clone")
    return folder / "clone"


@pytest.fixture
def clone(once: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone as fresh as the first time but for its bytecode, with no settings of a user."""
    # With the first, of tox, pytest's header has a row more.
    for name in (*CLEARED, "TOX_ENV_DIR", "CI", "PYTHONPATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    # What is built here, every later run of the stubs finds.
    monkeypatch.setenv(BUILDS, str(ROOT / ".katas/build"))
    git(once, "checkout", "-q", ".")
    git(once, "clean", "-fdqx", "--exclude=__pycache__")
    return once


def rows_of(clone: Path, *arguments: str) -> list[str]:
    """Run pytest; return the rows that a terminal shows of a clone in a folder like a person's."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *arguments],
        cwd=clone,
        env=os.environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stdout[-2000:] + done.stderr
    return [
        line[start : start + COLUMNS]
        for line in done.stdout.replace(str(clone), "/home/ada/katas").splitlines()
        for start in range(0, max(len(line), 1), COLUMNS)
    ]


@pytest.mark.torch
@pytest.mark.slow
def test_the_first_command(clone: Path) -> None:
    """The README's fits into 400 rows, with each kata and what it waits for."""
    rows = rows_of(clone, "katas/lecture04")

    katas = len([*(clone / "katas/lecture04").glob("test_k*.py")])
    assert len(rows) <= min(400, 40 * katas)
    assert katas == sum(row.startswith("FAILED ") for row in rows)
    assert katas == sum(row.startswith("  hint    pytest ") for row in rows)
    more = [int(row.split(" more tests ")[0].split()[-1]) for row in rows if " more tests " in row]
    assert katas == len(more)
    assert f" {katas + sum(more)} failed" in rows[-1]


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.parametrize("lecture", LECTURES)
def test_any_lecture(clone: Path, lecture: str) -> None:
    """No more than 40 rows a kata, and each kata has its command for a hint."""
    rows = rows_of(clone, f"katas/{lecture}", "-p", "tests.support.beginnings")

    katas = len([*(clone / "katas" / lecture).glob("test_k*.py")])
    assert len(rows) <= 40 * katas
    assert katas >= sum(row.startswith("  hint    pytest ") for row in rows) > 0
    assert any(" more test" in row for row in rows)


@pytest.mark.torch
@pytest.mark.slow
def test_an_archive_shows_as_little_as_a_clone(clone: Path, tmp_path: Path) -> None:
    """Without git the times of the files tell that nobody has begun."""
    rows = rows_of(clone, "katas/lecture01")
    # As GitHub makes it: all files have the time of the commit.
    git(clone, "archive", "--output", str(tmp_path / "course.zip"), "HEAD")
    shutil.unpack_archive(tmp_path / "course.zip", tmp_path / "course")
    archive = rows_of(tmp_path / "course", "katas/lecture01")

    assert len(rows) == len(archive)


@pytest.mark.torch
def test_a_source_that_does_not_compile(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that is shown takes no more than 25 rows, the first build of its tier included."""
    monkeypatch.delenv(BUILDS)
    source = clone / "katas/lecture04/csrc/k18_autograd.cpp"
    text = source.read_text()
    source.write_text(
        text.replace("TORCH_CHECK_NOT_IMPLEMENTED", "retrun 1; TORCH_CHECK_NOT_IMPLEMENTED", 1)
    )

    rows = rows_of(clone, "katas/lecture04/test_k18_autograd.py")

    assert len(rows) <= 25
    assert any(row.startswith("  hint    pytest ") for row in rows)
    assert any(row.startswith("building lecture04/k18_autograd (full, ") for row in rows)
    assert 1 == sum("error: " in row for row in rows)
    assert any("wait for katas/lecture04/csrc/k18_autograd.cpp to compile" in row for row in rows)


@pytest.mark.torch
def test_a_wrong_answer(clone: Path) -> None:
    """A failing test of a kata that is worked on takes no more than 40 rows."""
    lecture = clone / "katas/lecture02"
    solution = (lecture / "solutions/k01_bytes.py").read_text()
    wrong = solution.replace("position = offset", "position = 0", 1)
    assert wrong != solution
    (lecture / "k01_bytes.py").write_text(wrong)

    rows = rows_of(clone, "katas/lecture02/test_k01_bytes.py", "-x")

    assert len(rows[rows.index(FAILURES) :]) <= 40
    assert any(row.startswith("E   ") for row in rows[-24:])
