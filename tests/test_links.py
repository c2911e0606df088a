"""Links in terminals that know them, and in no others."""

from __future__ import annotations

import pytest

from plugins.links import knows_links
from plugins.links import linked


def test_a_link() -> None:
    """The control sequence OSC 8 around the text, and its end."""
    assert linked("text", "https://a.example") == (
        "\x1b]8;;https://a.example\x1b\\text\x1b]8;;\x1b\\"
    )


@pytest.mark.parametrize(
    ("environment", "known"),
    [
        ({}, False),
        ({"TERM": "xterm-256color"}, False),
        ({"TERM": "xterm-kitty"}, True),
        ({"TERM_PROGRAM": "WezTerm", "TERM": "xterm-256color"}, True),
        ({"TERM_PROGRAM": "Apple_Terminal"}, False),
        ({"WT_SESSION": "a-b-c"}, True),
        ({"VTE_VERSION": "7600"}, True),
        ({"VTE_VERSION": "5001"}, True),
        ({"VTE_VERSION": "5000"}, False),
        ({"VTE_VERSION": "new"}, False),
        ({"VTE_VERSION": "7600", "TMUX": "socket,1,0"}, False),
        ({"VTE_VERSION": "7600", "STY": "1.pts"}, False),
        ({"FORCE_HYPERLINK": "1"}, True),
        ({"FORCE_HYPERLINK": "1", "TMUX": "socket,1,0"}, True),
        ({"FORCE_HYPERLINK": "0", "TERM": "xterm-kitty"}, False),
    ],
)
def test_terminals(environment: dict[str, str], *, known: bool) -> None:
    """Only those are trusted that say who they are, and a person may say otherwise."""
    assert known == knows_links(environment)
