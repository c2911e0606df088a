"""Tests of k11_bisect: real git histories of a layer that is sometimes wrong."""

from __future__ import annotations

import random
import shlex
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
import torch
from hypothesis import assume
from hypothesis import given
from hypothesis import strategies as st

from katas.lecture27.k11_bisect import culprit
from katas.lecture27.k11_bisect import git
from katas.lecture27.k11_bisect import repeats


if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


GOOD = "def scale(x, dice):\n    return x * 2\n"
FLAKY = "def scale(x, dice):\n    return x * (3 if dice.random() < {rate} else 2)\n"


class History:
    """A repository with commits numbered from 0; `flaky` is the first with the flaw."""

    def __init__(
        self,
        folder: Path,
        parents: list[list[int]],
        flaky: int,
        rate: float = 1.0,
        most: int = 60,
    ) -> None:
        self.folder, self.dice, self.runs = folder, random.Random(7), 0  # noqa: S311 - no secret
        self.seen: list[str] = []
        self.most = most
        git(folder, "init", "-q", "-b", "main")
        stream, bad = "", {flaky}
        for number, above in enumerate(parents):
            if bad.intersection(above):
                bad.add(number)
            text = FLAKY.format(rate=rate) if number in bad else GOOD
            text += f"# edition {number}\n"
            stream += f"commit refs/heads/main\nmark :{number + 1}\n"
            stream += f"committer A <a@example.org> {1700000000 + 60 * number} +0000\n"
            stream += f"data {len(f'edit {number}')}\nedit {number}\n"
            for place, parent in enumerate(above):
                stream += f"{'merge' if place else 'from'} :{parent + 1}\n"
            stream += f"M 100644 inline layer.py\ndata {len(text)}\n{text}\n"
        (folder / ".git" / "stream").write_text(stream, encoding="utf-8")
        marks = folder / ".git" / "marks"
        read, write = shlex.quote(str(folder / ".git" / "stream")), shlex.quote(str(marks))
        script = f"git fast-import --quiet --export-marks={write} < {read}"
        git(folder, "-c", f"alias.load=!{script}", "load")
        git(folder, "checkout", "-q", "-f", "main")
        rows = [line.split() for line in marks.read_text("utf-8").splitlines()]
        hashes = {int(mark[1:]) - 1: name for mark, name in rows}
        self.commits = [hashes[number] for number in range(len(parents))]

    def fails(self) -> bool:
        """Test the checked-out layer, with random numbers from the test's own generator."""
        self.runs += 1
        assert self.runs <= self.most, f"after {self.runs} runs your code has not finished"
        # While git bisects, HEAD is the hash of a commit.
        self.seen.append((self.folder / ".git" / "HEAD").read_text("utf-8").strip())
        names: dict[str, Callable[..., torch.Tensor]] = {}
        text = (self.folder / "layer.py").read_text(encoding="utf-8")
        exec(text, names)  # noqa: S102 - the layer of this history
        x = torch.tensor([2.0, 3.0]).sqrt()
        return not torch.equal(names["scale"](x, self.dice), x * 2)

    def state(self) -> list[str]:
        """Return the state that a search must restore."""
        refs = git(self.folder, "for-each-ref", "--format=%(refname) %(objectname)")
        return [refs, (self.folder / ".git" / "HEAD").read_text("utf-8"), self.status()]

    def status(self) -> str:
        """Return git's status of the work tree, and whether a bisection is in progress."""
        under_way = (self.folder / ".git" / "BISECT_START").exists()
        return git(self.folder, "status", "--porcelain") + ("bisecting" if under_way else "")

    def search(self, good: int, bad: int, runs: int) -> int:
        """Return the number of the commit that you blame."""
        found = culprit(self.folder, self.commits[good], self.commits[bad], self.fails, runs)
        assert found in self.commits, (
            f"your code returns {found!r}, expected the full hash of a commit"
        )
        return self.commits.index(found)


def line(count: int) -> list[list[int]]:
    """Return the parents of a history without branches."""
    return [[number - 1] if number else [] for number in range(count)]


def test_one_run_is_enough() -> None:
    """A test that fails in every run needs one run."""
    yours = repeats(1.0, 5, 0.01)
    assert yours == 1, f"yours {yours}, expected 1: with a rate of 1 no run passes"


def test_by_hand() -> None:
    """Half of the runs fail: two runs of a commit pass in 1 of 4 cases, three in 1 of 8."""
    yours = [repeats(0.5, 1, risk) for risk in (0.5, 0.3, 0.25, 0.2, 0.125)]
    assert yours == [1, 2, 2, 3, 3], (
        f"for risks from 0.5 down to 0.125: yours {yours}, expected [1, 2, 2, 3, 3]"
    )


def test_more_steps_want_more_runs() -> None:
    """A search is as safe as all of its steps together."""
    yours = [repeats(0.25, steps, 0.01) for steps in (1, 10)]
    assert yours[0] < yours[1], (
        f"yours {yours} for 1 and 10 steps, expected more for 10: one wrong step ruins a search"
    )


@given(
    st.fractions(Fraction(1, 10), 1, max_denominator=20),
    st.integers(1, 12),
    st.fractions(Fraction(1, 500), Fraction(1, 2), max_denominator=999),
)
def test_fewest(rate: Fraction, steps: int, risk: Fraction) -> None:
    """Exact fractions show that this many runs are safe, and one fewer is not."""
    missed = [1 - (1 - (1 - rate) ** runs) ** steps for runs in range(120)]
    # If a float cannot decide, either answer is right.
    assume(all(abs(chance - risk) > 1e-9 for chance in missed))
    expected = next(runs for runs in range(1, 120) if missed[runs] <= risk)
    yours = repeats(float(rate), steps, float(risk))
    assert yours == expected, (
        f"rate {rate}, {steps} steps, risk {risk}: yours {yours}, expected {expected}"
    )


@pytest.mark.parametrize("flaky", [1, 8, 12])
def test_it_fails_in_each_run(tmp_path: Path, flaky: int) -> None:
    """The search finds the first bad commit, wherever it is."""
    history = History(tmp_path, line(13), flaky)
    yours = history.search(0, 12, 1)
    assert yours == flaky, f"your code blames commit {yours}, expected {flaky} of 0 to 12"
    for number in {flaky - 1, flaky} - {0, 12}:
        assert history.commits[number] in history.seen, (
            f"you blame commit {flaky} without proof, because you have not tested commit {number}"
        )


def test_few_runs(tmp_path: Path) -> None:
    """Each step halves the commits, and one failure ends the runs of a commit."""
    history = History(tmp_path, line(33), 1)
    yours = history.search(0, 32, 10)
    assert yours == 1, f"your code blames commit {yours}, expected 1"
    assert history.runs <= 6, (
        f"your code runs the test {history.runs} times, expected at most 6: one failure is proof"
    )
    assert set(history.seen) <= set(history.commits), (
        "your code runs the test on something that is not a commit"
    )


def test_two_neighbours(tmp_path: Path) -> None:
    """The commit after the good one is bad, so no test has to run."""
    history = History(tmp_path, line(4), 2)
    yours = history.search(1, 2, 3)
    assert yours == 2, f"your code blames commit {yours}, expected 2"
    assert history.runs == 0, f"your code runs the test {history.runs} times, expected 0"


def test_a_flaky_test(tmp_path: Path) -> None:
    """One of four runs fails: with enough repeats, two searches both find the culprit."""
    history = History(tmp_path, line(9), 4, rate=0.25, most=1000)
    runs = repeats(0.25, 4, 1e-4)
    found, ran = [], []
    for _ in range(2):
        before = history.runs
        found.append(history.search(0, 8, runs))
        ran.append(history.runs - before)
    assert found == [4] * 2, f"with {runs} runs your code blames {found}, expected 4 each time"
    assert all(ran), (
        f"runs of each search {ran}: the second search must not reuse results of the first"
    )
    until = [history.seen.count(commit) for commit in history.commits[:4]]
    assert all(count % runs == 0 for count in until), (
        f"your code ran the good commits {until} times, expected multiples of {runs}: one pass"
        " proves little"
    )


def test_a_branch(tmp_path: Path) -> None:
    """The culprit is on a merged branch; a search of first parents would blame the merge."""
    parents = [[], [0], [1], [1], [3], [4], [2, 5], [6]]
    history = History(tmp_path, parents, 4)
    yours = history.search(0, 7, 1)
    assert yours == 4, f"your code blames commit {yours}, expected 4, on the branch that 6 merges"


def test_as_it_was(tmp_path: Path) -> None:
    """Afterwards the original branch is checked out, `main` or not, and nothing is left behind."""
    history = History(tmp_path, line(5), 3)
    for branch in ("main", "work"):
        git(tmp_path, "checkout", "-q", "-B", branch)
        before = history.state()
        yours = history.search(0, 4, 1)
        assert yours == 3, f"your code blames commit {yours}, expected 3"
        after = history.state()
        assert after == before, f"before {before}\nafter  {after}\nuse `git bisect reset`"


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
def test_an_error_of_the_test(tmp_path: Path, error: type[BaseException]) -> None:
    """An error from `fails` propagates, and the repository stays as it was."""
    history = History(tmp_path, line(4), 2)
    before = history.state()

    def broken() -> bool:
        raise error("the test itself is broken")

    with pytest.raises(error):
        pytest.fail(
            f"`fails` raises {error.__name__}, which says nothing about a commit, but you blame"
            f" {culprit(tmp_path, history.commits[0], history.commits[3], broken, 2)}, expected the"
            f" {error.__name__} to propagate"
        )
    after = history.state()
    assert after == before, f"before {before}\nafter  {after}\nrestore it after an error too"
