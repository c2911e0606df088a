"""``--progress-json``: it writes what its schema and the README describe."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC
from datetime import datetime
from typing import TYPE_CHECKING
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from jsonschema import ValidationError

from plugins import ROOT
from plugins.course.files import content_of
from plugins.course.model import Kata
from plugins.progress.export import VERSION
from plugins.progress.export import describe_progress
from plugins.progress.standing import Results
from plugins.progress.standing import Standing
from plugins.progress.standing import TestOutcome
from plugins.progress.store import change_count
from plugins.progress.store import change_standing


if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import MiniCourse


SCHEMA = json.loads((ROOT / "plugins/progress/progress.schema.json").read_bytes())
NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
PASSED = TestOutcome("passed")
FAILED = TestOutcome("failed", "assert 1 == 2")
AWAY = TestOutcome("skipped", "cuda: no GPU")


def check(data: Any) -> Any:
    """Return the data after validating it against the schema."""
    Draft202012Validator(SCHEMA, format_checker=Draft202012Validator.FORMAT_CHECKER).validate(data)
    return data


def a_kata(folder: Path, name: str = "k01_first") -> Kata:
    """Return a kata with three hints."""
    return Kata("lecture01", name, "T", "lab", (), (), (), ("a", "b", "c"), (), (), (), folder)


def after(kata: Kata, tests: dict[str, TestOutcome], total: int | None = None) -> Standing:
    """Return the standing of a kata after a run."""
    run = Results(content_of(kata), tests, len(tests) if total is None else total)
    return Standing().after(run, 1.25, NOW)


def an_entry(kata: Kata, standing: Standing) -> dict[str, Any]:
    """Return the entry that is written for one kata."""
    (entry,) = check(describe_progress([(kata, standing)], {}, NOW))["katas"]
    return dict(entry)


def test_the_schema_is_a_schema() -> None:
    """It is valid, and describes the version that is written."""
    Draft202012Validator.check_schema(SCHEMA)

    assert VERSION == SCHEMA["properties"]["version"]["const"]


@pytest.mark.parametrize(
    ("tests", "total", "status"),
    [
        ({"a[cpu]": PASSED, "a[cuda]": AWAY}, 2, "pass"),
        ({"a[cpu]": PASSED, "b[cuda]": AWAY}, 2, "skip"),
        ({"a": PASSED, "b": FAILED}, 2, "fail"),
        ({"": FAILED}, 1, "error"),
        ({"a": AWAY}, 1, "skip"),
        ({"a": PASSED}, 2, "open"),
    ],
)
def test_a_kata_has_a_status(
    tmp_path: Path, tests: dict[str, TestOutcome], total: int, status: str
) -> None:
    """The words are Exercism's where it has one."""
    kata = a_kata(tmp_path)

    assert status == an_entry(kata, after(kata, tests, total))["status"]


def test_a_kata_that_never_ran_is_new(tmp_path: Path) -> None:
    """It has no tests and no time."""
    entry = an_entry(a_kata(tmp_path), Standing())

    assert ("new", None, [], 0) == tuple(
        entry[key] for key in ("status", "last_run", "tests", "seconds")
    )


def test_tests_have_their_messages(tmp_path: Path) -> None:
    """Passing tests have none; if the module cannot be imported, the kata has the message."""
    kata = a_kata(tmp_path)

    assert an_entry(kata, after(kata, {"a": PASSED, "b": FAILED, "c": AWAY}))["tests"] == [
        {"name": "a", "status": "pass"},
        {"name": "b", "status": "fail", "message": "assert 1 == 2"},
        {"name": "c", "status": "skip", "message": "cuda: no GPU"},
    ]
    entry = an_entry(kata, after(kata, {"": FAILED}))
    assert ("assert 1 == 2", []) == (entry["message"], entry["tests"])


STEPS = """
@pytest.mark.step(1, "one")
def test_a(): pass

@pytest.mark.step(2, "two")
def test_b(): pass
"""


def test_a_lab_in_progress_is_at_a_step(tmp_path: Path) -> None:
    """Other katas have no step."""
    kata = a_kata(tmp_path)
    standing = after(kata, {"test_a": PASSED, "test_b": FAILED})
    assert "step" not in an_entry(kata, standing)

    kata.test.write_text(STEPS)

    step = {"number": 2, "of": 2, "title": "two", "text": "step 2 of 2: two"}
    assert step == an_entry(kata, standing)["step"]
    assert "step" not in an_entry(kata, Standing())


def test_a_size_is_written_if_it_is_stated(tmp_path: Path) -> None:
    """With the minutes, and whether the kata is on the core path."""
    kata = a_kata(tmp_path)
    sized = replace(kata, size="spark", minutes=5, core=False)
    keys = ("size", "minutes", "core")

    assert not an_entry(kata, Standing()).keys() & {*keys}
    entry = an_entry(sized, Standing())
    assert ["spark", 5, False] == [entry[key] for key in keys]


def test_an_edit_makes_the_tests_old(tmp_path: Path) -> None:
    """They are kept, but no longer describe the exercise; nor does a failed import."""
    kata = a_kata(tmp_path)
    known = [after(kata, {"a": PASSED}), after(kata, {"": FAILED})]
    before = [an_entry(kata, standing) for standing in known]
    kata.exercise.write_text("x = 1")
    edited = [an_entry(kata, standing) for standing in known]

    assert [("pass", True), ("error", True)] == [(e["status"], e["current"]) for e in before]
    assert [("open", False), ("open", False)] == [(e["status"], e["current"]) for e in edited]


def test_the_summary_adds_up(tmp_path: Path) -> None:
    """It counts katas, solved katas, hints and seconds."""
    first, second = a_kata(tmp_path), a_kata(tmp_path, "k02_second")
    katas = [(first, after(first, {"a": PASSED})), (second, after(second, {"a": FAILED}))]
    data = check(describe_progress(katas, {first.id: 2, "lecture09/k01_other": 3}, NOW))

    assert {"katas": 2, "solved": 1, "hints_taken": 2, "seconds": 2.4} == data["summary"] or (
        2.5 == data["summary"]["seconds"]
    )
    assert [2, 0] == [entry["hints_taken"] for entry in data["katas"]]


@pytest.mark.parametrize(
    ("key", "value"),
    [("version", 2), ("more", 1), ("generated", None), ("katas", {}), ("summary", {})],
)
def test_the_schema_refuses_what_is_not_written(key: str, value: object) -> None:
    """A field that is new, missing or of another type is a change of the format."""
    data = {**describe_progress([], {}, NOW), key: value}

    with pytest.raises(ValidationError):
        check(data)


def properties(schema: Any) -> set[str]:
    """Return the names of all fields in a schema."""
    if isinstance(schema, dict):
        found = {name for value in schema.values() for name in properties(value)}
        # In `if`, `properties` selects what is compared.
        return found | set(schema.get("properties", {}))
    return (
        {name for each in schema for name in properties(each)}
        if isinstance(schema, list)
        else set()
    )


def test_the_readme_describes_every_field() -> None:
    """And every status, and nothing else."""
    readme = (ROOT / "docs/commands.md").read_text(encoding="utf-8")
    table = readme.partition("| in the JSON |")[2].partition("\n\n")[0]
    words = set(re.findall(r"`(\w+)`", table))
    statuses = set(SCHEMA["$defs"]["kata"]["properties"]["status"]["enum"])

    assert words == properties(SCHEMA) | statuses


PLUGINS = ("plugins.course.session", "plugins.progress.export")


def test_the_command_writes_a_file_and_runs_nothing(course: MiniCourse) -> None:
    """The file has the katas on the command line, or all."""
    course.plugins(*PLUGINS)
    test = course.kata(test="raise SystemExit('imported')")
    course.kata("k02_second", lecture="lecture02")
    kata = a_kata(course.katas / "lecture01")
    change_standing(course.path, kata, lambda _: after(kata, {"a": PASSED}))
    change_count(course.path, kata.id, lambda _: 2)
    results = [
        course.run("--progress-json", "all.json"),
        course.run(test, "--progress-json=one.json"),
    ]
    whole, one = (
        check(json.loads((course.path / name).read_bytes())) for name in ("all.json", "one.json")
    )

    assert [(0, []), (0, [])] == [(result.ret, result.outlines) for result in results]
    assert ["lecture01/k01_first", "lecture02/k02_second"] == [
        each["id"] for each in whole["katas"]
    ]
    assert [("pass", 2)] == [(each["status"], each["hints_taken"]) for each in one["katas"]]


def test_stdout_holds_nothing_else(course: MiniCourse, monkeypatch: pytest.MonkeyPatch) -> None:
    """The JSON is ASCII, whatever the locale."""
    course.plugins(*PLUGINS)
    course.kata()
    table = course.katas / "lecture01/lecture.toml"
    table.write_text(table.read_text().replace("The title of k01", "Der größte Titel \\u5b57"))
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    result = course.run("--progress-json", "-")

    (entry,) = check(json.loads(result.stdout.str()))["katas"]
    assert entry["title"].startswith("Der größte Titel \u5b57")
    assert "" == result.stderr.str()


def test_a_file_that_cannot_be_written_is_named(course: MiniCourse) -> None:
    """The error is one line."""
    course.plugins(*PLUGINS)
    course.kata()
    result = course.run("--progress-json", "conftest.py/progress.json")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["ERROR: --progress-json: */conftest.py/progress.json: *"])


def test_help_is_help(course: MiniCourse) -> None:
    """``--help`` wins over the option."""
    course.plugins(*PLUGINS)

    course.run("--progress-json", "-", "--help").stdout.fnmatch_lines(["*--progress-json=FILE*"])
