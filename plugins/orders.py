"""What ``--watch`` lets a forked run do, and how the run becomes a command of that kind."""

from __future__ import annotations

import importlib
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING
from typing import Literal

import pytest


if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from plugins.layout import Kata


# Python tells two contents of a module apart by the second they are of, and their size.
SECOND = 2.0
BREAKPOINT = (
    "breakpoint() needs the keys that --watch reads: run this test in another terminal, "
    "without --watch"
)

kata_key = pytest.StashKey["Kata"]()


@dataclass(frozen=True)
class Order:
    """What a fork shall do: run one kata, or go on, or show something about one.

    Attributes
    ----------
    kind
        ``kata`` runs that kata alone; ``next`` and ``skip`` go through all of them.
    why
        What to say of it above what it shows.
    """

    kind: Literal["kata", "next", "skip", "hint", "solution"]
    kata: Kata | None = None
    why: str = ""

    @property
    def runs(self) -> bool:
        """Whether it runs tests, and is out of date when a file is saved."""
        return self.kind in {"kata", "next", "skip"}

    def apply(self, config: pytest.Config) -> None:
        """Make the command of this process, a fork, one that does this."""
        # What was saved since the parent has looked into the folders.
        importlib.invalidate_caches()
        option = config.option
        option.next, option.skip = self.kind in {"next", "skip"}, self.kind == "skip"
        if not option.next:
            # It would mean --next.
            setattr(option, "from", None)
        if self.kata:
            config.args = [str(self.kata.test)]
        match self.kind:
            case "kata" if self.kata:
                config.stash[kata_key] = self.kata
            case "hint":
                option.hint = "next"
            case "solution":
                option.solution = "solved"
        config.pluginmanager.register(NoDebugger())


class NoDebugger:
    """Lets a breakpoint fail its test: nobody could answer."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_enter_pdb(self) -> None:
        """Say so."""
        pytest.fail(BREAKPOINT, pytrace=False)


def keep_no_bytecode(folders: Iterable[Path]) -> None:
    """Let this process write no bytecode if a module was saved just now.

    Were it saved again within the second, with the same size, Python would run the bytecode.
    """
    limit = time.time() - SECOND
    files = (file for folder in folders for file in folder.glob("*.py"))
    if any(file.stat().st_mtime > limit for file in files):
        sys.dont_write_bytecode = True
