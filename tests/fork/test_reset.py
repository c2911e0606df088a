"""``nox -s reset``: the stub again, and the learner's version in a copy; in real repositories."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC
from datetime import datetime
from pathlib import Path

import pytest

from plugins.copies import keep_copy
from plugins.gitrepo import GitError
from plugins.gitrepo import Repo
from plugins.reset import Change
from plugins.reset import changes
from plugins.reset import main
from plugins.upstreams import is_stub
from tests.fork import EXERCISE
from tests.fork import SETTINGS
from tests.fork import SOLVED
from tests.fork import STUB
from tests.fork import Fork
from tests.fork import git
from tests.fork import kata_files
from tests.fork import write


KATA = "lecture01/k01_first"
NOW = datetime(2026, 11, 22, 12, 30, tzinfo=UTC)


@pytest.fixture(autouse=True)
def settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Git is that of any machine."""
    for name, value in SETTINGS.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def fork(tmp_path: Path) -> Fork:
    """A fork with one committed answer."""
    fork = Fork(tmp_path)
    fork.commit({EXERCISE: SOLVED})
    return fork


def test_only_what_differs_is_written() -> None:
    """A file that the stub has not stays as it is; one that is missing comes back."""
    mine = {"a": b"mine", "b": b"stub", "c": b"mine", "d": None}
    stubs = {"a": b"stub", "b": b"stub", "c": None, "d": b"stub"}

    assert [Change("a", b"mine", b"stub"), Change("d", None, b"stub")] == changes(mine, stubs)


def test_the_stub_comes_back_and_the_answer_is_kept(
    fork: Fork, capsys: pytest.CaptureFixture[str]
) -> None:
    """Though it is committed; the copy is named."""
    assert 0 == main([KATA], fork.root)

    head, mine, stub = capsys.readouterr().out.splitlines()
    assert head.startswith(f"{KATA} is the stub again, as of ")
    assert SOLVED == (fork.root / mine.split()[-1]).read_text()
    assert f"the stub      {EXERCISE}" == stub
    assert STUB == fork.read()


def test_another_repository_does_not_matter(fork: Fork, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hook of git runs with its own in the environment."""
    monkeypatch.setenv("GIT_DIR", "/nowhere")

    assert 0 == main([KATA], fork.root)


def test_work_that_is_not_committed_is_kept_too(fork: Fork) -> None:
    """What is in the file is what is copied, every time, and no copy takes another's place."""
    for number in range(3):
        (fork.root / EXERCISE).write_text(f"version {number}")
        assert 0 == main([KATA], fork.root)

    copies = (fork.root / ".katas/backup").rglob("*.py")
    assert [f"version {n}" for n in range(3)] == sorted(copy.read_text() for copy in copies)


def test_nothing_else_is_touched(fork: Fork) -> None:
    """Neither other files, nor what is staged, nor the branch."""
    write(fork.root, {"katas/lecture01/test_k01_first.py": "edited", "new.txt": "untracked"})
    write(fork.root, {"staged.txt": "staged"})
    git(fork.root, "add", "staged.txt")
    before = [git(fork.root, "rev-parse", "HEAD"), git(fork.root, "ls-files", "--stage")]
    main([KATA], fork.root)

    assert before == [git(fork.root, "rev-parse", "HEAD"), git(fork.root, "ls-files", "--stage")]
    assert "edited" == fork.read("katas/lecture01/test_k01_first.py")
    assert ("untracked", "staged") == (fork.read("new.txt"), fork.read("staged.txt"))


def test_a_stub_stays(fork: Fork, capsys: pytest.CaptureFixture[str]) -> None:
    """And no copy is made of it."""
    main([KATA], fork.root)
    before = fork.copies()
    capsys.readouterr()

    assert 0 == main([KATA], fork.root)
    assert "is the stub already" in capsys.readouterr().out
    assert before == fork.copies()


def test_the_stub_is_that_of_the_tests_at_hand(fork: Fork) -> None:
    """Not a newer one that the fork has not taken yet; after a merge it is."""
    newer = STUB.replace("brief", "newer brief")
    fork.publish({EXERCISE: newer})
    git(fork.root, "fetch", "upstream")
    main([KATA], fork.root)
    before = fork.read()
    git(fork.root, "checkout", EXERCISE)
    git(fork.root, "merge", "-q", "-X", "ours", "upstream/main")
    main([KATA], fork.root)

    assert (STUB, newer) == (before, fork.read())


@pytest.mark.parametrize("merged", [False, True])
def test_a_fork_without_an_upstream_finds_the_stub(tmp_path: Path, *, merged: bool) -> None:
    """It is where the tests or the solution were changed last: learners change neither."""
    fork = Fork(tmp_path, upstream=False)
    fork.commit({EXERCISE: SOLVED})
    fork.commit({EXERCISE: f"{SOLVED}# shorter?\n"})
    newer = STUB.replace("brief", "newer brief")
    if merged:
        fork.publish({EXERCISE: newer, "katas/lecture01/test_k01_first.py": "def test_2(): pass\n"})
        git(fork.root, "pull", "-q", "--no-rebase", "-X", "ours")
        assert "return 2 * n" in fork.read()
    git(fork.root, "remote", "remove", "origin")

    assert 0 == main([KATA], fork.root)
    assert (newer if merged else STUB) == fork.read()


def test_a_brief_that_was_mended_alone_is_the_stub(tmp_path: Path) -> None:
    """The tests and the solution of its kata were not touched then, but those of another were."""
    fork = Fork(tmp_path, upstream=False)
    newer = STUB.replace("brief", "mended brief")
    fork.publish({EXERCISE: newer})
    fork.publish({"katas/lecture01/test_k02_second.py": "def test(): pass\n"})
    git(fork.root, "pull", "-q")
    fork.commit({EXERCISE: SOLVED})

    assert 0 == main([KATA], fork.root)
    assert newer == fork.read()


def test_a_squashed_fork_has_no_stub(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Then the message says what to fetch; and a commit can be named."""
    fork = Fork(tmp_path)
    first = git(fork.root, "rev-parse", "HEAD")
    git(fork.root, "remote", "remove", "upstream")
    write(fork.root, {EXERCISE: SOLVED})
    git(fork.root, "checkout", "-q", "--orphan", "squashed")
    fork.commit({})

    assert 1 == main([KATA], fork.root)
    error = capsys.readouterr().err
    assert "no commit of this repository holds its stub" in error
    assert "git remote add upstream" in error
    assert SOLVED == fork.read()
    assert 0 == main([KATA, "--from", first], fork.root)
    assert STUB == fork.read()


def test_all_files_of_the_exercise_come_back(fork: Fork) -> None:
    """The C++ source beside the module, and one that was removed; a header stays as it is."""
    fork.publish(kata_files("k01_other", 2, csrc="csrc/k01_other.cpp"))
    git(fork.root, "pull", "-q", "--no-rebase", "upstream", "main")
    write(
        fork.root,
        {"katas/lecture02/csrc/k01_other.cpp": "int y;\n", "katas/lecture02/k01_other.py": None},
    )

    assert 0 == main(["lecture02/k01"], fork.root)
    assert "// TODO\n" == fork.read("katas/lecture02/csrc/k01_other.cpp")
    assert STUB == fork.read("katas/lecture02/k01_other.py")
    assert {"katas/lecture02/csrc/k01_other.cpp": "int y;\n"} == fork.copies()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["lecture01/k01_frist"], "no kata is called 'lecture01/k01_frist'; there are:"),
        (["lecture7"], "no lecture is called 'lecture7'; there are: lecture01"),
        (["lecture02"], "lecture02 has 0 katas; name one of them: none"),
        ([KATA, "--from", "nowhere"], "--from: there is no commit nowhere"),
        ([KATA, "--from", "empty"], f"--from: empty has no {EXERCISE}"),
    ],
)
def test_what_cannot_be_done_is_said(
    fork: Fork, capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    """And nothing is changed."""
    write(fork.root, {"katas/lecture02/lecture.toml": 'title = "T"\n[syllabus]\n'})
    empty = git(fork.root, "commit-tree", "-m", "empty", git(fork.root, "mktree"))
    git(fork.root, "branch", "empty", empty)

    assert 1 == main(arguments, fork.root)
    error = capsys.readouterr().err
    assert says in error.replace("\n  ", " ")
    assert "Nothing was changed." in error
    assert SOLVED == fork.read()


def test_without_a_repository_there_is_no_history(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a course that was downloaded as an archive."""
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    write(tmp_path, kata_files("k01_first"))

    assert 1 == main([KATA], tmp_path)
    assert "this is no repository" in capsys.readouterr().err


def test_git_that_refuses_is_quoted(fork: Fork) -> None:
    """With the command and its words."""
    with pytest.raises(GitError, match=r"^git cat-file: fatal: "):
        Repo(fork.root).run("cat-file", "blob", "nothing")
    with pytest.raises(GitError, match=r"^git diff: status 1$"):
        Repo(fork.root).run("diff", "--no-index", "--quiet", EXERCISE, ".gitignore")


def test_a_copy_never_takes_the_place_of_another(tmp_path: Path) -> None:
    """Though both are made in the same second."""
    names = [keep_copy(tmp_path, "a/b.py", text, NOW) for text in (b"1", b"2", b"3")]

    assert names == [
        ".katas/backup/2026-11-22_12-30-00/a/b.py",
        ".katas/backup/2026-11-22_12-30-00_2/a/b.py",
        ".katas/backup/2026-11-22_12-30-00_3/a/b.py",
    ]
    assert [b"1", b"2", b"3"] == [(tmp_path / name).read_bytes() for name in names]


def test_every_exercise_of_the_course_can_be_told_from_an_answer() -> None:
    """Its stub says TODO, and its solution does not."""
    root = Path(__file__).parents[1]
    files = root.glob("katas/lecture*/solutions/**/k*")
    # What Python has compiled in an earlier run lies among them.
    solutions = [file for file in files if file.is_file() and file.suffix != ".pyc"]
    stubs = [Path(str(file).replace("/solutions/", "/")) for file in solutions]

    assert stubs
    assert [] == [file for file in stubs if not is_stub(file.read_bytes())]
    assert [] == [file for file in solutions if is_stub(file.read_bytes())]


def test_the_command_is_there() -> None:
    """``nox -s reset`` runs this module."""
    root = Path(__file__).parents[1]
    command = [sys.executable, "-m", "plugins.reset", "--help"]

    assert (
        "lecture04/k03_clamp"
        in subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout
    )
    assert '"-m", "plugins.reset"' in (root / "noxfile.py").read_text()
