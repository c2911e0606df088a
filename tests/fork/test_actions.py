"""What the runner of a workflow reads: commands that no message can forge, and the summary."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from plugins.fork.actions import error_command
from plugins.fork.actions import hide_runner
from plugins.fork.actions import stop_commands
from plugins.fork.actions import write_summary


if TYPE_CHECKING:
    from pathlib import Path


def test_a_message_is_one_command() -> None:
    """A line end or a colon in it begins no other command."""
    command = error_command("a,b:c.py", 3, "50%::x,y", "no\n::error::mine\r\n%0A")

    expected = "::error file=a%2Cb%3Ac.py,line=3,title=50%25%3A%3Ax%2Cy::no ::error::mine %250A"
    assert expected == command


def test_what_is_printed_meanwhile_is_no_command() -> None:
    """A new token ends it each time."""
    said: list[str] = []
    for _ in range(2):
        with pytest.raises(KeyError), stop_commands({"GITHUB_ACTIONS": "true"}, said.append):
            raise KeyError

    words = [text.strip().removeprefix("::stop-commands") for text in said]
    assert words[0] == words[1].removesuffix("::")
    assert 2 == len(set(words[::2]))


def test_a_terminal_sees_nothing_of_it() -> None:
    """Commands are written for a runner only."""
    said: list[str] = []
    with stop_commands({}, said.append):
        pass

    assert [] == said


def test_katas_do_not_reach_the_runner() -> None:
    """The variables that name its files and tokens are removed."""
    private = {"GITHUB_ENV": "a", "ACTIONS_RUNTIME_TOKEN": "b", "RUNNER_TEMP": "c"}

    assert {"CI": "true"} == hide_runner({"CI": "true", **private})


def test_a_summary_goes_to_one_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the file that was named, else to the job's, after what others wrote, else to stdout."""
    file, job = tmp_path / "summary.md", tmp_path / "job.md"
    job.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(job))
    write_summary("named\n", file)
    write_summary("of the job\n", None)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY")
    write_summary("printed\n", None)

    assert ("named\n", "before\nof the job\n") == (file.read_text(), job.read_text())
    assert "\nprinted\n" == capsys.readouterr().out
