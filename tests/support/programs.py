"""Stand-ins for programs: shell scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from pathlib import Path


def write_program(folder: Path, name: str, script: str = "") -> Path:
    """Write a program into a folder, created if missing, and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    return file
