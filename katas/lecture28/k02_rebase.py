"""Make a branch readable before you ask for its review.

A pull request of Grace and you, behind its upstream by two commits:

    Add sigmoid                        Grace; CI is red: it has no docs
    Print what is generated            a print that was not to stay
    Keep sigmoid from overflowing      yours; review: "test it at -1000, please"
    fixup! Add sigmoid                 the docs

Make it two commits on upstream's newest, each green, Grace's still hers. About 6 lines:

1. Add the sample, `SAMPLES` to `MORE`, by a commit of its own, a fixup of yours.
2. Drop the print. No editor opens here: ``git rebase -i`` takes its list as it is.
3. Rebase with ``-i --autosquash``, which moves fixups to where they belong.
4. Push to ``origin``, by force, with lease: the commits are new ones.

Begin on paper: write the list that ``git rebase -i`` shows, and the one that you want. Which
option runs the tests after each commit?
Afterwards read ``rebase_onto`` in ``.github/scripts/tryrebase.py``: how PyTorch's bot rebases a
pull request, and pushes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from katas.lecture28.repository import Run


# Of test/opinfo.py.
SAMPLES = "math.tanh(a / 2), (([1.5,"
MORE = "math.tanh(a / 2), (([-1000.0, 1.5,"


def answer(run: Run) -> None:
    """Rewrite ``sigmoid``, which is checked out in the clone and pushed to ``origin``.

    ``run("git log -3")`` runs one command and returns its output, without a shell; quotes work. A
    command that fails is a `GitError`. ``run.replace(path, SAMPLES, MORE)`` edits a file. Upstream
    has moved on, and the clone does not know it yet.
    """
    # TODO: what is the print's commit called from HEAD, after the fixup that you add?
    raise NotImplementedError("answer")
