"""The git commands, called from the root of the checkout: ``python -m plugins.reset``.

guard.yml runs the base branch's ``python -m plugins.guard`` with Python and git alone, and a fork
may be brought up to date before anything is installed.
"""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from plugins import ROOT
from tests.support.fork import EXERCISE
from tests.support.fork import STUB
from tests.support.fork import Fork
from tests.support.fork import git


if TYPE_CHECKING:
    from pathlib import Path


COMMANDS = ("reset", "update", "practice", "guard")
ABSENT = ("pytest", "_pytest", "torch", "hypothesis")
ALONE = f"""
import runpy, sys
sys.modules.update(dict.fromkeys({ABSENT}))
sys.path.insert(0, "")
sys.argv = ["", *sys.argv[2:]]
"""
RUN = "runpy.run_module(NAME, run_name='__main__', alter_sys=True)"


def run_alone(code: str, *arguments: str) -> str:
    """Run code in a Python that has none of the packages; return what it prints."""
    command = [sys.executable, "-c", ALONE + code, "", *arguments]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_needs_python_and_git_alone(name: str) -> None:
    """Its help shows the name that it was called by."""
    out = run_alone(RUN.replace("NAME", f"'plugins.{name}'"), "--help")

    assert f"python -m plugins.{name} " in out


def test_each_module_behind_the_commands_is_importable_alone() -> None:
    """Importing a command's own module runs nothing."""
    files = (ROOT / "plugins/fork").glob("*.py")
    names = [f"plugins.fork.{file.stem}" for file in files if file.stem != "__init__"]
    names += [f"plugins.{name}" for name in COMMANDS]
    code = f"import importlib\nfor name in {names}: importlib.import_module(name)\n"

    assert "" == run_alone(code)


def test_the_guard_judges_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in its workflow: in a checkout of upstream, with an answer in Python to fetch."""
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)
    fork = Fork(tmp_path)
    fork.commit({EXERCISE: STUB.replace("# TODO", "# TODO\n    return 2 * n")})
    git(fork.root, "push", "-q", "upstream", "HEAD:refs/pull/1/head")
    arguments = ["--base", "HEAD", "--fetch", "refs/pull/1/head"]
    code = "from pathlib import Path\nfrom plugins.fork.pullrequest import main\n"
    out = run_alone(f"{code}print(main({arguments}, Path({str(fork.authors)!r})))")

    assert out.startswith("## These are answers to exercises")
    assert out.endswith("\n1\n")


def test_a_package_that_is_blocked_is_missed() -> None:
    """Without the block, the tests above could not fail."""
    with pytest.raises(subprocess.CalledProcessError) as error:
        run_alone("import plugins.course.session")

    assert "ModuleNotFoundError: import of pytest halted" in error.value.stderr
