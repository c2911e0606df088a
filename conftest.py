"""The pytest plugins of the course, in the order in which pytest loads them.

First what a verdict on a kata needs, then what a learner's session needs beside it. The gate
sets ``KATAS_VERDICT`` and loads the first alone: nothing of a learner's session can change a
proof, and no proof changes what is stored of the learner. `plugins` has the map of the wings.

Two things depend on the order. A plugin stands after those that it imports, so that pytest can
rewrite the asserts of all. And of several plugins that answer one hook first (``tryfirst``),
pluggy calls the one that was registered last: the last line below has the first word.
``pytest_cmdline_main`` is answered, in this order, by

1. `ranks.job`, a wrapper: which process of a job this is must be known before one forks;
2. `course.session`, a wrapper: the names of katas become paths before other plugins read them;
3. `machine.edition`, which stops what could not import the katas;
4. `loop.watch`, which stays, and forks the sessions for which the others answer then;
5. `progress.page`, `progress.export`, `loop.reference` and `loop.hint`, which show something and
   run nothing, so that no crash needs a guard;
6. `guide.neighbours`, which turns off what other packages would show in the place of pytest;
7. `crash.plugin`, which forks the process that runs the tests.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    import pytest


VERDICT = (
    "plugins.course.session",
    "plugins.course.collector",
    "plugins.course.limits",
    "plugins.course.solutions",
    "plugins.course.seeds",
    "plugins.machine.absent",
    "plugins.machine.torchversion",
    "plugins.machine.devices",
    "plugins.machine.builtin",
    "plugins.machine.poison",
    "plugins.machine.backends",
    "plugins.native.backends",
    "plugins.ranks.backends",
    "plugins.ranks.job",
    "plugins.ranks.world",
    "plugins.native.plugin",
    "plugins.cuda.simt",
    "plugins.cuda.triton",
    "plugins.cuda.triton_interpreter",
    "plugins.cuda.triton_compiled",
    "plugins.cuda.nvcc",
    "plugins.cuda.ptx",
)
SESSION = (
    "plugins.native.ahead",
    "plugins.crash.plugin",
    "plugins.crash.pipe",
    "plugins.machine.profiler",
    "plugins.machine.deprecations",
    "plugins.guide.episodes",
    "plugins.guide.marks",
    "plugins.guide.failures",
    "plugins.guide.summary",
    "plugins.guide.neighbours",
    "plugins.progress.plugin",
    "plugins.loop.next",
    "plugins.loop.hint",
    "plugins.loop.reference",
    "plugins.progress.export",
    "plugins.progress.page",
    "plugins.loop.watch",
    "plugins.machine.edition",
)
pytest_plugins = VERDICT if os.environ.get("KATAS_VERDICT") else VERDICT + SESSION


def pytest_plugin_registered(plugin: object, manager: pytest.PytestPluginManager) -> None:
    """Import the plugins when this file is registered, just before pytest would.

    For each name that it finds in `pytest_plugins`, pytest 9.2 reads the entry points of every
    package that is installed: that is half of its start.
    """
    if getattr(plugin, "__file__", None) == __file__:
        try:
            for name in pytest_plugins:
                manager.import_plugin(name)
        except KeyboardInterrupt:
            # Before there is a session pytest would show a hundred lines of its own.
            sys.stderr.write("\n!!! KeyboardInterrupt !!!\n")
            sys.exit(2)
