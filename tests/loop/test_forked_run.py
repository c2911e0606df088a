"""The process that is forked to run pytest, and how it ends."""

from __future__ import annotations

import os
import signal
import sys
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING
from typing import Any

import pytest

from plugins.loop import forked_run as run_module
from plugins.loop.channel import Told
from plugins.loop.forked_run import ForkedRun
from plugins.loop.forked_run import Runner
from plugins.loop.forked_run import fork_run
from plugins.loop.kata_session import Order
from plugins.loop.saved_files import keep_no_bytecode
from plugins.loop.screen import CLEAR
from plugins.loop.screen import ERASE
from plugins.loop.screen import ScreenLine
from tests.support.terminal import eventually
from tests.support.terminal import gone


if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def begun(work: Callable[[], object]) -> ForkedRun:
    """Fork a process that does this and ends."""
    run = fork_run([signal.SIGUSR1], lambda: None)
    if run:
        return run
    try:
        work()
    finally:
        os._exit(3)


def test_a_run_ends_by_itself() -> None:
    """It has a process group of its own, nothing to read, and leaves its status."""
    run = begun(lambda: os._exit(7 if (os.getpgrp(), os.read(0, 1)) == (os.getpid(), b"") else 1))

    assert eventually(run.ended)
    assert 7 == run.code
    assert run.ended()


@pytest.mark.parametrize("deaf", [False, True])
def test_a_run_is_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, deaf: bool) -> None:
    """With the processes that it started; by force, if it ignores the signal."""
    monkeypatch.setattr(run_module, "GRACE", 0.2 if deaf else 60)

    def work() -> None:
        if deaf:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        child = os.fork()
        if child:
            (tmp_path / "new").write_text(str(child))
            (tmp_path / "new").rename(tmp_path / "begun")
        time.sleep(1000)

    run = begun(work)
    assert eventually((tmp_path / "begun").exists)
    run.drop()

    assert -(signal.SIGKILL if deaf else signal.SIGTERM) == run.code
    assert eventually(lambda: gone(run.process, int((tmp_path / "begun").read_text())))


def test_a_signal_waits_until_the_run_has_its_handlers() -> None:
    """The handlers of its parent are not for it."""
    before = signal.signal(signal.SIGUSR1, lambda *_: os._exit(1))

    def begin() -> None:
        os.kill(os.getpid(), signal.SIGUSR1)
        signal.signal(signal.SIGUSR1, lambda *_: os._exit(5))

    run = fork_run([signal.SIGUSR1], begin)
    if not run:
        time.sleep(100)
        os._exit(2)
    assert eventually(run.ended)
    signal.signal(signal.SIGUSR1, before)

    assert 5 == run.code


def test_a_run_without_a_parent_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """The parent may have been killed before the run could ask to end with it."""

    def work() -> None:
        monkeypatch.setattr("os.getppid", lambda: 1)
        run_module.detach(os.getpid())

    run = begun(work)

    assert eventually(run.ended)
    assert 1 == run.code


@pytest.mark.parametrize(("age", "kept"), [(0.0, False), (1000.0, True)], ids=["new", "old"])
def test_no_bytecode_is_written_of_what_was_just_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, age: float, kept: bool
) -> None:
    """Saved again within the second, it would look the same to Python."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    (tmp_path / "k01_first.py").touch()
    second = time.time() - age
    os.utime(tmp_path / "k01_first.py", (second, second))
    keep_no_bytecode([tmp_path])

    assert kept is not sys.dont_write_bytecode


def test_no_bytecode_is_written_where_files_come_and_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file may be removed while it is looked at, and a whole lecture before that."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    keep_no_bytecode([tmp_path / "lecture77"])
    assert not sys.dont_write_bytecode

    (tmp_path / "k01_first.py").symlink_to(tmp_path / "k02_gone.py")
    keep_no_bytecode([tmp_path])
    assert sys.dont_write_bytecode


@pytest.fixture
def runner() -> Runner:
    """A runner without a terminal, whose desk has an order for each key."""
    config: Any = SimpleNamespace(
        option=SimpleNamespace(skip=False, color="no", code_highlight="no")
    )
    desk: Any = SimpleNamespace(
        kata=SimpleNamespace(id="lecture01/k01_first"),
        first=lambda **_: None,
        ran=lambda *_: None,
        moment=lambda *_: [],
        pressed=lambda *keys: Order("next", why=keys[0]),
        passed=None,
        can_go_back=False,
        postpones=False,
        list=None,
    )
    runner = Runner(config, desk)
    runner.channel.clear()
    return runner


def test_others_prepare_a_run_before_it_is_forked(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hook has the kata of the order; nothing is prepared where nothing waits."""
    told: list[object] = []
    kata: Any = SimpleNamespace()

    def fork(*_: object) -> Any:
        told.append("fork")
        return SimpleNamespace()

    hook: Any = SimpleNamespace(pytest_kata_before_fork=lambda **known: told.append(known["kata"]))
    monkeypatch.setattr(runner.config, "hook", hook, raising=False)
    monkeypatch.setattr(run_module, "fork_run", fork)
    assert not runner.forked([], lambda: None)

    for order in (Order("kata", kata), Order("next")):
        runner.waiting, runner.run = order, None
        runner.forked([], lambda: None)

    assert [kata, "fork", None, "fork"] == told


def test_what_a_run_has_imported_is_known_too(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its files, as those of what is imported at the start; once."""
    known: list[int] = []
    ended: Any = SimpleNamespace(ended=lambda: True, code=0)
    monkeypatch.setattr(run_module, "know_files", lambda: known.append(1))
    for imported in (True, False):
        monkeypatch.setattr(runner.late, "catch_up", lambda imported=imported: imported)
        runner.run, runner.order = ended, Order("skip")
        runner.look(lambda: None)

    assert [1] == known


def test_a_key_that_was_pressed_meanwhile_is_served_at_the_end(runner: Runner) -> None:
    """The order that it means is the next one."""
    ended: Any = SimpleNamespace(ended=lambda: True, code=0)
    runner.run, runner.order = ended, Order("skip")
    runner.keys.append("n")
    runner.look(lambda: None)

    assert runner.run is None
    assert runner.waiting == Order("next", why="n")


def test_a_clock_shows_only_while_a_run_takes_long(
    runner: Runner, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not while it shows a result, and not on a terminal that cannot erase it.

    After a result the next kata has its clock.
    """
    goes_on: Any = SimpleNamespace()
    monkeypatch.setenv("TERM", "xterm")
    runner.channel.set_status("test_it")
    runner.tick()
    runner.run, runner.began = goes_on, time.monotonic()
    runner.tick()
    runner.began -= 100
    monkeypatch.setenv("TERM", "dumb")
    runner.tick()
    nothing = capsys.readouterr().out
    monkeypatch.setenv("TERM", "xterm")
    runner.tick()
    clock = capsys.readouterr().out
    runner.channel.tell(Told(("the result",)))
    runner.tick()

    result = capsys.readouterr().out
    runner.channel.set_status("test_of_the_next_kata")
    runner.tick()

    assert "" == nothing
    assert clock.startswith(f"{ERASE}100 s  test_it ")
    assert "" == result
    assert capsys.readouterr().out.startswith(f"{ERASE}100 s  test_of_the_next_kata ")


def test_a_fork_says_what_it_does(runner: Runner) -> None:
    """However long that is; a character at the end is whole."""
    run = begun(lambda: runner.channel.set_status("\N{SNOWMAN}" * 1000))
    assert eventually(run.ended)

    status = runner.channel.status
    assert status
    assert {"\N{SNOWMAN}"} == {*status}


def test_what_goes_on_is_drawn_anew(
    runner: Runner, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The line above the output, what the run has shown, and the clock, without the keys."""
    goes_on: Any = SimpleNamespace()
    monkeypatch.setenv("TERM", "xterm")
    runner.run, runner.began, runner.shown = goes_on, time.monotonic() - 100, ["saved   k.py"]
    runner.channel.tell(Told(("k01 is solved",)))
    runner.channel.set_status("test_it")
    runner.draw()

    drawn = capsys.readouterr().out
    assert drawn.startswith(f"{CLEAR}saved   k.py\nk01 is solved\n{ERASE}100 s  test_it ")
    assert "n next" not in drawn


def test_a_save_that_runs_nothing_is_answered_when_nothing_runs(
    runner: Runner, capsys: pytest.CaptureFixture[str]
) -> None:
    """At once, or below the result of the run that goes on; once, and not for no kata at all."""
    note = [ScreenLine("saved   k09.py"), ScreenLine("k09 is not among the katas")]
    runner.hear(None)
    nothing = capsys.readouterr().out
    runner.hear(note)
    at_once = capsys.readouterr().out
    ended: Any = SimpleNamespace(ended=lambda: True, code=0)
    runner.run, runner.order = ended, Order("next")
    runner.hear(note)
    meanwhile = capsys.readouterr().out
    runner.look(lambda: None)
    later = capsys.readouterr().out
    runner.draw()

    assert "" == nothing + meanwhile
    for text in (at_once, later):
        assert "\nsaved   k09.py\nk09 is not among the katas\n\nn next" in text
    assert "k09" not in capsys.readouterr().out


def test_a_run_that_was_ended_leaves_no_clock(
    runner: Runner, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also if it has shown a result before; a result that is shown last is not erased."""
    monkeypatch.setenv("TERM", "xterm")
    ended: Any = SimpleNamespace(ended=lambda: True, code=-signal.SIGKILL)
    runner.run, runner.order = ended, Order("next")
    runner.channel.tell(Told(("solved",)))
    runner.channel.set_status("test_of_the_next_kata")
    runner.look(lambda: None)
    killed = capsys.readouterr().out
    runner.run = ended
    runner.channel.tell(Told(("the result",)))
    runner.look(lambda: None)

    assert killed.startswith(f"{ERASE}The run was ended by SIGKILL.\n")
    assert ERASE not in capsys.readouterr().out


def test_a_result_that_is_the_same_again_is_said_to_be(
    runner: Runner, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the row above the keys, and only then."""
    ended: Any = SimpleNamespace(ended=lambda: True, code=0)
    screens: list[bool] = []
    for text in ("one", "two", "two", "one"):
        runner.channel.clear()
        runner.run, runner.order = ended, Order("kata")
        runner.channel.tell(Told((f"shown {len(screens)}",), "k01_first", (), text))
        runner.look(lambda: None)
        screens.append("As before.\nn next" in capsys.readouterr().out)

    assert [False, False, True, False] == screens


def test_another_kata_is_not_as_before(runner: Runner, capsys: pytest.CaptureFixture[str]) -> None:
    """Two solved katas tell the same."""
    ended: Any = SimpleNamespace(ended=lambda: True, code=0)
    desk: Any = runner.desk
    screens: list[bool] = []
    for name in ("k01_first", "k01_first", "k02_second", "k02_second"):
        runner.channel.clear()
        desk.kata.id = name
        runner.run, runner.order = ended, Order("kata")
        runner.channel.tell(Told(("shown",)))
        runner.look(lambda: None)
        screens.append("As before.\nn next" in capsys.readouterr().out)

    assert [False, True, False, True] == screens


def test_more_tests_that_pass_are_not_as_before(
    runner: Runner, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first failure may be the same, and yet the answer is better.

    The first run of `--next` does not say how many pass.
    """
    ended: Any = SimpleNamespace(ended=lambda: True, code=0)
    screens: list[bool] = []
    for passing in (1, 2, 2, None, 2):
        runner.channel.clear()
        runner.run, runner.order = ended, Order("kata")
        runner.channel.tell(Told(("shown",), "k01_first", (), "the same failure"))
        if passing is not None:
            runner.channel.tell(Told((f"tests   {passing} of 3 pass",), passing=f"{passing} of 3"))
        runner.look(lambda: None)
        screens.append("As before.\nn next" in capsys.readouterr().out)

    assert [False, False, True, True, True] == screens


def test_the_list_has_the_screen_to_itself(
    runner: Runner, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In as many rows as the terminal has, less the keys and what there is to say."""
    listed: Any = SimpleNamespace(lines=lambda rows: [f"{rows} rows"])
    monkeypatch.setattr(runner.desk, "list", listed)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("LINES", "24")
    runner.shown = ["the lesson"]
    runner.draw()
    alone = capsys.readouterr().out
    runner.draw(["said", "twice"])

    assert f"{CLEAR}21 rows\n\nj down  k up" in alone
    assert "the lesson" not in alone
    assert f"{CLEAR}18 rows\n\nsaid\ntwice\n\nj down" in capsys.readouterr().out


def test_what_is_longer_than_the_screen_is_paged(
    runner: Runner, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """From its beginning; a key that does not turn pages closes them, and means what it meant."""
    long = [ScreenLine(f"line {n}") for n in range(40)]
    meanings: dict[str, Any] = {"s": long, "h": [ScreenLine("a hint")], "n": Order("next")}
    monkeypatch.setattr(runner.desk, "pressed", lambda key, _: meanings[key])
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("LINES", "24")
    runner.shown = ["the lesson"]

    def screen(key: str) -> str:
        runner.press(key)
        return capsys.readouterr().out.rpartition(CLEAR)[2]

    assert screen("s").startswith("line 0\nline 1\n")
    assert screen(" ").startswith("line 19\n")
    runner.draw()
    assert "lines 20 to 40 of 40\nspace on  b back" in capsys.readouterr().out
    assert screen("s").startswith("the lesson\n\nn next")
    screen("s")
    assert screen("h").startswith("the lesson\n\na hint\n\nn next")
    screen("s")
    screen("n")
    assert (None, Order("next")) == (runner.pages, runner.waiting)


def test_an_arrow_is_one_key(runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though a terminal sends three characters."""
    pressed: list[str] = []
    monkeypatch.setattr(runner.desk, "pressed", lambda key, _: pressed.append(key))
    monkeypatch.setattr(runner.config, "option", SimpleNamespace(color="no", code_highlight="no"))
    runner.press("j\x1b[B\x1bOAl")

    assert ["j", "\x1b[B", "\x1bOA", "l"] == pressed
