"""Split one commit into a stack of three, and stack it anew after a review.

A reviewer reads 40 lines now, and puts 400 off. Branch ``leaky`` is one commit above
``upstream/main`` that does three things. Make it a stack, a branch for each pull request:

    stack/3   Explain which activation to take      docs/choosing.md, README.md
    stack/2   Add leaky_relu                        its five files
    stack/1   Give relu its slope by an argument    tinytorch/kernels.py, upper half
    upstream/main

1. `split`: three commits with these subjects, each green by itself, about 10 lines.
2. `restack`: upstream has moved, and the review of stack/1 wants `OLD` to be `NEW` in kernels.py.
   Move all three branches, 4 lines.

Begin: ``git reset upstream/main`` keeps the files and forgets the commit. ``git add -p`` asks hunk
by hunk, in kernels.py for relu's, then leaky_relu's; ``run(line, typed=...)`` answers: a letter and
a new line each time. For `restack`, read about ``--update-refs`` in ``git help rebase``.
Afterwards read ``get_ghstack_prs`` in ``.github/scripts/trymerge.py``: to merge a pull request
made with ghstack is to merge those below it too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from katas.lecture28.repository import Run


OLD, NEW = "slope * x elsewhere.", "slope * x elsewhere, zero included."


def split(run: Run) -> None:
    """Make the branches in the clone, where ``leaky`` is checked out and stays where it is.

    ``run("git log -3")`` runs one command and returns its output, without a shell; quotes work. A
    command that fails is a `GitError`.
    """
    # TODO: a branch, what belongs to it, a commit; three times.
    raise NotImplementedError("split")


def restack(run: Run) -> None:
    """Mend the lowest commit and put the stack on upstream's newest; ``stack/3`` is checked out.

    ``run.replace("tinytorch/kernels.py", OLD, NEW)`` edits the file. The clone does not know yet
    that upstream has moved. The branches are in no remote, and checked out in no other worktree,
    where ``--update-refs`` would leave them.
    """
    # TODO: a fixup of which commit? Then one rebase, which by itself moves only stack/3.
    raise NotImplementedError("restack")
