"""A contract next to the model."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING
from typing import Any


if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import numpy as np

    # For each value, by name: its dtype, as in `array.dtype.name` ("float32"), and its sizes,
    # each a number, or a name for a size that may be anything.
    Promised = Mapping[str, tuple[str, list[int | str]]]


NAME = "contract.json"


def contract(folder: Path) -> dict[str, Any]:
    """Return what was sealed: "inputs", "outputs" and "sha256"."""
    found: dict[str, Any] = json.loads((folder / NAME).read_text(encoding="utf-8"))
    return found


def seal(folder: Path, inputs: Promised, outputs: Promised) -> None:
    """Write the contract of the files in `folder`; there may be any number of them.

    "sha256" maps each file's name to its hexadecimal hash, but leaves out the contract itself, so
    that you can seal twice. Equal files and promises give equal bytes.
    """
    sealed = {"inputs": inputs, "outputs": outputs, "sha256": _hashes(folder)}
    (folder / NAME).write_bytes(json.dumps(sealed, sort_keys=True).encode())


def changed(folder: Path) -> list[str]:
    """Return the names of files that were changed, removed or added after sealing, sorted."""
    then, now = contract(folder)["sha256"], _hashes(folder)
    return sorted(name for name in {*then, *now} if then.get(name) != now.get(name))


def sizes(promised: Promised, feeds: Mapping[str, np.ndarray[Any, Any]]) -> dict[str, int]:
    """Return the sizes that have a name, as {"batch": 3}.

    Raises
    ------
    ValueError
        Its message begins with the name of an input that is missing or not promised, or has a
        different dtype, number of dims or size than promised. A named size is the same in all
        inputs.
    """
    for name in sorted({*promised} ^ {*feeds}):
        raise ValueError(f"{name}: expected the inputs {sorted(promised)}, found {sorted(feeds)}")
    known: dict[str, int] = {}
    for name, (dtype, shape) in promised.items():
        found = feeds[name]
        fits = found.dtype == dtype and found.ndim == len(shape)
        for size, actual in zip(shape, found.shape, strict=False):
            expected = known.setdefault(size, actual) if isinstance(size, str) else size
            fits = fits and expected == actual
        if not fits:
            raise ValueError(
                f"{name}: expected {dtype} {shape} with {known}, found {found.dtype} {found.shape}"
            )
    return known


def _hashes(folder: Path) -> dict[str, str]:
    """Return the hash of each file but the contract."""
    found = {}
    for file in folder.iterdir():
        if file.name != NAME:
            with file.open("rb") as opened:
                found[file.name] = hashlib.file_digest(opened, "sha256").hexdigest()
    return found
