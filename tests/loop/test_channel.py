"""What a run under ``--watch`` tells the process that stays."""

from __future__ import annotations

import os
import signal

import pytest

from plugins.loop import channel as channel_module
from plugins.loop.channel import Channel
from plugins.loop.channel import Told


@pytest.fixture
def channel() -> Channel:
    """A channel of which nothing has been told."""
    channel = Channel()
    channel.clear()
    return channel


def test_what_a_fork_tells_arrives(channel: Channel) -> None:
    """All of it, in its order, also if the process is killed after that."""
    process = os.fork()
    if not process:
        channel.tell(Told(("k01 is solved \N{SNOWMAN}",), solved=("k01",)))
        channel.tell(Told(solved=("k02",)))
        channel.tell(Told(("k03: a title", ""), failed="k03"))
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(process, 0)

    expected = Told(("k01 is solved \N{SNOWMAN}", "k03: a title", ""), "k03", ("k01", "k02"))
    assert expected == channel.read()


def test_the_next_run_begins_anew(channel: Channel) -> None:
    """Nothing of the last one is left, and a clock may be shown."""
    channel.tell(Told(("a line",), "k01", ("k02",)))
    channel.clear()

    assert (Told(), "") == (channel.read(), channel.status)


def test_a_result_hides_the_clock_until_the_next_test(channel: Channel) -> None:
    """What shows no line leaves it."""
    channel.set_status("test_one")
    channel.tell(Told(solved=("k01",)))
    before = channel.status
    channel.tell(Told(("k01 is solved",)))
    shown = channel.status
    channel.set_status("test_two")

    assert ("test_one", None, "test_two") == (before, shown, channel.status)


@pytest.mark.parametrize("before", [0, 1, 2, 3])
def test_a_long_status_is_cut_at_a_character(channel: Channel, before: int) -> None:
    """It never reaches what was told."""
    channel.tell(Told(("a line",)))
    channel.set_status("x" * before + "\N{SNOWMAN}" * 1000)

    assert {"\N{SNOWMAN}"} == {*(channel.status or "")[before:]}
    assert ("a line",) == channel.read().lines


def test_what_does_not_fit_is_lost(channel: Channel) -> None:
    """The rest is not, before it and after it."""
    channel.tell(Told(("before",)))
    channel.tell(Told(("x" * channel_module.SIZE,)))
    channel.tell(Told(("after",), "k01"))

    assert Told(("before", "after"), "k01") == channel.read()
