"""The section "Where things are" in CONTRIBUTING.md: its drawing, and the files that it names."""

from __future__ import annotations

import re

import pytest

from plugins import ROOT
from tests.wings import drawing
from tests.wings import reachable


TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PAGE = TEXT.partition("## Where things are\n")[2].partition("\n## ")[0]
TASKS = re.findall(r"^\| ([^|-][^|]*) \| ([^|]*[./][^|]*) \|$", PAGE, re.MULTILINE)
# Paths and nothing else: "the module that calls it" sends a reader searching.
PLACES = re.compile(r"`[^`]+`(, `[^`]+`)*")
MOST = 4


def test_the_drawing_is_that_of_the_imports() -> None:
    """Drawn by ``nox -s wings``."""
    assert drawing() in PAGE


def test_an_arrow_that_follows_from_others_is_left_out() -> None:
    """`loop` reaches `course` by way of `progress`: one arrow less to look at."""
    imports = {"loop": {"progress", "course"}, "progress": {"course"}, "course": set[str]()}

    assert {"course"} == reachable(imports, "loop")
    assert set() == reachable(imports, "progress")


def test_there_are_tasks() -> None:
    """Else the tests below would hold of an empty table."""
    assert TASKS


@pytest.mark.parametrize(("task", "places"), TASKS, ids=[task for task, _ in TASKS])
def test_a_task_names_files_that_exist(task: str, places: str) -> None:
    """At most four each, by their paths; no words stand for a file."""
    files = re.findall("`([^`]+)`", places)

    assert [] == [file for file in files if not (ROOT / file).is_file()], task
    assert 1 <= len(files) <= MOST
    assert PLACES.fullmatch(places), task


@pytest.mark.parametrize(
    "places", ["`plugins/a.py`, the module that calls it", "`plugins/a.py` or traceback", "a.py"]
)
def test_words_that_name_a_module_are_no_path(places: str) -> None:
    """Text outside of backticks is red."""
    assert not PLACES.fullmatch(places)


def test_every_file_of_the_page_exists() -> None:
    """No path on the map is out of date."""
    files = re.findall(r"`((?:plugins|tests)/[\w/]+\.py)`", PAGE)

    assert [] == [file for file in files if not (ROOT / file).is_file()]
