"""Tests of k02_rebase: the branch that a reviewer sees, and the refs that you must not move."""

from __future__ import annotations

from typing import TYPE_CHECKING

from katas.lecture28.k02_rebase import MORE
from katas.lecture28.k02_rebase import SAMPLES
from katas.lecture28.k02_rebase import answer
from katas.lecture28.repository import GRACE
from katas.lecture28.repository import YOU
from katas.lecture28.repository import Branch
from katas.lecture28.repository import Commit
from katas.lecture28.repository import build
from katas.lecture28.repository import edit
from katas.lecture28.repository import newest
from katas.lecture28.repository import with_sigmoid


if TYPE_CHECKING:
    from pathlib import Path

    from katas.lecture28.conftest import Kept
    from katas.lecture28.repository import Clone
    from katas.lecture28.repository import Logged
    from katas.lecture28.repository import Tree


DOCS, KERNELS, OPINFO = "docs/ops.md", "tinytorch/kernels.py", "test/opinfo.py"
CI = ".github/workflows/ci.yaml"
CODEGEN, LAST = "tools/codegen.py", '    return "\\n".join(lines)\n'
NAIVE = "[1 / (1 + math.exp(-x)) for x in self]"
STABLE = "[math.exp(min(x, 0.0)) / (1 + math.exp(-abs(x))) for x in self]"
SUBJECTS = ["Add sigmoid", "Keep sigmoid from overflowing"]
WHERE = "git log --oneline upstream/main.. shows what a reviewer sees"


def branch() -> Branch:
    """Return the branch as it is before the answer."""
    red = with_sigmoid(newest(), leave=(DOCS,))
    printing = edit(red, CODEGEN, LAST, f"    print(lines)\n{LAST}")
    stable = edit(printing, KERNELS, NAIVE, STABLE)
    docs = {**stable, DOCS: with_sigmoid(newest())[DOCS]}
    commits = (
        Commit("Add sigmoid\n\nModels with gates need it.", red, GRACE),
        Commit("Print what is generated", printing, YOU),
        Commit("Keep sigmoid from overflowing\n\nexp(1000) raises.", stable, YOU),
        Commit("fixup! Add sigmoid", docs, GRACE),
    )
    return Branch("sigmoid", commits, base=-3, where=("clone", "fork"))


def upstreams() -> list[Tree]:
    """Return the files of upstream's two commits that the clone has not fetched."""
    zero = edit(newest(), DOCS, "zero for the others.", "zero for the others, NaN among them.")
    return [zero, edit(zero, CI, "checkout@v4\n", "checkout@v4\n      - run: python --version\n")]


def rebased(folder: Path) -> Clone:
    """Return the clone after the answer."""
    __tracebackhide__ = True
    zero, python = upstreams()
    clone = build(
        folder,
        branch(),
        main=(Commit("Say what relu does with NaN", zero), Commit("Log the Python of CI", python)),
        seen=12,
        checkout="sigmoid",
    )
    answer(clone.run)
    return clone


def commits_of(clone: Clone) -> list[Logged]:
    """Return the commits of the pull request, which are not in upstream's main."""
    __tracebackhide__ = True
    newest_one = clone.upstream.git("rev-parse", "main")
    assert newest_one == clone.refs()["refs/remotes/upstream/main"], (
        "upstream has commits that your clone does not have: fetch before you rebase on it"
    )
    assert not clone.busy(), f"your {clone.busy()} is not finished: see git status"
    return clone.log("upstream/main..sigmoid")


def test_it_stands_on_upstreams_newest(kept: Kept) -> None:
    """The commits form a straight line without a merge: CI tests exactly what will be merged."""
    clone = kept(rebased)
    yours = commits_of(clone)
    merges = [str(each) for each in yours if len(each.parents) != 1]
    assert not merges, f"your branch has the merge {merges}, expected a rebase: {WHERE}"
    common = clone.git("merge-base", "upstream/main", "sigmoid")
    assert common == clone.refs()["refs/remotes/upstream/main"], (
        "your sigmoid branches off before upstream/main's newest commit, expected it on top"
    )


def test_two_commits(kept: Kept) -> None:
    """The branch has no fixup, and no print and its removal: the reviewer reads two changes."""
    yours = [each.subject for each in commits_of(kept(rebased))]
    assert yours == SUBJECTS, f"your commits are {yours}, expected {SUBJECTS}: {WHERE}"


def test_each_commit_passes(kept: Kept) -> None:
    """Each commit passes the tests, because ``git bisect`` may stop at any of them."""
    clone = kept(rebased)
    yours = commits_of(clone)
    assert len(yours) == len(SUBJECTS), (
        f"your branch has {len(yours)} commits, expected two: {WHERE}"
    )
    for each in yours:
        said = clone.ci(each.sha)
        assert not said, f"CI is red for {each}, expected green:\n{said}"


def test_each_change_is_in_its_commit(kept: Kept) -> None:
    """The docs come with the operator, and the sample with the fix it tests."""
    clone = kept(rebased)
    first, second = commits_of(clone)
    before = with_sigmoid(newest())
    for path in (KERNELS, OPINFO):
        yours = clone.show(first.sha, path)
        assert before[path] == yours, (
            f"{path} in your {first} differs from Grace's version, expected neither the"
            f" stable kernel nor your sample there:\n{clone.git('show', first.sha, '--', path)}"
        )
    changed = clone.changed(second.sha)
    assert sorted([KERNELS, OPINFO]) == sorted(changed), (
        f"your {second} changes {changed}, expected {KERNELS} and {OPINFO}"
    )


def test_the_files_at_the_end(kept: Kept) -> None:
    """The files have the changes of both branches, without the print."""
    clone = kept(rebased)
    commits_of(clone)
    expected = with_sigmoid(upstreams()[-1])
    expected = edit(expected, KERNELS, NAIVE, STABLE)
    expected = edit(expected, OPINFO, SAMPLES, MORE)
    yours = {path: clone.show("sigmoid", path) for path in clone.files("sigmoid")}
    for path in sorted(expected.keys() | yours.keys()):
        assert expected.get(path) == yours.get(path), (
            f"your {path}, expected everything upstream has, the sample at -1000, the kernel and"
            " no print:\n" + clone.git("diff", "upstream/main", "sigmoid", "--", path)
        )
    assert not clone.status(), f"git status shows\n{clone.status()}\nexpected nothing"


def test_grace_is_still_the_author(kept: Kept) -> None:
    """A rebase keeps the author; a reset with a new commit makes you the author."""
    clone = kept(rebased)
    commits = commits_of(clone)
    authors = [each.author for each in commits]
    assert [GRACE, YOU] == authors, f"your commits' authors are {authors}, expected Grace, then you"
    bodies = [each.body for each in commits]
    assert bodies == ["Models with gates need it.", "exp(1000) raises."], (
        f"your commits' bodies are {bodies}, expected the original bodies, which give the reason"
    )


def test_upstream_is_not_rewritten(kept: Kept) -> None:
    """Others have upstream's commits, and you may not push there."""
    clone = kept(rebased)
    commits_of(clone)
    expected, yours = clone.upstream.before, clone.upstream.refs()
    assert expected == yours, (
        f"upstream has {yours} after your answer, expected {expected}, as before: push to origin"
    )


def test_the_pull_request_has_it(kept: Kept) -> None:
    """The reviewer sees your fork, not your clone; rewritten commits need a forced push."""
    clone = kept(rebased)
    commits_of(clone)
    yours = clone.fork.refs().get("refs/heads/sigmoid")
    assert clone.refs()["refs/heads/sigmoid"] == yours, (
        "sigmoid in your fork differs from the one in your clone: push it to origin"
    )
