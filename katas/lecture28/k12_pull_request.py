"""Open a pull request to this course, and keep your answers out of it.

You have practised on ``main`` of your fork. Now you find that the brief of a kata is wrong:

    A        upstream/main
    A---B    main, in your fork: B is your answer to lecture01/k01_strides

Mend the brief, `WRONG` to `RIGHT`, on a branch ``clearer-brief``, and push that to ``origin``; 4
lines.

First ask ``python -m plugins.guard --base upstream/main`` what your ``main`` would be.
Afterwards read about pull requests in this course's CONTRIBUTING.md; PyTorch's ``CONTRIBUTING.md``
begins with a link to its guide.
"""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from katas.lecture28.repository import Run


KATA = "katas/lecture01/k01_strides.py"
WRONG, RIGHT = "has strides (2, 1)", "has strides (3, 1)"


def answer(run: Run) -> None:
    """Push a contribution to the fork; `main` is checked out, with your answer, and stays.

    ``run("python -m plugins.guard --base upstream/main", check=False)`` returns what it prints, and
    ``run.replace`` edits a file. A branch made from ``upstream/main`` tracks it unless you say
    ``--no-track``, and git refuses a plain push: name the remote and the branch.
    """
    # TODO: where does a branch begin that has no answer of yours?
    raise NotImplementedError("answer")
