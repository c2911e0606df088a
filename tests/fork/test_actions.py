"""What the runner of a workflow reads: commands that nobody else can write."""

from __future__ import annotations

import pytest

from plugins.annotations import error
from plugins.annotations import unread
from plugins.annotations import without_runner


def test_a_message_is_one_command() -> None:
    """Neither a line end nor a colon in it begins another."""
    command = error("a,b:c.py", 3, "50%::x,y", "no\n::error::mine\r\n%0A")

    expected = "::error file=a%2Cb%3Ac.py,line=3,title=50%25%3A%3Ax%2Cy::no ::error::mine %250A"
    assert expected == command


def test_what_is_printed_meanwhile_is_no_command() -> None:
    """The word that ends it is another one each time."""
    said: list[str] = []
    for _ in range(2):
        with pytest.raises(KeyError), unread({"GITHUB_ACTIONS": "true"}, said.append):
            raise KeyError

    words = [text.strip().removeprefix("::stop-commands") for text in said]
    assert words[0] == words[1].removesuffix("::")
    assert 2 == len(set(words[::2]))


def test_a_terminal_sees_nothing_of_it() -> None:
    """Only a runner reads such lines."""
    said: list[str] = []
    with unread({}, said.append):
        pass

    assert [] == said


def test_katas_do_not_reach_the_runner() -> None:
    """Its files and tokens are named by variables, which they do not get."""
    private = {"GITHUB_ENV": "a", "ACTIONS_RUNTIME_TOKEN": "b", "RUNNER_TEMP": "c"}

    assert {"CI": "true"} == without_runner({"CI": "true", **private})
