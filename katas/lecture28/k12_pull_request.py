"""Open a pull request to this course, and keep your answers out of it.

You have practised on ``main`` of your fork. Now you notice that a kata's brief is wrong:

    A        upstream/main
    A---B    main, in your fork: B is your answer to lecture01/k01_strides

Correct the brief (`WRONG` becomes `RIGHT`) on a branch ``clearer-brief``, and push it to
``origin``: 4 lines.

First run ``python -m plugins.guard --base upstream/main`` to see its verdict on your ``main``.
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
    """Push a contribution to the fork; leave `main`, which is checked out, as it is.

    ``run("python -m plugins.guard --base upstream/main", check=False)`` returns what it prints, and
    ``run.replace`` edits a file. A branch created from ``upstream/main`` tracks it without
    ``--no-track``, and git refuses a plain push: name the remote and the branch.
    """
    # TODO: where must a branch start so that it contains none of your answers?
    raise NotImplementedError("answer")
