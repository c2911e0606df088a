"""The summary of what was practised: what Markdown shows is what was written."""

from __future__ import annotations

from pathlib import Path

import pytest

from plugins.course.model import EpisodeRef
from plugins.course.model import Kata
from plugins.course.model import Upstream
from plugins.fork.claimed import Claims
from plugins.fork.results import Result
from plugins.fork.summary import Practised
from plugins.fork.summary import collect_notes
from plugins.fork.summary import format_practice
from plugins.guide.reading import Pointer
from plugins.tools.git import Repo
from tests.support.fork import EXERCISE
from tests.support.fork import Fork
from tests.support.fork import git


KATA = Kata(
    "lecture01",
    "k01_first",
    "A *title* of @someone",
    "lab",
    ("a",),
    (EpisodeRef("strides", "why"),),
    (Upstream("a.h", "b"),),
    ("a", "b", "c"),
    (),
    (),
    (),
    Path("katas/lecture01"),
)


def table(*results: Result, episodes: tuple[Pointer, ...] = ()) -> list[str]:
    """Return the rows of the table for these results."""
    place = ("katas/lecture01/k01_first.py", 7)
    practised = [Practised(KATA, each, "test_k01.py", place, episodes) for each in results]
    text = format_practice(practised, "upstream/main", [])
    return [line for line in text.splitlines() if line.startswith("| `")]


def test_each_verdict_has_its_next_step() -> None:
    """A solved kata is compared, a failing one edited, another left."""
    solved, fails, away, undecided, ended = table(
        Result("solved"),
        Result("fails", "test_it", "\nAssertionError: no | bar\nmore"),
        Result("cannot run here", message="no CUDA"),
        Result("not decided here", "test_app", "torchx: none"),
        Result("did not run"),
    )

    assert solved.endswith("| solved |  |  | compare: `pytest test_k01.py --solution` |")
    assert r"| **fails** | `test_it`: `AssertionError: no \| bar` |" in fails
    assert "edit `katas/lecture01/k01_first.py:7`, then `pytest test_k01.py -x`" in fails
    assert fails.endswith("a hint: `pytest test_k01.py --hint` |")
    assert "| **cannot run here** | `no CUDA` |  | nothing: not counted |" in away
    assert "| **not decided here** | `test_app`: `torchx: none` |" in undecided
    what = "nothing: not counted; what can run here passes: `pytest test_k01.py`"
    assert undecided.endswith(f"| {what} |")
    assert ended.endswith("| see what pytest says: `pytest test_k01.py -x` |")
    assert solved.startswith("| `lecture01/k01_first` A &#42;title&#42; of &#64;someone |")


def test_an_episode_is_one_link() -> None:
    """No character of the address ends the link."""
    (row,) = table(Result("solved"), episodes=(Pointer("#1 A](x)", "https://a.b/>|c<"),))

    assert "| [&#35;1 A&#93;(x)](<https://a.b/%3E%7Cc%3C>) |" in row


def test_one_is_one_kata_and_notes_come_last() -> None:
    """The notes follow the table as a list."""
    practised = [Practised(KATA, Result("solved"), "t.py", ("k.py", 1))]
    text = format_practice(practised, "upstream/main", ["the first", "the second"])

    assert text.startswith("## Practice: 1 of 1 claimed kata solved\n")
    assert text.endswith("\n\n- the first\n- the second\n")


@pytest.mark.parametrize(
    ("claims", "errors", "expected"),
    [
        (Claims(), ["lecture01: no title"], "A lecture cannot be read, so its katas were not run"),
        (Claims(tests=("test_k01.py",)), [], "`git checkout upstream/main -- test_k01.py`"),
        (
            Claims(own=(KATA,)),
            [],
            "`lecture01/k01_first` is not in `upstream/main`: a kata of your",
        ),
    ],
)
def test_a_note_says_what_the_table_cannot(
    tmp_path: Path, claims: Claims, errors: list[str], expected: str
) -> None:
    """A broken lecture, tests and katas of the learner's own."""
    fork = Fork(tmp_path)
    (note,) = collect_notes(Repo(fork.root), "upstream/main", claims, errors)

    assert expected in note


def test_a_note_counts_what_is_new(tmp_path: Path) -> None:
    """One commit or several; none is no note."""
    fork = Fork(tmp_path)
    repo = Repo(fork.root)

    assert [] == list(collect_notes(repo, "upstream/main", Claims(), []))
    for number, commits in enumerate(["1 commit", "2 commits"]):
        fork.publish({EXERCISE: f"{number}\n"})
        git(fork.root, "fetch", "-q", "upstream")
        expected = f"`upstream/main` has {commits} that you do not have: `nox -s update`"
        assert [expected] == list(collect_notes(repo, "upstream/main", Claims(), []))


@pytest.mark.parametrize(
    ("base", "command"),
    [("upstream/main", "git fetch --unshallow upstream"), ("main", "git fetch --unshallow")],
)
def test_a_note_says_how_to_get_the_history(tmp_path: Path, base: str, command: str) -> None:
    """Without it a stub that upstream has changed counts as edited."""
    fork = Fork(tmp_path)
    fork.publish({EXERCISE: "newer\n"})
    git(tmp_path, "clone", "-q", "--depth", "1", fork.bare.as_uri(), "shallow")
    repo = Repo(tmp_path / "shallow")
    git(repo.root, "remote", "rename", "origin", "upstream")
    (note,) = collect_notes(repo, base, Claims((KATA,)), [])

    assert note.startswith("This clone has no history")
    assert note.endswith(f"it counts as edited. Fetch the full history: `{command}`")
