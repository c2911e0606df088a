"""Katas in C++ and CUDA whose lecture has no table."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

from plugins.course.model import Kata


if TYPE_CHECKING:
    from pathlib import Path


def native_kata(folder: Path, name: str, *csrc: str) -> Kata:
    """Return a kata of the lecture in `folder`, with these sources."""
    nothing: Any = ()
    return Kata(folder.name, name, "", "cpp", (), nothing, nothing, (), (), (), csrc, folder)
