"""Clean up a branch before you ask for a review.

You and Grace share a pull request, two commits behind upstream:

    Add sigmoid                        Grace; CI is red: it has no docs
    Print what is generated            a debugging print
    Keep sigmoid from overflowing      yours; review: "test it at -1000, please"
    fixup! Add sigmoid                 the docs

Turn it into two green commits on top of upstream's newest, with Grace still the author of hers.
About 6 lines:

1. Add the sample (`SAMPLES` becomes `MORE`) in a fixup of your commit.
2. Drop the print. No editor opens here: ``git rebase -i`` uses its list unchanged.
3. Rebase with ``-i --autosquash``, which moves fixups to their commits.
4. Push to ``origin`` with ``--force-with-lease``, because the commits are new.

Begin on paper: write the list that ``git rebase -i`` shows, and the list you want. Which option
runs the tests after each commit?
Afterwards read ``rebase_onto`` in ``.github/scripts/tryrebase.py``: PyTorch's bot rebases and
pushes a pull request there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from katas.lecture28.repository import Run


# From test/opinfo.py.
SAMPLES = "math.tanh(a / 2), (([1.5,"
MORE = "math.tanh(a / 2), (([-1000.0, 1.5,"


def answer(run: Run) -> None:
    """Rewrite ``sigmoid``, which is checked out in the clone and pushed to ``origin``.

    ``run("git log -3")`` runs one command and returns its output, without a shell; quotes work. A
    failing command raises `GitError`. ``run.replace(path, SAMPLES, MORE)`` edits a file. Upstream
    has new commits, which the clone has not fetched.
    """
    # TODO: counted from HEAD, which commit is the print, once you have added the fixup?
    raise NotImplementedError("answer")
