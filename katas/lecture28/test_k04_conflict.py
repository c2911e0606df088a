"""Tests of k04_conflict: what remains of both sides after the rebase."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from katas.lecture28.k04_conflict import answer
from katas.lecture28.repository import GRACE
from katas.lecture28.repository import YOU
from katas.lecture28.repository import Branch
from katas.lecture28.repository import Commit
from katas.lecture28.repository import build
from katas.lecture28.repository import newest
from katas.lecture28.repository import with_sigmoid
from katas.lecture28.repository import with_tanh


if TYPE_CHECKING:
    from pathlib import Path

    from katas.lecture28.conftest import Kept
    from katas.lecture28.repository import Clone


DOCS = "docs/ops.md"
COUNT = "-tinytorch has 6 operators."
# These include the middle marker of the diff3 conflict style.
MARKER = re.compile(r"^(?:<{7}|={7}|>{7}|\|{7}).*$", re.MULTILINE)


def rebased(folder: Path) -> Clone:
    """Return the clone after the answer."""
    __tracebackhide__ = True
    clone = build(
        folder,
        Branch("sigmoid", (Commit("Add sigmoid", with_sigmoid(newest()), YOU),), base=-2),
        main=(Commit("Add tanh", with_tanh(newest()), GRACE),),
        checkout="sigmoid",
    )
    answer(clone.run)
    return clone


def test_the_rebase_is_done(kept: Kept) -> None:
    """No rebase is in progress, and your fixes are in the commit."""
    clone = kept(rebased)
    assert not clone.busy(), (
        f"your {clone.busy()} is not finished: git rebase --continue, after git add"
    )
    yours = clone.status()
    assert not yours, f"git status shows\n{yours}\nexpected a clean tree: everything committed"


def test_it_stands_on_upstream(kept: Kept) -> None:
    """Your one commit is on upstream's newest commit: no merge, and main unchanged."""
    clone = kept(rebased)
    yours = clone.log("upstream/main..sigmoid")
    assert ["Add sigmoid"] == [each.subject for each in yours], (
        f"above upstream/main your branch has {[*map(str, yours)]}, expected your one commit"
    )
    newest_one = clone.upstream.refs()["refs/heads/main"]
    assert (newest_one,) == yours[0].parents, "your commit's parent is not upstream's newest commit"
    assert yours[0].author == YOU, f"your commit's author is {yours[0].author}, expected {YOU}"
    assert newest_one == clone.refs()["refs/heads/main"], (
        "your main has moved, expected it unchanged"
    )


def test_both_sides_are_there(kept: Kept) -> None:
    """Both operators are in each of the five files that both sides changed."""
    clone = kept(rebased)
    expected = clone.changed("upstream/main")
    paths = clone.git("diff", "--name-only", "upstream/main", "sigmoid").split()
    assert expected == paths, f"your commit changes {paths}, expected {expected}"
    for path in expected:
        yours = clone.show("sigmoid", path)
        left = MARKER.findall(yours)
        assert not left, f"your {path} still has {left}"
        lost = [name for name in ("tanh", "sigmoid") if name not in yours]
        assert not lost, f"your {path} has no {' and no '.join(lost)}: expected both sides"


def test_upstream_loses_nothing(kept: Kept) -> None:
    """Your commit only adds lines, except that it replaces the number in the docs."""
    clone = kept(rebased)
    diff = clone.git("diff", "-U0", "upstream/main", "sigmoid").splitlines()
    yours = [line for line in diff if line.startswith("-") and not line.startswith("---")]
    others = [line for line in yours if not line.startswith(COUNT)]
    assert not others, (
        "your commit removes these lines of upstream's, expected it only to add yours:\n"
        + "\n".join(others)
    )


def test_ci_passes(kept: Kept) -> None:
    """Git compares lines: if both sides change 5 to 6, it sees no conflict."""
    clone = kept(rebased)
    said = clone.ci("sigmoid")
    assert not said, f"CI is red for your commit, expected green:\n{said}"
    docs = clone.show("upstream/main", DOCS).splitlines()
    expected = next(line for line in docs if line.startswith(COUNT[1:])).replace("6", "7")
    assert expected in clone.show("sigmoid", DOCS).splitlines(), (
        f"{DOCS} does not contain the line {expected!r}"
    )


def test_each_line_is_there_once(kept: Kept) -> None:
    """Each file has one operator after the other, in either order, and no leftovers."""
    clone = kept(rebased)
    both = [with_sigmoid(with_tanh(newest())), with_tanh(with_sigmoid(newest()))]
    for path in clone.changed("sigmoid"):
        yours = filled(clone.show("sigmoid", path))
        expected = [filled(tree[path]) for tree in both]
        assert yours in expected, (
            f"your {path} is not one side followed by the other, expected"
            " upstream's lines and yours, each once:\n"
            + clone.git("diff", "upstream/main", "sigmoid", "--", path)
        )


def filled(text: str) -> list[str]:
    """Return the lines that are not blank."""
    return [line for line in text.splitlines() if line.strip()]
