"""Durations and titles as a terminal shows them, and what happens where nobody reads."""

from __future__ import annotations

import io
import os
import runpy
import subprocess
import sys

import pytest

from plugins import ROOT
from plugins.tools.terminal import format_duration
from plugins.tools.terminal import shorten_words
from plugins.tools.terminal import shows_blocks


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
