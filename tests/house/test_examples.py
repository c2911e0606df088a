"""Every example in the README of a lecture runs as written: Python programs and commands.

A program whose first line names a file, as ``# compiled.py``, is written to it, and run by the
command that follows. Commands about the katas run in the repository, all others beside the files.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import textwrap
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import slurm
from tests.cluster import settings


ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^( *)```(\w*)\n(.*?)^\1```", re.DOTALL | re.MULTILINE)
NAME = re.compile(r"# (\w+\.py)\n")
# What a command needs that not everybody has installed, and what must not fail without it.
PROGRAMS = ("torchrun", "torchx", "nox")


@dataclass(frozen=True)
class Example:
    """A block of a README."""

    page: str
    number: int
    language: str
    text: str
    files: tuple[str, ...]

    @property
    def file(self) -> str | None:
        """The file that the block is the content of."""
        found = NAME.match(self.text)
        return found[1] if found and self.language == "python" else None


def examples() -> list[Example]:
    """Return the blocks of all lectures, each with the programs that stand before it."""
    found: list[Example] = []
    for page in sorted(ROOT.glob("katas/lecture*/README.md")):
        files: list[str] = []
        for number, match in enumerate(BLOCK.finditer(page.read_text(encoding="utf-8")), 1):
            text = textwrap.dedent(match[3])
            example = Example(page.parent.name, number, match[2], text, tuple(files))
            found.append(example)
            if example.file:
                files.append(text)
    return found


EXAMPLES = examples()


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder for a cluster, with a short name: a socket's path must not be long."""
    return tmp_path_factory.mktemp("c")


@pytest.mark.torch
@pytest.mark.parametrize(
    "example",
    [each for each in EXAMPLES if not each.file],
    ids=lambda each: f"{each.page}-{each.number}",
)
def test_an_example_runs(example: Example, tmp_path: Path, folder: Path) -> None:
    """It ends well, and says something."""
    for name in PROGRAMS:
        if re.search(rf"^{name} ", example.text, re.MULTILINE):
            found = shutil.which(name, path=settings({**os.environ})["PATH"])
            skip_without(name, found)
    on_cluster = example.text.startswith("srun ")
    if (on_cluster or "nox -s cluster" in example.text) and slurm.missing():
        pytest.skip(f"slurm: {slurm.missing()}")
    for text in example.files:
        (tmp_path / str(NAME.match(text)[1])).write_text(text)  # type: ignore[index]
    program = [sys.executable, "-c"] if example.language == "python" else ["bash", "-ec"]

    with slurm.slurm(folder) if on_cluster else nullcontext(os.environ) as environment:
        done = subprocess.run(
            [*program, example.text],
            cwd=ROOT if "katas" in example.text else tmp_path,
            env=settings({**environment}),
            capture_output=True,
            text=True,
            check=False,
            timeout=900,
        )

    assert 0 == done.returncode, done.stdout + done.stderr
    assert done.stdout + done.stderr


def skip_without(name: str, found: str | None) -> None:
    """Say what is missing."""
    group = "torch213" if name == "torchrun" else "cluster"
    if not found:
        pytest.skip(f"{name} is not installed; python -m pip install --group {group}")


def test_a_block_says_what_it_is() -> None:
    """A block that is neither a program nor a command would not be run; a file is used."""
    for example in EXAMPLES:
        assert example.language in {"python", "sh"}, f"{example.page}, block {example.number}"
        if example.file:
            commands = [e.text for e in EXAMPLES if example.text in e.files]
            assert any(example.file in text for text in commands), example.file
