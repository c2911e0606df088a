"""Durations and titles as a terminal shows them, and what happens where nobody reads."""

from __future__ import annotations

import io
import os
import runpy
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

from plugins import ROOT
from plugins.tools import terminal
from plugins.tools.terminal import format_duration
from plugins.tools.terminal import has_pip
from plugins.tools.terminal import has_uv
from plugins.tools.terminal import install_command
from plugins.tools.terminal import install_group
from plugins.tools.terminal import shorten_words
from plugins.tools.terminal import shows_blocks


if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 min"), (29, "0 min"), (31, "1 min"), (3599, "1 h 00 min"), (7500, "2 h 05 min")],
)
def test_durations_are_rounded_to_minutes(seconds: float, text: str) -> None:
    """Hours appear only when there are some."""
    assert text == format_duration(seconds)


@pytest.mark.parametrize(
    ("text", "room", "short"),
    [("one two three", 13, "one two three"), ("one two three", 12, "one two ...")],
)
def test_long_texts_lose_whole_words(text: str, room: int, short: str) -> None:
    """A text that fits stays as it is."""
    assert short == shorten_words(text, room)


@pytest.mark.parametrize(
    ("encoding", "blocks"), [("UTF-8", True), ("utf-16", True), ("ascii", False), ("cp1252", False)]
)
def test_blocks_need_unicode(
    monkeypatch: pytest.MonkeyPatch, encoding: str, *, blocks: bool
) -> None:
    """The encoding of the terminal decides, not that of the captured output."""
    terminal = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr(sys, "__stdout__", terminal)

    assert blocks == shows_blocks()


def test_no_terminal_shows_no_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process without a standard output has none."""
    monkeypatch.setattr(sys, "__stdout__", None)

    assert not shows_blocks()


def run_unread(*command: str, **environment: str) -> tuple[int, str]:
    """Run Python with a stdout that nobody reads; return its status, and what it says on stderr."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writer)
    return done.returncode, done.stderr


@pytest.mark.parametrize(("unbuffered", "status"), [("", 0), ("1", 1)])
def test_a_command_that_nobody_reads_ends_quietly(unbuffered: str, status: int) -> None:
    """Whether its words are written when the process exits, or before."""
    text = "from plugins.tools.terminal import run_command; run_command(lambda: print('told') or 0)"

    assert (status, "") == run_unread("-c", text, PYTHONUNBUFFERED=unbuffered)


@pytest.mark.parametrize("name", ["reset", "update", "practice", "guard", "feed"])
def test_every_command_of_the_course_does(name: str) -> None:
    """Its help has no reader either."""
    assert (0, "") == run_unread("-m", f"plugins.{name}", "--help", PYTHONUNBUFFERED="")


def test_a_command_exits_with_its_status() -> None:
    """A reader that stays changes nothing."""
    text = "from plugins.tools.terminal import run_command; run_command(lambda: print('told') or 7)"
    done = subprocess.run([sys.executable, "-c", text], cwd=ROOT, capture_output=True, check=False)

    assert (7, b"told\n", b"") == (done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize("name", ["guard", "practice", "reset", "update"])
def test_importing_a_command_runs_nothing(name: str) -> None:
    """Only ``python -m`` does."""
    assert "run_command" in runpy.run_module(f"plugins.{name}")


@dataclass
class Environment:
    """A virtual environment that the tests pretend to run in."""

    folder: Path
    patch: pytest.MonkeyPatch

    def has(self, *names: str, config: str = "home = /usr/bin\n") -> None:
        """Let it have these of pip, ensurepip and uv; `config` is its pyvenv.cfg."""
        (self.folder / "pyvenv.cfg").write_text(config)
        self.patch.setattr(terminal, "has_pip", lambda: "pip" in names)
        self.patch.setattr(terminal, "find_spec", lambda name: name if name in names else None)
        self.patch.setattr(shutil, "which", lambda name: name if name in names else None)


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Environment:
    """Return an environment in tmp_path/.venv, which is active."""
    folder = tmp_path / ".venv"
    folder.mkdir()
    monkeypatch.setattr(sys, "prefix", str(folder))
    monkeypatch.setattr(sys, "executable", f"{folder}/bin/python")
    monkeypatch.setenv("VIRTUAL_ENV", str(folder))
    monkeypatch.chdir(tmp_path)
    return Environment(folder, monkeypatch)


@pytest.mark.parametrize("others", [(), ("uv",), ("uv", "ensurepip")])
def test_pip_installs_where_it_is(environment: Environment, others: tuple[str, ...]) -> None:
    """A group wants the newest."""
    environment.has("pip", *others)

    assert "python -m pip install torchx" == install_command("torchx")
    assert "python -m pip install -U pip && python -m pip install --group page" == (
        install_group("page")
    )
    assert install_group("vision", "-U").endswith(" && python -m pip install -U --group vision")


@pytest.mark.parametrize(
    ("here", "config"),
    [
        (("uv", "ensurepip"), "home = /usr/bin\n"),
        (("ensurepip",), "home = /usr/bin\nuv = 0.9.1\n"),
        ((), "uv=0.9.1"),
    ],
)
def test_uv_installs_where_there_is_no_pip(
    environment: Environment, here: tuple[str, ...], config: str
) -> None:
    """If it is on PATH, or has made the environment, as ``uv venv`` does."""
    environment.has(*here, config=config)

    assert "uv pip install torchx" == install_command("torchx")
    assert "uv pip install --group page" == install_group("page")
    assert "uv pip install -U --group vision" == install_group("vision", "-U")


def test_pip_is_made_where_there_is_neither(environment: Environment) -> None:
    """Python brings it, if Debian has not taken it away."""
    environment.has("ensurepip")
    first = "python -m ensurepip && "

    assert f"{first}python -m pip install torchx" == install_command("torchx")
    assert f"{first}python -m pip install -U pip && python -m pip install --group page" == (
        install_group("page")
    )
    environment.has()
    (environment.folder / "pyvenv.cfg").unlink()
    assert not has_uv()
    assert install_command("torchx") == (
        "python -m pip install torchx "
        "(this Python has no pip: https://pip.pypa.io/en/stable/installation)"
    )


def test_uv_is_told_which_python_it_is(environment: Environment) -> None:
    """If another environment is active, or none, and none is found from here."""
    environment.has("uv")
    python = f"--python {environment.folder}/bin/python"
    environment.patch.setenv("VIRTUAL_ENV", "/another")
    assert f"uv pip install {python} torchx" == install_command("torchx")

    environment.patch.delenv("VIRTUAL_ENV")
    below = environment.folder.parent / "katas"
    below.mkdir()
    environment.patch.chdir(below)
    assert "uv pip install torchx" == install_command("torchx")
    (below / ".venv").mkdir()
    assert f"uv pip install {python} torchx" == install_command("torchx")


@pytest.mark.tool("uv")
@pytest.mark.slow
def test_uv_takes_what_it_is_told(tmp_path: Path) -> None:
    """In an environment of its own, active or not; a group as well."""
    folder = tmp_path / "a venv"
    subprocess.run(["uv", "venv", "--quiet", "--offline", folder], check=True)
    (tmp_path / "pyproject.toml").write_text("[dependency-groups]\nnone = []\n")
    code = (
        "from plugins.tools.terminal import install_command, install_group\n"
        "print(install_command('--offline -r none.txt'), install_group('none'), sep='\\n')"
    )
    (tmp_path / "none.txt").write_text("")
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "HOME": str(tmp_path)}
    python = folder / "bin/python"
    for more in ({}, {"VIRTUAL_ENV": str(folder)}):
        done = subprocess.run(
            [python, "-c", f"import sys\n{code}"],
            env=environment | more,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        for command in done.stdout.splitlines():
            assert command.startswith("uv pip install ")
            words = shlex.split(command)
            subprocess.run(words, env=environment | more, cwd=tmp_path, check=True)


def test_pip_is_looked_for_in_this_python() -> None:
    """Nothing is imported for it."""
    assert install_command("x").startswith("python -m pip ") == bool(find_spec("pip"))


def test_to_look_for_pip_leaves_setuptools_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its finder gives up its distutils once it is asked for pip, and then cannot be imported."""
    asked = []

    class Finder:
        @staticmethod
        def find_spec(name: str, *_: object) -> None:
            asked.append(name)

    monkeypatch.setattr(sys, "meta_path", [Finder, *sys.meta_path])

    assert has_pip() == bool(find_spec("pip"))
    assert ["pip"] == asked, "asked by find_spec, and only by it"
