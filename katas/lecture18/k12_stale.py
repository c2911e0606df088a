"""Debug: a nightly pipeline that is green, and ships last month's model.

Stages run only if something has changed, models get versions, and the best one is the champion. All
nights are green. The tickets:

    key        "I fixed the tokenizer, and the numbers are the same to the last digit."
               "After updating torch, too."
               "On the other machine everything is recomputed. Same commit, same data."
               "Train and test data swapped by mistake: no stage noticed."
    cached     "Power failed on Tuesday. Since then the features have 40 rows instead of 900."
    publish    "On the night when clocks went back, the newest version was an hour old."
               "Two teams published at 02:00:00. One model is gone."
    release    "For ten minutes, users had a model that answers 0. Then the champion was the old
               one again. When the evaluation crashed, it never was.
                Then came a score of NaN."

Find and fix the bugs: the docstrings are right, about 20 lines are not.

Begin with `key`: which of a stage's fields could you change without a new key?
Afterwards read ``FxGraphHashDetails`` and ``write_atomic`` in ``torch/_inductor/codecache.py``, in
site-packages: what is in the key of a compiled graph?
"""

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


# TODO: find and fix the bugs. Nothing raises NotImplementedError here: the code is written, and
# wrong.


def key(stage: Stage, inputs: Mapping[str, Path], environment: Mapping[str, str]) -> str:
    """Return a name for the output of a stage.

    The key depends on everything that determines the output: the stage's name, code and options,
    the contents of each input by its role, and the versions in the environment. It does not depend
    on anything else: not on where files are or what they are called, nor on a mapping's order.
    """
    text = stage.name
    for name, value in stage.options.items():
        text += f"{name}{value}"
    for path in inputs.values():
        text += str(path)
    return sha256(text.encode()).hexdigest()


def cached(folder: Path, name: str, run: Callable[[Path], None]) -> Path:
    """Return the file `name` in the folder; ``run(path)`` writes it if it is missing.

    `run` writes to the path that it gets, in several writes. The path is in this folder or below,
    since a file cannot be moved to another disk in one step. The file `name` is either absent or
    complete, whatever happens to `run`, which may be killed.
    """
    path = folder / name
    if not path.exists():
        run(path)
    return path


def publish(registry: Registry, model: str, clock: Callable[[], float]) -> int:
    """Add the model as a new version, and return its number.

    The versions of a registry are 1, 2, 3, ... in the order of publishing, whatever the clock says.
    """
    version = int(clock())
    registry.models[version] = model
    return version


def release(
    registry: Registry, version: int, evaluate: Callable[[str], float], alias: str = "champion"
) -> bool:
    """Point the alias at the version if its model scores higher than the model at the alias.

    The first version has no score to beat, but its evaluation must succeed. Readers never see an
    alias point to a version that has not been evaluated, or that did not win. Return whether the
    alias has moved.
    """
    before = registry.aliases.get(alias)
    registry.aliases[alias] = version
    score = evaluate(registry.models[version])
    if before is not None and score <= evaluate(registry.models[before]):
        registry.aliases[alias] = before
        return False
    return True
