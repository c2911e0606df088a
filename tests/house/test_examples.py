"""Every example in the README of a lecture runs as written: Python programs and commands.

A program whose first line names a file, as ``# compiled.py``, is written to it, and run by the
command that follows. Commands about the katas run in the repository, all others beside the files.
Of each kata that a command names, one test runs: the solutions pass all of them elsewhere.
"""

from __future__ import annotations

import doctest
import os
import re
import shutil
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from plugins import ROOT
from plugins.tools.terminal import install_group
from tests.support import slurm
from tests.support.cluster import settings


if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


BLOCK = re.compile(r"^( *)```(\w*)\n(.*?)^\1```", re.DOTALL | re.MULTILINE)
COMPILED = re.compile(r"@torch\.compile\n|torch\.compile\(\w+\)")
NAME = re.compile(r"# (\w+\.py)\n")
# Optional programs: an example whose program is missing is skipped.
PROGRAMS = ("torchrun", "torchx", "nox")
KATAS = re.compile(r"\bkatas/\S+")
VERDICT = re.compile(r"(\d+) passed, \d+ deselected in ")
ONE_OF_EACH = "-p tests.support.firsts --color=no"


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
        """The file that holds the block, if it names one."""
        found = NAME.match(self.text)
        return found[1] if found and self.language == "python" else None

    @property
    def session(self) -> bool:
        """Whether it is a session with Python, whose output stands there as well."""
        return self.text.startswith(">>> ")

    @property
    def needs_cluster(self) -> bool:
        """Whether it submits a job, or brings up a cluster."""
        return self.text.startswith("srun ") or "nox -s cluster" in self.text

    @property
    def programs(self) -> list[str]:
        """Its text, and the files that it runs."""
        ran = [text for text in self.files if f"python {text.split()[1]}" in self.text]
        return [self.text, *ran]

    @property
    def needs_inductor(self) -> bool:
        """Whether something is compiled by Inductor, torch.compile's default."""
        return any(COMPILED.search(text) for text in self.programs)

    @property
    def needs_onnx(self) -> bool:
        """Whether something is exported to ONNX."""
        return any("torch.onnx.export(" in text for text in self.programs)

    @property
    def tools(self) -> list[str]:
        """The tools of tests/support/tools.py without which it is skipped."""
        needs = {
            "slurm": self.needs_cluster,
            "inductor": self.needs_inductor,
            "onnx": self.needs_onnx,
            "kubernetes": "-s kubernetes " in self.text,
        }
        return [name for name, needed in needs.items() if needed]

    @property
    def katas(self) -> int:
        """The number of katas that a command names, by a test module or by a lecture."""
        paths = [ROOT / name for name in KATAS.findall(self.text)]
        return sum(path.is_file() or len(list(path.glob("test_k*.py"))) for path in paths)


def examples() -> list[Example]:
    """Return the blocks of all lectures, each with the programs above it."""
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


@pytest.fixture(scope="module")
def on_slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Return what names a cluster; its folder's name is short, as that of a socket must be."""
    with slurm.slurm(tmp_path_factory.mktemp("c")) as environment:
        yield {"SLURM_CONF": environment["SLURM_CONF"]}


@pytest.fixture
def environment(example: Example, request: pytest.FixtureRequest) -> dict[str, str]:
    """Return the variables that the example is run with; skip it where a program is missing."""
    for name in PROGRAMS:
        if re.search(rf"^{name} ", example.text, re.MULTILINE):
            found = shutil.which(name, path=settings({**os.environ})["PATH"])
            skip_without(name, found)
    on_cluster = example.text.startswith("srun ")
    job: dict[str, str] = request.getfixturevalue("on_slurm") if on_cluster else {}
    return settings({**os.environ, **job, "PYTEST_ADDOPTS": ONE_OF_EACH})


def skip_without(name: str, found: str | None) -> None:
    """Skip the test if the program is missing, and name the group that installs it."""
    group = "torch213" if name == "torchrun" else "cluster"
    if not found:
        pytest.skip(f"{name} is not installed; {install_group(group)}")


@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.parametrize(
    "example",
    [
        pytest.param(
            each,
            id=f"{each.page}-{each.number}",
            marks=pytest.mark.tool(*each.tools),
        )
        for each in EXAMPLES
        if not (each.file or each.session)
    ],
)
def test_an_example_runs(example: Example, tmp_path: Path, environment: dict[str, str]) -> None:
    """It exits with status 0 and prints something; what runs katas prints one verdict."""
    for text in example.files:
        (tmp_path / str(NAME.match(text)[1])).write_text(text)  # type: ignore[index]
    program = [sys.executable, "-c"] if example.language == "python" else ["bash", "-ec"]

    done = subprocess.run(
        [*program, example.text],
        cwd=ROOT if example.katas else tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )

    told = done.stdout + done.stderr
    assert 0 == done.returncode, told
    assert told
    verdicts = [str(example.katas)] if example.katas else []
    assert verdicts == VERDICT.findall(told), told


@pytest.mark.torch
@pytest.mark.parametrize(
    "example",
    [pytest.param(each, id=f"{each.page}-{each.number}") for each in EXAMPLES if each.session],
)
def test_a_session_prints_what_it_says(example: Example) -> None:
    """Each block is a program of its own, as a reader pastes it."""
    runner = doctest.DocTestRunner(verbose=False)
    said: list[str] = []
    block = doctest.DocTestParser().get_doctest(example.text, {}, example.page, None, 0)
    runner.run(block, out=said.append)

    assert runner.failures == 0, "".join(said)
    assert runner.tries > 0


def test_a_block_says_what_it_is() -> None:
    """Each block is a program or a command, and a command uses each file."""
    for example in EXAMPLES:
        assert example.language in {"python", "sh"}, f"{example.page}, block {example.number}"
        if example.file:
            commands = [e.text for e in EXAMPLES if example.text in e.files]
            assert any(example.file in text for text in commands), example.file
