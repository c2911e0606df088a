"""``--progress-json``: what it writes is what its schema and the README say."""

from __future__ import annotations

import json
import re
from datetime import UTC
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from jsonschema import ValidationError

from plugins.hintcounts import change_count
from plugins.layout import Kata
from plugins.memory import update
from plugins.progressdata import VERSION
from plugins.progressdata import progress
from plugins.standing import Outcome
from plugins.standing import Results
from plugins.standing import Standing
from plugins.standing import content_of


if TYPE_CHECKING:
    from tests.conftest import MiniCourse


ROOT = Path(__file__).parents[1]
SCHEMA = json.loads((ROOT / "plugins/progress.schema.json").read_bytes())
NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
PASSED = Outcome("passed")
FAILED = Outcome("failed", "assert 1 == 2")
AWAY = Outcome("skipped", "cuda: no GPU")


def check(data: Any) -> Any:
    """Return the data, if the schema describes it."""
    Draft202012Validator(SCHEMA, format_checker=Draft202012Validator.FORMAT_CHECKER).validate(data)
    return data


def a_kata(folder: Path, name: str = "k01_first") -> Kata:
    """Return a kata with three hints."""
    return Kata("lecture01", name, "T", "lab", (), (), (), ("a", "b", "c"), (), (), (), folder)


def after(kata: Kata, tests: dict[str, Outcome], total: int | None = None) -> Standing:
    """Return what is known of a kata after a run."""
    run = Results(content_of(kata), tests, len(tests) if total is None else total)
    return Standing().after(run, 1.25, NOW)


def an_entry(kata: Kata, standing: Standing) -> dict[str, Any]:
    """Return what is written of one kata."""
    (entry,) = check(progress([(kata, standing)], {}, NOW))["katas"]
    return dict(entry)


def test_the_schema_is_a_schema() -> None:
    """Of the version that is written."""
    Draft202012Validator.check_schema(SCHEMA)

    assert VERSION == SCHEMA["properties"]["version"]["const"]


@pytest.mark.parametrize(
    ("tests", "total", "status"),
    [
        ({"a": PASSED, "b[cuda]": AWAY}, 2, "pass"),
        ({"a": PASSED, "b": FAILED}, 2, "fail"),
        ({"": FAILED}, 1, "error"),
        ({"a": AWAY}, 1, "skip"),
        ({"a": PASSED}, 2, "open"),
    ],
)
def test_a_kata_has_a_status(
    tmp_path: Path, tests: dict[str, Outcome], total: int, status: str
) -> None:
    """The words are Exercism's, where it has one."""
    kata = a_kata(tmp_path)

    assert status == an_entry(kata, after(kata, tests, total))["status"]


def test_a_kata_that_never_ran_is_new(tmp_path: Path) -> None:
    """It has no tests and no time."""
    entry = an_entry(a_kata(tmp_path), Standing())

    assert ("new", None, [], 0) == tuple(
        entry[key] for key in ("status", "last_run", "tests", "seconds")
    )


def test_tests_have_their_messages(tmp_path: Path) -> None:
    """Unless they pass; of a module that cannot be imported it is the kata that has one."""
    kata = a_kata(tmp_path)

    assert an_entry(kata, after(kata, {"a": PASSED, "b": FAILED, "c": AWAY}))["tests"] == [
        {"name": "a", "status": "pass"},
        {"name": "b", "status": "fail", "message": "assert 1 == 2"},
        {"name": "c", "status": "skip", "message": "cuda: no GPU"},
    ]
    entry = an_entry(kata, after(kata, {"": FAILED}))
    assert ("assert 1 == 2", []) == (entry["message"], entry["tests"])


def test_an_edit_makes_the_tests_old(tmp_path: Path) -> None:
    """They are kept, and no longer speak of the exercise; nor does a failed import."""
    kata = a_kata(tmp_path)
    known = [after(kata, {"a": PASSED}), after(kata, {"": FAILED})]
    before = [an_entry(kata, standing) for standing in known]
    kata.exercise.write_text("x = 1")
    edited = [an_entry(kata, standing) for standing in known]

    assert [("pass", True), ("error", True)] == [(e["status"], e["current"]) for e in before]
    assert [("open", False), ("open", False)] == [(e["status"], e["current"]) for e in edited]


def test_the_summary_adds_up(tmp_path: Path) -> None:
    """Katas, solved ones, hints and seconds."""
    first, second = a_kata(tmp_path), a_kata(tmp_path, "k02_second")
    katas = [(first, after(first, {"a": PASSED})), (second, after(second, {"a": FAILED}))]
    data = check(progress(katas, {first.id: 2, "lecture09/k01_other": 3}, NOW))

    assert {"katas": 2, "solved": 1, "hints_taken": 2, "seconds": 2.4} == data["summary"] or (
        2.5 == data["summary"]["seconds"]
    )
    assert [2, 0] == [entry["hints_taken"] for entry in data["katas"]]


@pytest.mark.parametrize(
    ("key", "value"),
    [("version", 2), ("more", 1), ("generated", None), ("katas", {}), ("summary", {})],
)
def test_the_schema_refuses_what_is_not_written(key: str, value: object) -> None:
    """A field that is new, missing or of another kind is a change of the format."""
    data = {**progress([], {}, NOW), key: value}

    with pytest.raises(ValidationError):
        check(data)


def properties(schema: Any) -> set[str]:
    """Return all names that a schema gives."""
    if isinstance(schema, dict):
        found = {name for value in schema.values() for name in properties(value)}
        # In `if`, `properties` says what to look at.
        return found | set(schema.get("properties", {}))
    return (
        {name for each in schema for name in properties(each)}
        if isinstance(schema, list)
        else set()
    )


def test_the_readme_describes_every_field() -> None:
    """And no other, and every status."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    table = readme.partition("| in the JSON |")[2].partition("\n\n")[0]
    words = set(re.findall(r"`(\w+)`", table))
    statuses = set(SCHEMA["$defs"]["kata"]["properties"]["status"]["enum"])

    assert words == properties(SCHEMA) | statuses


PLUGINS = ("plugins.course", "plugins.progressjson")


def test_the_command_writes_a_file_and_runs_nothing(course: MiniCourse) -> None:
    """Only the katas on the command line, if there are any; it follows a link."""
    course.plugins(*PLUGINS)
    test = course.kata(test="raise SystemExit('imported')")
    course.kata("k02_second", lecture="lecture02")
    kata = a_kata(course.katas / "lecture01")
    update(course.path, kata, lambda _: after(kata, {"a": PASSED}))
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
    """In any locale: it is ASCII."""
    course.plugins(*PLUGINS)
    course.kata()
    table = course.katas / "lecture01/lecture.toml"
    table.write_text(table.read_text().replace("The title of k01", "Der größte Titel \\u5b57"))
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    result = course.run("--progress-json", "-")

    (entry,) = check(json.loads(result.stdout.str()))["katas"]
    assert entry["title"].startswith("Der größte Titel \u5b57")
    assert "" == result.stderr.str()


def test_a_place_that_cannot_hold_it_is_named(course: MiniCourse) -> None:
    """In one line."""
    course.plugins(*PLUGINS)
    course.kata()
    result = course.run("--progress-json", "conftest.py/progress.json")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["ERROR: --progress-json: */conftest.py/progress.json: *"])


def test_help_is_help(course: MiniCourse) -> None:
    """``--help`` beside it wins."""
    course.plugins(*PLUGINS)

    course.run("--progress-json", "-", "--help").stdout.fnmatch_lines(["*--progress-json=FILE*"])
