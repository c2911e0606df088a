"""The dataclasses of the course, which `plugins.course.lectures` reads; no pytest, no torch."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Collection
    from collections.abc import Iterator
    from collections.abc import Mapping
    from pathlib import Path


KINDS = ("lab", "cpp", "cuda", "explore", "problem", "debug", "perf", "git")
NAME = re.compile(r"k\d\d_[a-z0-9_]+")
# The name of a kata of an earlier edition, with its lecture if that was another.
WAS = re.compile(rf"(?:(?P<lecture>[a-z0-9_]+)/)?(?P<name>{NAME.pattern})")
# From the smallest: what each may ask of a learner, tests/gate/sizes.py says.
SIZES = ("spark", "kata", "lab")
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
    """One concept: an exercise, its test module, and what a failure points to.

    Attributes
    ----------
    size, minutes
        How large it is, one of `SIZES`, and about how long it takes; "" and 0 if its lecture
        states neither.
    core
        Whether it is on the core path, which ``--next`` follows.
    after
        The katas on which it builds: names of its own lecture, or ids of others.
    was
        The kata of an earlier edition that it was made of, such as ``lecture04/k01_parser``, or "".
    extra
        Tests that decide nothing which others do not, such as a comparison with a tool that may be
        missing: the kata can be solved where they are skipped.
    learned
        What a solver has now seen, in a sentence, or "".
    """

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
    size: str = ""
    minutes: int = 0
    core: bool = True
    was: str = ""
    extra: tuple[str, ...] = ()
    learned: str = ""

    @property
    def id(self) -> str:
        """``lecture04/k01_answer``."""
        return f"{self.lecture}/{self.name}"

    @property
    def builds_on(self) -> list[str]:
        """The ids of the katas on which it builds."""
        return [name if "/" in name else f"{self.lecture}/{name}" for name in self.after]

    @property
    def effort(self) -> str:
        """``lab, 60 min``, with ``, optional`` beside the core path, or "" if none is stated."""
        optional = "" if self.core else ", optional"
        return f"{self.size}, {self.minutes} min{optional}" if self.size else ""

    @cached_property
    def test(self) -> Path:
        """The test module."""
        return self.folder / f"test_{self.name}.py"

    @property
    def meta(self) -> Path:
        """The folder of what is its author's: wrong answers, other right ones, and the proof."""
        return self.folder / ".meta" / self.name

    @property
    def cuda(self) -> list[str]:
        """The CUDA sources among `csrc`."""
        return [name for name in self.csrc if name.endswith(".cu")]

    @property
    def exercise(self) -> Path:
        """The file that the learner edits: the first C++ or CUDA source, or the Python module."""
        return self.folder / (self.csrc[0] if self.csrc else f"{self.name}.py")


def undecided(tests: Mapping[str, str | None], extra: Collection[str]) -> dict[str, str]:
    """Return the tests without whose verdict a kata is not decided, with why they were skipped.

    `tests` has the reason for each test that was skipped, and None for the others. A test of a
    device that is missing decides nothing where it ran on another; neither do those in `extra`.
    """
    ran = {form for name, reason in tests.items() if reason is None for form in forms(name)}
    return {
        name: reason
        for name, reason in tests.items()
        if reason is not None
        and name.partition("[")[0] not in extra
        # The reason begins with the name of what is missing: "cuda: no GPU".
        and ran.isdisjoint(forms(name, reason.partition(":")[0]))
    }


def forms(name: str, only: str | None = None) -> Iterator[tuple[str, ...]]:
    """Yield the name of a test with each of its parameters left out, or with `only` left out."""
    test, bracket, parameters = name.removesuffix("]").partition("[")
    parts = parameters.split("-") if bracket else []
    for place, part in enumerate(parts):
        if only in {None, part}:
            yield (test, *parts[:place], "", *parts[place + 1 :])


@dataclass(frozen=True)
class Lecture:
    """A folder of katas, in the order of their names."""

    name: str
    title: str
    syllabus: dict[str, str]
    katas: tuple[Kata, ...]
    folder: Path

    @property
    def minutes(self) -> int:
        """About how long its core path takes; 0 if it states no sizes."""
        return sum(kata.minutes for kata in self.katas if kata.core)


@dataclass(frozen=True)
class Course:
    """Every lecture that could be read, and one line for each that could not."""

    lectures: tuple[Lecture, ...]
    errors: tuple[str, ...]

    @cached_property
    def katas(self) -> tuple[Kata, ...]:
        """The katas of all lectures, in teaching order."""
        return tuple(kata for lecture in self.lectures for kata in lecture.katas)

    def kata_of(self, test: Path) -> Kata | None:
        """Return the kata whose test module is `test`, or None."""
        return self._katas_by_test.get(test)

    @cached_property
    def _katas_by_test(self) -> dict[Path, Kata]:
        # The first one wins, should a folder be among the lectures twice.
        return {kata.test: kata for kata in reversed(self.katas)}
