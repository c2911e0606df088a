"""The commands about git and the feed need no pytest, no torch, and no other package to start.

The workflow guard.yml runs ``python -m plugins.guard`` with only Python and git.
"""

from __future__ import annotations

import subprocess
import sys

from plugins import HERE
from plugins import ROOT


# The wings of these commands and those that they import from, and the modules run by name.
WINGS = ("course", "feed", "fork", "guide", "tools")
ENTRIES = ("guard", "practice", "reset", "update")
# pytest plugins, and modules that only plugins use.
NEED_PYTEST = {
    "plugins.course.collector",
    "plugins.course.hooks",
    "plugins.course.limits",
    "plugins.course.notes",
    "plugins.course.seeds",
    "plugins.course.session",
    "plugins.course.solutions",
    "plugins.guide.episodes",
    "plugins.guide.failures",
    "plugins.guide.marks",
    "plugins.guide.neighbours",
    "plugins.guide.rows",
    "plugins.guide.summary",
    "plugins.guide.unraised",
    "plugins.tools.capability",
    "plugins.tools.preload",
    "plugins.tools.showing",
}
SCRIPT = """
import importlib
import sys

sys.path.insert(0, sys.argv[1])
for name in sys.argv[2:]:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        print(name, error.name)
"""


def test_what_the_commands_import_needs_python_alone() -> None:
    """All but the named modules can be imported without site-packages; those need pytest."""
    files = [file for wing in WINGS for file in sorted((HERE / wing).glob("*.py"))]
    names = [f"plugins.{file.parent.name}.{file.stem}" for file in files if file.stem != "__init__"]
    names += [f"plugins.{name}" for name in ENTRIES]
    command = [sys.executable, "-I", "-S", "-c", SCRIPT, str(ROOT), *names]

    done = subprocess.run(command, check=True, capture_output=True, text=True)

    assert sorted(f"{name} pytest" for name in NEED_PYTEST) == sorted(done.stdout.splitlines())
