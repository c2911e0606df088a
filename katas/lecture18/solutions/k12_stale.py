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
    """Return a name for the output of a stage."""
    contents = {role: digest(path) for role, path in inputs.items()}
    parts = [stage.name, stage.code, dict(stage.options), contents, dict(environment)]
    return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def cached(folder: Path, name: str, run: Callable[[Path], None]) -> Path:
    """Return the file `name` in the folder; ``run(path)`` writes it if it is missing."""
    path = folder / name
    if not path.exists():
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            part = Path(scratch, name)
            run(part)
            os.replace(part, path)  # noqa: PTH105 - the call that this is about
    return path


def publish(registry: Registry, model: str, clock: Callable[[], float]) -> int:
    """Add the model as a new version, and return its number."""
    version = max(registry.models, default=0) + 1
    registry.models[version] = model
    return version


def release(
    registry: Registry, version: int, evaluate: Callable[[str], float], alias: str = "champion"
) -> bool:
    """Point the alias at the version if its model scores higher than the model at the alias."""
    score, before = evaluate(registry.models[version]), registry.aliases.get(alias)
    if before is not None and not score > evaluate(registry.models[before]):
        return False
    registry.aliases[alias] = version
    return True
