"""Tables of TOML files: values that are as expected, and one line for each that is not."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from importlib.util import module_from_spec
from typing import TYPE_CHECKING

import pytest

from plugins.tools.toml import TomlError
from plugins.tools.toml import TomlTable
from plugins.tools.toml import read_toml


if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


TEXT = """
number = 3
yes = true
text = "a text"
blank = " "
texts = ["a", "b"]
mixed = ["a", 1]
[words]
one = "1"
[numbers]
two = 2
[[table]]
name = "first"
[[table]]
name = "second"
"""


@pytest.fixture
def table(tmp_path: Path) -> TomlTable:
    """The table of a file with a value of each kind."""
    file = tmp_path / "course.toml"
    file.write_text(TEXT)
    return read_toml(file)


def test_values_are_read(table: TomlTable) -> None:
    """As they stand in the file, arrays as tuples."""
    assert 3 == table.get("number", int, "a number")
    assert "a text" == table.string("text")
    assert ("a", "b") == table.strings("texts")
    assert {"one": "1"} == table.strings_by_name("words")
    assert ["first", "second"] == [each.string("name") for each in table.tables("table")]


def test_a_default_stands_for_a_missing_value(table: TomlTable) -> None:
    """It may be of another kind."""
    assert table.get("none", int, "a number", None) is None
    assert () == table.strings("none", ())
    assert [] == table.tables("none", ())


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda t: t.get("none", int, "a number"), "none: expected a number, found nothing"),
        (lambda t: t.get("text", int, "a number"), "text: expected a number, found 'a text'"),
        (lambda t: t.get("yes", int, "a number"), "yes: expected a number, found True"),
        (lambda t: t.string("number"), "number: expected a string, found 3"),
        (lambda t: t.string("blank"), "blank: expected a string that is not empty"),
        (lambda t: t.strings("text"), "text: expected an array of strings, found 'a text'"),
        (lambda t: t.strings("mixed"), "mixed: expected an array of strings, found 1 in it"),
        (lambda t: t.strings_by_name("text"), "text: expected a table of strings, found 'a text'"),
        (lambda t: t.strings_by_name("numbers"), "numbers.two: expected a string, found 2"),
        (lambda t: t.tables("number"), "number: expected an array of tables, found 3"),
        (lambda t: t.tables("texts"), "texts: expected an array of tables, found 'a' in it"),
        (
            lambda t: t.refuse_unknown("texts", ["a", "b"], ["a", "c"]),
            "texts: expected one of a, c; found 'b'",
        ),
        (lambda t: t.tables("table")[1].string("title"), "table 2: title: expected a string, "),
        (lambda t: t.at("here").tables("table")[0].string("x"), "here: table 1: x: expected "),
    ],
)
def test_a_mistake_is_one_line(
    table: TomlTable, read: Callable[[TomlTable], object], message: str
) -> None:
    """It names the file, the table, the key and what was expected."""
    with pytest.raises(TomlError) as caught:
        read(table)

    assert str(caught.value).startswith(f"{table.file}: {message}")
    assert "\n" not in str(caught.value)


def test_known_values_pass(table: TomlTable) -> None:
    """As many of them as there are."""
    table.refuse_unknown("texts", ["a", "a"], ["a", "b"])
    table.refuse_unknown("texts", [], [])


def test_a_key_that_was_never_read_is_refused(table: TomlTable) -> None:
    """Under whatever name the table has read the others."""
    known = TomlTable(table.file, "", {"title": "T", "titel": "T"})
    known.at("kata 1").string("title")

    with pytest.raises(TomlError, match=r"course\.toml: titel: expected one of title$"):
        known.refuse_others()
    known.string("titel")
    known.refuse_others()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "file: expected a readable UTF-8 file: "),
        (b'title = "\xff"', "file: expected a readable UTF-8 file: "),
        (b"title = ", "file: expected valid TOML: "),
    ],
)
def test_a_file_that_is_no_toml_is_one_line(
    tmp_path: Path, content: bytes | None, message: str
) -> None:
    """Missing, in another encoding, or with a syntax error."""
    file = tmp_path / "course.toml"
    if content is not None:
        file.write_bytes(content)

    with pytest.raises(TomlError) as caught:
        read_toml(file)

    assert str(caught.value).startswith(f"{file}: {message}")


def test_without_tomli_the_standard_parser_reads(
    table: TomlTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in an environment of an earlier edition, whose fork has been updated."""
    monkeypatch.setitem(sys.modules, "tomli", None)
    spec = find_spec("plugins.tools.toml")
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)

    assert "tomllib" == module.tomllib.__name__
    assert table.values == module.read_toml(table.file).values
