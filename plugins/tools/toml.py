"""Reads the course's TOML files; every mistake in one is an error of one line."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field
from typing import TYPE_CHECKING
from typing import Any


try:
    # The same parser, compiled: the tables of 250 katas take 9 ms to parse instead of 29.
    import tomli as tomllib
except ImportError:
    import tomllib  # type: ignore[no-redef, unused-ignore]

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


class TomlError(ValueError):
    """A mistake in a TOML file, in one line: the file, the key, and what was expected."""

    def __init__(self, file: Path, key: str, expected: str) -> None:
        super().__init__(f"{file}: {key}: {expected}")


def read_toml(file: Path) -> TomlTable:
    """Read `file` and return its top-level table.

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
    """A table that checks its values as they are read."""

    file: Path
    where: str
    values: dict[str, Any]
    asked: set[str] = field(default_factory=set)

    def at(self, where: str) -> TomlTable:
        """Return this table under the name that its errors are to show."""
        return TomlTable(self.file, where, self.values, self.asked)

    def error(self, key: str, expected: str) -> TomlError:
        """Return the error that names this file, this table and `key`."""
        return TomlError(self.file, f"{self.where}: {key}" if self.where else key, expected)

    def get(self, key: str, kind: type, expected: str, default: object = ...) -> Any:
        """Return the value of `key`, which must be of `kind`, and must exist without a default."""
        self.asked.add(key)
        value = self.values.get(key, default)
        if value is ...:
            raise self.error(key, f"expected {expected}, found nothing")
        # bool is an int in Python, but not in TOML.
        if value is not default and (
            not isinstance(value, kind) or (kind is int and value is True)
        ):
            raise self.error(key, f"expected {expected}, found {value!r}")
        return value

    def string(self, key: str) -> str:
        """Return the value of `key`, a string that is not empty."""
        text: str = self.get(key, str, "a string")
        if not text.strip():
            raise self.error(key, "expected a string that is not empty")
        return text

    def strings(self, key: str, default: object = ...) -> tuple[str, ...]:
        """Return the value of `key`, an array of strings."""
        values = self.get(key, list, "an array of strings", default)
        for value in values:
            if not isinstance(value, str):
                raise self.error(key, f"expected an array of strings, found {value!r} in it")
        return tuple(values)

    def strings_by_name(self, key: str) -> dict[str, str]:
        """Return the value of `key`, a table whose values are strings."""
        table: dict[str, str] = self.get(key, dict, "a table of strings")
        for name, value in table.items():
            if not isinstance(value, str):
                raise self.error(f"{key}.{name}", f"expected a string, found {value!r}")
        return table

    def tables(self, key: str, default: object = ...) -> list[TomlTable]:
        """Return the value of `key`, an array of tables; errors show their positions until `at`."""
        values = self.get(key, list, "an array of tables", default)
        for value in values:
            if not isinstance(value, dict):
                raise self.error(key, f"expected an array of tables, found {value!r} in it")
        prefix = f"{self.where}: " if self.where else ""
        return [
            TomlTable(self.file, f"{prefix}{key} {number}", value)
            for number, value in enumerate(values, 1)
        ]

    def refuse_unknown(self, key: str, values: Iterable[str], known: Iterable[str]) -> None:
        """Raise an error for a value that is not among `known`."""
        for value in values:
            if value not in known:
                raise self.error(key, f"expected one of {', '.join(known)}; found {value!r}")

    def refuse_others(self) -> None:
        """Raise an error for a key that was never read: it is misspelt."""
        for key in self.values:
            if key not in self.asked:
                raise self.error(key, f"expected one of {', '.join(sorted(self.asked))}")
