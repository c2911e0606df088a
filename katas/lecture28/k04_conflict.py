"""Resolve a conflict so that neither side is lost.

Your branch adds sigmoid, upstream has added tanh, each at the end of five files:

    <<<<<<< HEAD
    ## tanh
    =======
    ## sigmoid
    >>>>>>> 7df7341 (Add sigmoid)

``-X ours`` or ``-X theirs`` ends the conflict, and one operator.

Rebase ``sigmoid`` on ``upstream/main`` with both, about 6 lines.

Begin: remove the markers, then ask ``python test/run.py``. Where git reports no conflict, is the
line right?
Afterwards look at ``aten/src/ATen/native/native_functions.yaml``, on your disk as
``torchgen/packaged/ATen/native/native_functions.yaml``: each new operator edits it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from katas.lecture28.repository import Run


MARKER = re.compile(r"^(?:<{7}|={7}|>{7}).*\n", re.MULTILINE)


def answer(run: Run) -> None:
    """Rebase in the clone, where ``sigmoid`` is checked out, until it is done.

    The clone knows upstream's newest. Blank lines between operators do not count. A command that
    fails is a `GitError`, unless ``run(line, check=False)``. ``run.read(path)``,
    ``run.write(path, text)`` and ``run.replace(path, old, new)`` edit files.
    """
    # TODO: start the rebase, mend each file in conflict and one other place, go on.
    raise NotImplementedError("answer")
