"""Resolve a conflict so that neither side is lost.

Your branch adds sigmoid and upstream has added tanh, both at the end of the same five files:

    <<<<<<< HEAD
    ## tanh
    =======
    ## sigmoid
    >>>>>>> 7df7341 (Add sigmoid)

``-X ours`` or ``-X theirs`` ends the conflict, but drops one operator.

Rebase ``sigmoid`` on ``upstream/main`` and keep both, about 6 lines.

Begin: remove the markers, then run ``python test/run.py``. Is every line right where git reports no
conflict?
Afterwards look at ``aten/src/ATen/native/native_functions.yaml``, on your disk as
``torchgen/packaged/ATen/native/native_functions.yaml``: each operator has an entry there.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from katas.lecture28.repository import Run


MARKER = re.compile(r"^(?:<{7}|={7}|>{7}).*\n", re.MULTILINE)


def answer(run: Run) -> None:
    """Complete the rebase in the clone, where ``sigmoid`` is checked out.

    The clone has upstream's newest. Blank lines between operators do not matter. A failing command
    raises `GitError`, unless you call ``run(line, check=False)``. ``run.read(path)``,
    ``run.write(path, text)`` and ``run.replace(path, old, new)`` edit files.
    """
    # TODO: start the rebase, fix each file in conflict and one other place, continue.
    raise NotImplementedError("answer")
