"""Each command that installs a group works with the pip of a new virtual environment."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

import pytest

from plugins import ROOT
from plugins.tools.terminal import install_group


if TYPE_CHECKING:
    from collections.abc import Iterator


# The option came with pip 25.1; Python 3.11 brings pip 23.2.
GROUP = re.compile(r"(?<![\w-])--group\b")
COMMAND = re.compile(
    # In a workflow each command is a step of its own.
    r"python -m pip install -U pip(?: && |\n(?: +shell: bash\n)? +- run: )"
    r"python -m pip install (?:-U )?(?:-r )?(?:[\w.-]+ )*"
    r"(?:--group (?:\w+|\{\w+\})(?: (?=--group))?)+"
)
# Where no learner types it: uv knows the option, a tour of the matrix upgrades its own pip.
OTHERS = {
    "tox.ini": "uv pip install --quiet --upgrade --resolution lowest-direct --group range",
    "tests/matrix/place.py": "pip>=25.1",
    "tests/matrix/test_tour.py": "Installing.fails",
    "tests/tools/test_terminal.py": "uv pip install --group page",
}
# A lecture's README names the pip that it needs; the course's says how to get it.
NEEDS = "pip 25.1 or newer"
TEXT = {".md", ".py", ".toml", ".ini", ".yml", ".yaml", ".txt", ".json", ".cfg", ".sh", ".svg", ""}


def mentions() -> Iterator[tuple[str, str]]:
    """Return each file of the repository that has the option, with its text."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    for name in listed.stdout.splitlines():
        file = ROOT / name
        if file.suffix in TEXT and file.is_file() and name != "tests/house/test_install.py":
            text = file.read_text(encoding="utf-8", errors="replace")
            if GROUP.search(text):
                yield name, text


MENTIONS = dict(mentions())


def test_the_mentions_are_found() -> None:
    """Of people, of workflows and of messages."""
    assert {
        "README.md",
        "docs/maintaining.md",
        ".github/actions/prepare/action.yml",
        ".github/workflows/ci.yml",
        "plugins/tools/terminal.py",
    } < {*MENTIONS}


@pytest.mark.parametrize("name", MENTIONS)
def test_a_mention_is_a_command_that_works_everywhere(name: str) -> None:
    """It upgrades pip first: to the one of a new environment the option is unknown."""
    text = MENTIONS[name]
    if name in OTHERS:
        assert OTHERS[name] in text
        return
    left = "\n".join(line for line in COMMAND.sub("", text).splitlines() if GROUP.search(line))
    if name.startswith("katas/"):
        left = "\n".join(line for line in left.splitlines() if NEEDS not in line)

    # Words about the option, and patterns that look for it, install nothing.
    assert [] == [line for line in left.splitlines() if "pip install" in line]


def test_a_message_has_that_command() -> None:
    """What is missing is named with it."""
    assert COMMAND.search(install_group("triton"))
    assert COMMAND.search(install_group("vision", "-U"))


def test_a_command_without_the_upgrade_is_noticed() -> None:
    """Alone, or with other requirements."""
    for command in ("pip install --group page", "pip install -r requirements.txt --group ci"):
        assert not COMMAND.search(f"python -m {command}")
        assert COMMAND.search(f"python -m pip install -U pip && python -m {command}")
