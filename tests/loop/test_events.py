"""A terminal whose keys come one by one, and signals beside them."""

from __future__ import annotations

import os
import pty
import select
import signal
import termios
from types import SimpleNamespace
from typing import TYPE_CHECKING
from typing import cast

import pytest

from plugins.loop.events import Keyboard
from plugins.loop.events import Loop
from plugins.loop.events import LoopSignals


if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def ends() -> Iterator[tuple[int, int]]:
    """Where a person types, and the terminal that a program has."""
    person, terminal = pty.openpty()
    yield person, terminal
    for end in (person, terminal):
        with_end_closed(end)


def with_end_closed(end: int) -> None:
    """Close it, unless the test has."""
    try:
        os.close(end)
    except OSError:
        assert end


def test_a_key_comes_at_once_and_is_not_shown(ends: tuple[int, int]) -> None:
    """Without the return key; the settings are put back, also when a kata has changed them."""
    person, terminal = ends
    before = termios.tcgetattr(terminal)
    keyboard = Keyboard(terminal)
    os.write(person, b"h")
    assert [keyboard] == select.select([keyboard], [], [], 60)[0]
    key = keyboard.read()
    taken = termios.tcgetattr(terminal)
    termios.tcsetattr(terminal, termios.TCSANOW, before)
    keyboard.take()
    again = termios.tcgetattr(terminal)
    keyboard.give_back()

    assert "h" == key
    assert [] == select.select([person], [], [], 0)[0]
    assert taken == again
    assert taken != before
    assert before == termios.tcgetattr(terminal)


def test_a_terminal_may_be_closed(ends: tuple[int, int]) -> None:
    """Its window: there are no more keys, and nothing to put back."""
    person, terminal = ends
    keyboard = Keyboard(terminal)
    os.close(person)

    assert keyboard.read() is None
    os.close(terminal)
    assert keyboard.read() is None
    keyboard.give_back()


def test_signals_can_be_waited_for() -> None:
    """In their order, and only those that were asked for and are not ignored."""
    numbers = (signal.SIGUSR1, signal.SIGUSR2, signal.SIGWINCH)
    old = signal.signal(signal.SIGWINCH, signal.SIG_IGN)
    other = signal.signal(signal.SIGCONT, lambda *_: None)
    before = [signal.getsignal(number) for number in numbers]
    signals = LoopSignals(numbers)
    for number in (signal.SIGWINCH, signal.SIGUSR2, signal.SIGCONT, signal.SIGUSR1):
        signal.raise_signal(number)
    found = signals.read()
    signals.restore()
    after = [signal.getsignal(number) for number in numbers]
    signal.signal(signal.SIGWINCH, old)
    signal.signal(signal.SIGCONT, other)

    assert [signal.SIGUSR2, signal.SIGUSR1] == found
    assert before == after


def test_a_terminal_that_is_gone_ends_it() -> None:
    """As its hang-up does, which a program under nohup does not hear of."""
    gone_one = SimpleNamespace(keyboard=SimpleNamespace(read=lambda: None))

    assert 128 + signal.SIGHUP == Loop.read_keys(cast("Loop", gone_one))


def test_the_screen_is_drawn_anew_when_the_terminal_is_taken_again() -> None:
    """Also while a run goes on."""
    drawn: list[str] = []
    runner = SimpleNamespace(run=None, draw=lambda: drawn.append("drawn"))
    loop = SimpleNamespace(
        signals=SimpleNamespace(read=lambda: [signal.SIGCONT]),
        keyboard=SimpleNamespace(take=lambda: drawn.append("taken")),
        runner=runner,
    )
    assert Loop.read_signals(cast("Loop", loop)) is None
    runner.run = object()
    assert Loop.read_signals(cast("Loop", loop)) is None

    assert 2 * ["taken", "drawn"] == drawn
