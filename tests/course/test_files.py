"""The files of an exercise: which ones, their texts, a digest of them, and its size."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from plugins.course.files import brief_title
from plugins.course.files import content_of
from plugins.course.files import count_lines
from plugins.course.files import earlier_answers
from plugins.course.files import exercise_texts
from plugins.course.files import learners_files
from plugins.course.files import path_from
from plugins.course.model import Kata


PYTHON = '''"""The brief.

It is long.
"""

import torch


# A comment.
def twice(n: int) -> int:
    r"""Return it."""
    text = """no
    docstring"""
    return 2 * n  # doubled
'''
CPP = """\
// tier: small
/* The
   brief. */
#include <cmath>

int twice(int n) {
  return 2 * n; // doubled
}
"""


def a_kata(folder: Path, *csrc: str) -> Kata:
    """Return a kata in `folder`."""
    return Kata("lecture01", "k01_first", "T", "lab", (), (), (), (), (), (), csrc, folder)


def test_a_learner_edits_the_module_and_the_sources(tmp_path: Path) -> None:
    """Each once, whether they exist or not."""
    kata = a_kata(tmp_path, "csrc/k01.cpp", "k01_first.py")

    assert [tmp_path / "k01_first.py", tmp_path / "csrc/k01.cpp"] == list(learners_files(kata))


def test_an_answer_to_an_earlier_edition_is_found(tmp_path: Path) -> None:
    """In either language, and while no kata of this edition has its name."""
    kata = a_kata(tmp_path / "lecture02")
    split = replace(kata, was="lecture01/k03_half")
    old = tmp_path / "lecture01"
    (old / "csrc").mkdir(parents=True)
    assert [] == earlier_answers(split)

    for name in ("k03_half.py", "k03_half.txt", "csrc/k03_half.cpp", "k03_other.py"):
        (old / name).touch()

    assert [old / "csrc/k03_half.cpp", old / "k03_half.py"] == earlier_answers(split)
    assert [] == earlier_answers(kata)
    (old / "test_k03_half.py").touch()
    assert [] == earlier_answers(split)


def test_the_texts_are_those_of_the_files_that_exist(tmp_path: Path) -> None:
    """The exercise comes first; a byte that is no UTF-8 hides no text."""
    kata = a_kata(tmp_path / "katas", "csrc/k01.cpp", "csrc/gone.h")
    (tmp_path / "katas/csrc").mkdir(parents=True)
    (tmp_path / "katas/csrc/k01.cpp").write_text("int größe;\n", encoding="utf-8")
    (tmp_path / "katas/k01_first.py").write_bytes(b"x = '\xff'\n")

    assert [
        ("katas/csrc/k01.cpp", "int größe;\n"),
        ("katas/k01_first.py", "x = '\ufffd'\n"),
    ] == list(exercise_texts(kata, tmp_path).items())
    assert ["csrc/k01.cpp", "k01_first.py"] == list(exercise_texts(kata, tmp_path / "katas"))


def test_an_exercise_that_is_gone_can_be_restored(tmp_path: Path) -> None:
    """The command stands where its text would."""
    texts = exercise_texts(a_kata(tmp_path), tmp_path)

    assert ["k01_first.py"] == list(texts)
    assert "nox -s reset -- lecture01/k01_first" in texts["k01_first.py"]


def test_the_content_is_that_of_the_learners_files(tmp_path: Path) -> None:
    """Python module and C++ sources; line endings and other files make no difference."""
    kata = a_kata(tmp_path, "csrc/k01.cpp")
    (tmp_path / "csrc").mkdir()
    empty = content_of(kata)
    (tmp_path / "csrc/k01.cpp").write_bytes(b"int x;\n")
    source = content_of(kata)
    (tmp_path / "k01_first.py").write_bytes(b"x = 1\n")
    both = content_of(kata)
    (tmp_path / "test_k01_first.py").write_bytes(b"def test(): pass\n")
    (tmp_path / "csrc/k01.cpp").write_bytes(b"int x;\r\n")

    assert 3 == len({empty, source, both})
    assert both == content_of(kata)


def test_text_moved_between_files_is_another_content(tmp_path: Path) -> None:
    """The digest covers where one file ends and the next begins."""
    kata = a_kata(tmp_path, "b.cpp")
    (tmp_path / "k01_first.py").write_bytes(b"one\ntwo\n")
    (tmp_path / "b.cpp").write_bytes(b"")
    before = content_of(kata)
    (tmp_path / "k01_first.py").write_bytes(b"one\n")
    (tmp_path / "b.cpp").write_bytes(b"two\n")

    assert before != content_of(kata)


def test_lines_of_code_are_counted(tmp_path: Path) -> None:
    """Without the brief, docstrings, comments, includes and blank lines; of all its files."""
    folder = tmp_path / "solutions/csrc"
    folder.mkdir(parents=True)
    (tmp_path / "solutions/k01_first.py").write_text(PYTHON)
    (folder / "k01.cpp").write_text(CPP)

    assert 5 == count_lines(a_kata(tmp_path))
    assert 8 == count_lines(a_kata(tmp_path, "csrc/k01.cpp"))


def test_the_answer_of_the_learner_does_not_count(tmp_path: Path) -> None:
    """A kata without a reference has no lines."""
    a_kata(tmp_path).exercise.write_text(PYTHON)

    assert 0 == count_lines(a_kata(tmp_path))


def test_a_path_is_the_one_of_a_traceback() -> None:
    """Pytest shows a file of another package by the whole path, if that is shorter."""
    start = Path("/home/me/course")

    assert "../other/k01.py" == path_from(start, Path("/home/me/other/k01.py"))
    assert "/opt/site/k01.py" == path_from(start, Path("/opt/site/k01.py"))


def test_the_title_is_the_first_line_of_the_brief() -> None:
    """Of a docstring, raw or on one line, or of a comment below the tier."""
    assert "The brief." == brief_title({"k.py": PYTHON})
    assert "An operator." == brief_title({"k.cpp": "// tier: small\n//\n// An operator.\n"})
    assert "Short." == brief_title({"k.py": 'r"""Short."""\n'})
    assert "" == brief_title({"k.py": "x = 1"})
