"""Text that can be clicked, in terminals that know the control sequence OSC 8.

https://gist.github.com/egmontkob/eb114294efbcd5adb1944c9f3cb5feda describes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Mapping


# A terminal that does not know links shows none of the address: only these are trusted.
PROGRAMS = {"ghostty", "iTerm.app", "vscode", "WezTerm"}
TERMS = {"alacritty", "foot", "xterm-ghostty", "xterm-kitty"}
# GNOME Terminal and its relatives; 0.50.0 could crash.
VTE = 5001
# A multiplexer sits between, and the variables are those of the terminal it was started in.
MULTIPLEXERS = ("TMUX", "STY")


def linked(text: str, address: str) -> str:
    """Return `text` as a link to `address`."""
    return f"\x1b]8;;{address}\x1b\\{text}\x1b]8;;\x1b\\"


def knows_links(environment: Mapping[str, str]) -> bool:
    """Whether the terminal that set these variables shows links.

    ``FORCE_HYPERLINK`` decides where it is set: 0 for no, 1 for yes.
    """
    forced = environment.get("FORCE_HYPERLINK")
    if forced is not None:
        return forced != "0"
    if any(name in environment for name in MULTIPLEXERS):
        return False
    version = environment.get("VTE_VERSION", "")
    return (
        environment.get("TERM_PROGRAM") in PROGRAMS
        or environment.get("TERM") in TERMS
        or "WT_SESSION" in environment
        or (version.isdecimal() and int(version) >= VTE)
    )
