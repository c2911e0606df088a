"""Remembers which version of a feed ``episodes.toml`` was last made equal to."""

from __future__ import annotations

import contextlib
import hashlib
import json
from typing import TYPE_CHECKING
from typing import Any

from plugins.wholefile import state_folder


if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


MEMORY = "feed.json"
DIGEST = "file"


def version_seen(source: str, file: Path) -> dict[str, str]:
    """Return the headers that name the version of `source` which `file` is equal to."""
    entry = _memory(file).get(source)
    # A file that was edited or restored since then wants the whole feed once more.
    if not isinstance(entry, dict) or entry.pop(DIGEST, None) != _digest(file):
        return {}
    return {name: value for name, value in entry.items() if isinstance(value, str)}


def remember_version(source: str, file: Path, validators: Mapping[str, str]) -> None:
    """Note the headers that came with what `file` is now equal to; a full disk forgets them."""
    memory = state_folder(file) / MEMORY
    state = {**_memory(file), source: {DIGEST: _digest(file), **validators}}
    with contextlib.suppress(OSError):
        memory.parent.mkdir(exist_ok=True)
        memory.write_text(json.dumps(state, indent=2), encoding="utf-8")


def _memory(file: Path) -> dict[str, Any]:
    """Return all that is remembered; a damaged memory is none."""
    try:
        memory = json.loads((state_folder(file) / MEMORY).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return memory if isinstance(memory, dict) else {}


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.exists() else ""
