"""Split one commit into a stack of three, and restack it after a review.

A reviewer reads 40 lines now but postpones 400. On branch ``leaky``, a single commit above
``upstream/main`` does three things. Turn it into a stack, with a branch for each pull request:

    stack/3   Explain which activation to take      docs/choosing.md, README.md
    stack/2   Add leaky_relu                        its five files
    stack/1   Give relu its slope by an argument    tinytorch/kernels.py, upper half
    upstream/main

1. `split`: make three commits with these subjects, each green on its own, about 10 lines.
2. `restack`: upstream has moved, and the review of stack/1 wants `OLD` changed to `NEW` in
   kernels.py. Move all three branches, 4 lines.

Begin: ``git reset upstream/main`` keeps the files and forgets the commit. ``git add -p`` asks hunk
by hunk, in kernels.py for relu's, then leaky_relu's; answer with ``run(line, typed=...)``: a letter
and a newline each time. For `restack`, read about ``--update-refs`` in ``git help rebase``.
Afterwards read ``get_ghstack_prs`` in ``.github/scripts/trymerge.py``: merging a ghstack pull
request also merges those below it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from katas.lecture28.repository import Run


OLD, NEW = "slope * x elsewhere.", "slope * x elsewhere, zero included."


def split(run: Run) -> None:
    """Create the branches in the clone, where ``leaky`` is checked out; do not move ``leaky``.

    ``run("git log -3")`` runs one command and returns its output, without a shell; quotes work. A
    failing command raises `GitError`.
    """
    # TODO: three times: a branch, its changes, a commit.
    raise NotImplementedError("split")


def restack(run: Run) -> None:
    """Fix the lowest commit, rebase the stack on upstream's newest; ``stack/3`` is checked out.

    ``run.replace("tinytorch/kernels.py", OLD, NEW)`` edits the file. Upstream has a new
    commit, which the clone has not fetched. The branches are on no remote, and no other worktree
    has them checked out (``--update-refs`` would skip those).
    """
    # TODO: a fixup of which commit? Then one rebase, which by default moves only stack/3.
    raise NotImplementedError("restack")
