"""Tables of the course's TOML files; whatever is wrong with one is a single clear line."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from dataclasses import field
from typing import TYPE_CHECKING
from typing import Any


if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


class TomlError(ValueError):
    """A TOML file of the course is not as it must be; one line: file, key, expectation."""

    def __init__(self, file: Path, key: str, expected: str) -> None:
        super().__init__(f"{file}: {key}: {expected}")


def read_toml(file: Path) -> TomlTable:
    """Read `file` as TOML, to be asked for its keys.

    Raises
    ------
    TomlError
        If the file cannot be read or is not TOML.
    """
    try:
        return TomlTable(file, "", tomllib.loads(file.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError) as error:
        raise TomlError(file, "file", f"expected a readable UTF-8 file: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise TomlError(file, "file", f"expected valid TOML: {error}") from None


@dataclass
class TomlTable:
    """A table that answers for its keys, or says what it expected of them."""

    file: Path
    where: str
    values: dict[str, Any]
    asked: set[str] = field(default_factory=set)

    def at(self, where: str) -> TomlTable:
        """Return the same table under a name that errors can show."""
        return TomlTable(self.file, where, self.values, self.asked)

    def error(self, key: str, expected: str) -> TomlError:
        """Return the error that names this file, this table and `key`."""
        return TomlError(self.file, f"{self.where}: {key}" if self.where else key, expected)

    def get(self, key: str, kind: type, expected: str, default: object = ...) -> Any:
        """Return the value of `key` if it is of `kind`; without a default it must be there."""
        self.asked.add(key)
        value = self.values.get(key, default)
        if value is ...:
            raise self.error(key, f"expected {expected}, found nothing")
        # bool is an int to Python, but not to whoever wrote the file.
        if value is not default and (
            not isinstance(value, kind) or (kind is int and value is True)
        ):
            raise self.error(key, f"expected {expected}, found {value!r}")
        return value

    def string(self, key: str) -> str:
        """Return a string that is not empty."""
        text: str = self.get(key, str, "a string")
        if not text.strip():
            raise self.error(key, "expected a string that is not empty")
        return text

    def strings(self, key: str, default: object = ...) -> tuple[str, ...]:
        """Return an array of strings."""
        values = self.get(key, list, "an array of strings", default)
        for value in values:
            if not isinstance(value, str):
                raise self.error(key, f"expected an array of strings, found {value!r} in it")
        return tuple(values)

    def strings_by_name(self, key: str) -> dict[str, str]:
        """Return a table whose values are strings."""
        table: dict[str, str] = self.get(key, dict, "a table of strings")
        for name, value in table.items():
            if not isinstance(value, str):
                raise self.error(f"{key}.{name}", f"expected a string, found {value!r}")
        return table

    def tables(self, key: str, default: object = ...) -> list[TomlTable]:
        """Return an array of tables, each named by its place until `at` names it better."""
        values = self.get(key, list, "an array of tables", default)
        for value in values:
            if not isinstance(value, dict):
                raise self.error(key, f"expected an array of tables, found {value!r} in it")
        prefix = f"{self.where}: " if self.where else ""
        return [
            TomlTable(self.file, f"{prefix}{key} {number}", value)
            for number, value in enumerate(values, 1)
        ]

    def known(self, key: str, values: Iterable[str], known: Iterable[str]) -> None:
        """Refuse a value that is none of those `known`."""
        for value in values:
            if value not in known:
                raise self.error(key, f"expected one of {', '.join(known)}; found {value!r}")

    def refuse_others(self) -> None:
        """Refuse keys that nobody has asked for: they are misspelt."""
        for key in self.values:
            if key not in self.asked:
                raise self.error(key, f"expected one of {', '.join(sorted(self.asked))}")
