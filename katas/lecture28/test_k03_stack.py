"""Tests of k03_stack: each pull request of the stack, as its reviewer sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from katas.lecture28.k03_stack import NEW
from katas.lecture28.k03_stack import OLD
from katas.lecture28.k03_stack import restack
from katas.lecture28.k03_stack import split
from katas.lecture28.repository import YOU
from katas.lecture28.repository import Branch
from katas.lecture28.repository import Commit
from katas.lecture28.repository import build
from katas.lecture28.repository import edit
from katas.lecture28.repository import newest
from katas.lecture28.repository import with_operator


if TYPE_CHECKING:
    from pathlib import Path

    from katas.lecture28.conftest import Kept
    from katas.lecture28.repository import Clone
    from katas.lecture28.repository import Logged
    from katas.lecture28.repository import Tree


KERNELS, README, CHOOSING = "tinytorch/kernels.py", "README.md", "docs/choosing.md"
OWNERS = ".github/CODEOWNERS"
FIVE = sorted(
    f"{name}"
    for name in (
        *("docs/ops.md", "test/opinfo.py", "tinytorch/derivatives.yaml", KERNELS),
        "tinytorch/native_functions.yaml",
    )
)
BRANCHES = ["stack/1", "stack/2", "stack/3"]
SUBJECTS = [
    "Give relu its slope by an argument",
    "Add leaky_relu",
    "Explain which activation to take",
]
FILES = [[KERNELS], FIVE, [README, CHOOSING]]
HELPER = f'''def sloped(x: float, slope: float) -> float:
    """Return x where it is positive, and {OLD}"""
    return x if x > 0 else slope * x


'''
PAGE = """# Which activation to take

relu is cheap, and stops learning where its input is negative; leaky_relu does not.
"""


def stages() -> list[Tree]:
    """Return the files of upstream's main and of each branch of the stack."""
    first = edit(newest(), KERNELS, "def relu_cpu", f"{HELPER}def relu_cpu")
    first = edit(
        first, KERNELS, "[x if x > 0 else 0.0 for x in self]", "[sloped(x, 0.0) for x in self]"
    )
    second = with_operator(
        first,
        "leaky_relu",
        kernel="[sloped(x, 0.01) for x in self]",
        formula='"[g if x > 0 else 0.01 * g for g, x in zip(grad, self)]"',
        reference="lambda a: max(a, 0.01 * a)",
        doc="Returns each element that is positive, and a hundredth of the others.",
    )
    third = {**second, CHOOSING: PAGE, README: newest()[README] + f"\nSee {CHOOSING}.\n"}
    return [newest(), first, second, third]


def owners() -> str:
    """Return the files after upstream's change to CODEOWNERS."""
    return newest()[OWNERS] + "/docs/  @grace\n"


def stacked(folder: Path) -> Clone:
    """Return the clone after `split`."""
    __tracebackhide__ = True
    everything = Commit("Add leaky_relu, a helper for slopes and a page", stages()[-1], YOU)
    clone = build(folder, Branch("leaky", (everything,)), checkout="leaky")
    split(clone.run)
    return clone


def restacked(folder: Path) -> Clone:
    """Return the clone after `restack`, which gets a correct stack."""
    __tracebackhide__ = True
    below: list[int | str] = [-2, *BRANCHES[:2]]
    branches = [
        Branch(name, (Commit(subject, tree, YOU),), base)
        for name, subject, tree, base in zip(BRANCHES, SUBJECTS, stages()[1:], below, strict=True)
    ]
    clone = build(
        folder,
        *branches,
        main=(Commit("Let Grace review the docs", {**newest(), OWNERS: owners()}),),
        seen=12,
        checkout="stack/3",
    )
    restack(clone.run)
    return clone


def stack_of(clone: Clone) -> list[Logged]:
    """Return the commits of the three branches, each one above the previous."""
    __tracebackhide__ = True
    assert not clone.busy(), f"your {clone.busy()} is not finished: see git status"
    missing = {f"refs/heads/{name}" for name in BRANCHES} - clone.refs().keys()
    assert not missing, f"your clone has no {', '.join(sorted(missing))}"
    found = []
    for below, name in zip(["upstream/main", *BRANCHES], BRANCHES, strict=False):
        commits = clone.log(f"{below}..{name}")
        assert len(commits) == 1, (
            f"your {name} has {len(commits)} commits above {below}, expected one for the"
            f" reviewer: {[*map(str, commits)]}"
        )
        parent = clone.git("rev-parse", below)
        assert commits[0].parents == (parent,), (
            f"your {name} is not based on {below}, expected one above the other"
        )
        found += commits
    return found


def test_split_makes_a_stack(kept: Kept) -> None:
    """Three branches with one commit each, one above the other."""
    yours = [each.subject for each in stack_of(kept(stacked))]
    assert yours == SUBJECTS, f"your subjects are {yours}, expected {SUBJECTS}"


def test_split_gives_each_its_files(kept: Kept) -> None:
    """Each commit has its files; two commits change kernels.py, the lower one its upper hunk."""
    clone = kept(stacked)
    for commit, files in zip(stack_of(clone), FILES, strict=True):
        yours = sorted(clone.changed(commit.sha))
        assert sorted(files) == yours, f"your {commit} changes {yours}, expected {files}"
    first = clone.show("stack/1", KERNELS)
    assert stages()[1][KERNELS] == first, (
        "kernels.py in stack/1, expected only sloped and relu, yours:\n"
        + clone.git("diff", "upstream/main", "stack/1")
    )


def test_split_is_green_throughout(kept: Kept) -> None:
    """Each commit is green on its own: the lowest is merged first, perhaps alone."""
    clone = kept(stacked)
    for commit in stack_of(clone):
        said = clone.ci(commit.sha)
        assert not said, f"CI is red for {commit}, expected green:\n{said}"


def test_split_loses_nothing(kept: Kept) -> None:
    """The top of the stack has the files of the old commit, which itself stays."""
    clone = kept(stacked)
    stack_of(clone)
    apart = clone.git("diff", "--stat", "leaky", "stack/3")
    assert not apart, f"your stack/3 differs from leaky, expected the same files:\n{apart}"
    expected, yours = clone.before["refs/heads/leaky"], clone.git("rev-parse", "leaky")
    assert expected == yours, (
        f"your leaky is at {yours}, expected {expected}, where it was: you need it if the"
        " split goes wrong"
    )
    assert not clone.status(), f"git status shows\n{clone.status()}\nexpected nothing"


def test_restack_keeps_the_stack(kept: Kept) -> None:
    """The stack is on upstream's newest commit, and the branches in the middle have moved too."""
    clone = kept(restacked)
    assert clone.refs()["refs/remotes/upstream/main"] == clone.upstream.git("rev-parse", "main"), (
        "upstream has a commit that your clone does not have: fetch before you rebase"
    )
    yours = [each.subject for each in stack_of(clone)]
    assert yours == SUBJECTS, f"your subjects are {yours}, expected {SUBJECTS}"


def test_restack_mends_the_lowest(kept: Kept) -> None:
    """The change is in stack/1, as the reviewer asked, and thereby in the branches above it."""
    clone = kept(restacked)
    for commit, files in zip(stack_of(clone), FILES, strict=True):
        yours = clone.show(commit.sha, KERNELS)
        assert NEW in yours, f"kernels.py in your {commit} does not contain {NEW!r}"
        changed = sorted(clone.changed(commit.sha))
        assert sorted(files) == changed, f"your {commit} changes {changed}, expected {files}"
    for name, tree in zip(BRANCHES, stages()[1:], strict=True):
        for path, text in {**tree, OWNERS: owners()}.items():
            expected = text.replace(OLD, NEW) if path == KERNELS else text
            assert expected == clone.show(name, path), (
                f"{path} in your {name}, expected only the docstring to change:"
                f" yours\n{clone.git('diff', 'upstream/main', name, '--', path)}"
            )


def test_restack_is_green_throughout(kept: Kept) -> None:
    """After a restack, every commit passes CI, from bottom to top."""
    clone = kept(restacked)
    for commit in stack_of(clone):
        said = clone.ci(commit.sha)
        assert not said, f"CI is red for {commit}, expected green:\n{said}"


def test_restack_leaves_upstream_alone(kept: Kept) -> None:
    """A stack is rebased on upstream but not pushed to it."""
    clone = kept(restacked)
    stack_of(clone)
    expected, yours = clone.upstream.before, clone.upstream.refs()
    assert expected == yours, f"upstream has {yours} after your answer, expected {expected}"
    assert not clone.status(), f"git status shows\n{clone.status()}\nexpected nothing"
