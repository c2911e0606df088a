"""Digests everything that a run of a lecture depends on, except torch."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


SOURCES = {".py", ".toml", ".cpp", ".cu", ".h"}
COMPAT = "from katas import compat"


def content_of(root: Path, lecture: str) -> str:
    """Return the digest of a lecture's files, the plugins, and the pins of what they import."""
    digest = hashlib.sha256()
    for file in files_of(root, lecture):
        text = file.read_bytes()
        digest.update(f"{file.relative_to(root).as_posix()} {len(text)}\n".encode() + text)
    return digest.hexdigest()[:16]


def files_of(root: Path, lecture: str) -> Iterator[Path]:
    """Yield the files in a fixed order."""
    yield root / "conftest.py"
    yield root / "requirements.txt"
    yield root / "katas/__init__.py"
    for folder in (root / "plugins", root / "katas" / lecture):
        yield from sorted(file for file in folder.rglob("*") if file.suffix in SOURCES)
    # A compatibility entry for one lecture must not have all the others run again.
    modules = sorted((root / "katas" / lecture).glob("**/*.py"))
    if any(COMPAT in file.read_text(encoding="utf-8") for file in modules):
        yield root / "katas/compat.py"
