"""Debug: a nightly pipeline that is green, and ships old models."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import dataclass
from dataclasses import field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Mapping

    Options = Mapping[str, str | int | float | bool]


@dataclass(frozen=True)
class Stage:
    """A step: its name, the text of its program, and its options."""

    name: str
    code: str
    options: Options = field(default_factory=dict)


@dataclass
class Registry:
    """Models by version, and the aliases that point to versions."""

    models: dict[int, str] = field(default_factory=dict)
    aliases: dict[str, int] = field(default_factory=dict)


def digest(path: Path) -> str:
    """Return the hash of a file's bytes. Given, and correct."""
    return sha256(path.read_bytes()).hexdigest()


def key(stage: Stage, inputs: Mapping[str, Path], environment: Mapping[str, str]) -> str:
    """Hash the fields one by one, each by its representation and a byte that no text has."""
    found = sha256()
    fields = [stage.name, stage.code]
    for each in (stage.options, {role: digest(inputs[role]) for role in inputs}, environment):
        fields += [*sorted(each.items()), len(each)]
    for value in fields:
        found.update(repr(value).encode() + b"\0")
    return found.hexdigest()


def cached(folder: Path, name: str, run: Callable[[Path], None]) -> Path:
    """Write to a hidden file with a random name, and rename it."""
    path = folder / name
    if path.exists():
        return path
    handle, part = tempfile.mkstemp(prefix=".", dir=folder)
    os.close(handle)
    try:
        run(Path(part))
        Path(part).rename(path)
    finally:
        Path(part).unlink(missing_ok=True)
    return path


def publish(registry: Registry, model: str, clock: Callable[[], float]) -> int:
    """Count."""
    registry.models[len(registry.models) + 1] = model
    return len(registry.models)


def release(
    registry: Registry, version: int, evaluate: Callable[[str], float], alias: str = "champion"
) -> bool:
    """Evaluate the champion first."""
    bar = None
    if alias in registry.aliases:
        bar = evaluate(registry.models[registry.aliases[alias]])
    score = evaluate(registry.models[version])
    won = bar is None or score > bar
    if won:
        registry.aliases |= {alias: version}
    return won
