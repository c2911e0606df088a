"""The dataclasses of the course, which `plugins.course.lectures` reads; no pytest, no torch."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from pathlib import Path


KINDS = ("lab", "cpp", "cuda", "explore", "problem", "debug", "perf", "git")
NAME = re.compile(r"k\d\d_[a-z0-9_]+")
HINTS = 3


@dataclass(frozen=True)
class EpisodeRef:
    """An episode of the podcast by its slug, and why it fits the kata."""

    slug: str
    why: str


@dataclass(frozen=True)
class Upstream:
    """A place in PyTorch's source: a path from the root of its tree, and a symbol in the file."""

    path: str
    symbol: str


@dataclass(frozen=True)
class TorchNeed:
    """The versions of torch that a kata is for, such as ``>=2.13``, and why no others."""

    versions: str
    because: str


@dataclass(frozen=True)
class Kata:
    """One concept: an exercise, its test module, and what a failure points to."""

    lecture: str
    name: str
    title: str
    kind: str
    syllabus: tuple[str, ...]
    episodes: tuple[EpisodeRef, ...]
    upstream: tuple[Upstream, ...]
    hints: tuple[str, ...]
    after: tuple[str, ...]
    needs: tuple[str, ...]
    csrc: tuple[str, ...]
    folder: Path
    torch: TorchNeed | None = None

    @property
    def id(self) -> str:
        """``lecture04/k01_schema``."""
        return f"{self.lecture}/{self.name}"

    @property
    def test(self) -> Path:
        """The test module."""
        return self.folder / f"test_{self.name}.py"

    @property
    def cuda(self) -> list[str]:
        """The CUDA sources among `csrc`."""
        return [name for name in self.csrc if name.endswith(".cu")]

    @property
    def exercise(self) -> Path:
        """The file that the learner edits: the first C++ or CUDA source, or the Python module."""
        return self.folder / (self.csrc[0] if self.csrc else f"{self.name}.py")


@dataclass(frozen=True)
class Lecture:
    """A folder of katas, in the order of their names."""

    name: str
    title: str
    syllabus: dict[str, str]
    katas: tuple[Kata, ...]
    folder: Path


@dataclass(frozen=True)
class Course:
    """Every lecture that could be read, and one line for each that could not."""

    lectures: tuple[Lecture, ...]
    errors: tuple[str, ...]

    def kata_of(self, test: Path) -> Kata | None:
        """Return the kata whose test module is `test`, or None."""
        return self._katas_by_test.get(test)

    @cached_property
    def _katas_by_test(self) -> dict[Path, Kata]:
        katas = [kata for lecture in self.lectures for kata in lecture.katas]
        # The first one wins, should a folder be among the lectures twice.
        return {kata.test: kata for kata in reversed(katas)}
