"""Make a commit that can be reviewed in a minute.

tinytorch's ``docs/ops.md`` describes relu wrongly: issue #17. While investigating, you left things
behind:

    $ git status --short
     M tinytorch/kernels.py      a print
    ?? notes.txt                 your own

``git commit -am "fixed docs"`` would include the print, and commit to ``main``.

Commit the corrected file on a branch ``relu-docs``, in about 4 lines.

First look around: ``python -m katas.lecture28.conftest ~/tiny`` creates the repositories, with a
CONTRIBUTING.md about messages. Write a body too, and end your message with the line "Fixes #17".
Afterwards read the first line of ``.github/PULL_REQUEST_TEMPLATE.md`` in PyTorch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from katas.lecture28.repository import Run


WRONG, RIGHT = "and one for the others", "and zero for the others"


def answer(run: Run) -> None:
    """Commit the fix in the clone; leave `main`, the print and the notes as they are.

    ``run("git log -3")`` runs one command and returns its output, without a shell; quotes work.
    ``run.replace(path, WRONG, RIGHT)`` edits a file.
    """
    # TODO: a branch, an edit, the files to commit, and a message with the reason.
    raise NotImplementedError("answer")
