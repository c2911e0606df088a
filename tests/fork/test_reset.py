"""``nox -s reset``: the stub again, and the learner's version in a copy; in real repositories."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from importlib.metadata import Distribution
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from plugins.fork import reset
from plugins.fork.reset import Replacement
from plugins.fork.reset import find_replacements
from plugins.fork.reset import main
from plugins.fork.upstream import UNWRITTEN
from tests.support.fork import EXERCISE
from tests.support.fork import SOLVED
from tests.support.fork import STUB
from tests.support.fork import Fork
from tests.support.fork import git
from tests.support.fork import kata_files
from tests.support.fork import write
from tests.support.installed import FILES
from tests.support.installed import INSTALLED
from tests.support.installed import SOLUTION
from tests.support.installed import forget_fetched
from tests.support.installed import install_package
from tests.support.installed import say_where_from
from tests.support.installed import stand_in_for_pip


if TYPE_CHECKING:
    from collections.abc import Iterator


KATA = "lecture01/k01_first"
AWAY = "lecture77/k01_root"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder in which Python finds what is installed; pip stands in for itself."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(site)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "pip"))
    stand_in_for_pip(tmp_path / "pip")
    yield site
    for name in [name for name in sys.modules if name.split(".")[0] == "some_roots"]:
        del sys.modules[name]


def test_only_what_differs_is_written() -> None:
    """A file that is not in the stub stays; one that is missing comes back."""
    mine = {"a": b"mine", "b": b"stub", "c": b"mine", "d": None}
    stubs = {"a": b"stub", "b": b"stub", "c": None, "d": b"stub"}

    assert [
        Replacement("a", b"mine", b"stub"),
        Replacement("d", None, b"stub"),
    ] == find_replacements(mine, stubs)


def test_the_stub_comes_back_and_the_answer_is_kept(
    fork: Fork, capsys: pytest.CaptureFixture[str]
) -> None:
    """A committed answer is copied too, and the output names the copy."""
    assert 0 == main([KATA], fork.root)

    head, mine, stub = capsys.readouterr().out.splitlines()
    assert head.startswith(f"{KATA} is the stub again, as of ")
    assert SOLVED == (fork.root / mine.split()[-1]).read_text()
    assert f"the stub      {EXERCISE}" == stub
    assert STUB == fork.read()


def test_another_repository_does_not_matter(fork: Fork, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hook of git sets GIT_DIR for its own repository."""
    monkeypatch.setenv("GIT_DIR", "/nowhere")

    assert 0 == main([KATA], fork.root)


def test_work_that_is_not_committed_is_kept_too(fork: Fork) -> None:
    """Each run copies the file, and no copy overwrites another."""
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
    """Nothing is written or copied."""
    main([KATA], fork.root)
    before = fork.copies()
    capsys.readouterr()

    assert 0 == main([KATA], fork.root)
    assert "is the stub already" in capsys.readouterr().out
    assert before == fork.copies()


def test_the_stub_is_that_of_the_tests_at_hand(fork: Fork) -> None:
    """A newer stub counts only after the fork has merged it."""
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
    """A commit that changed another kata's tests has the newest brief."""
    fork = Fork(tmp_path, upstream=False)
    newer = STUB.replace("brief", "mended brief")
    fork.publish({EXERCISE: newer})
    fork.publish({"katas/lecture01/test_k02_second.py": "def test(): pass\n"})
    git(fork.root, "pull", "-q")
    fork.commit({EXERCISE: SOLVED})

    assert 0 == main([KATA], fork.root)
    assert newer == fork.read()


def test_a_squashed_fork_has_no_stub(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The message says what to fetch, and --from names a commit."""
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
        (["lecture01/k01_frist"], "no kata is called 'lecture01/k01_frist'; the nearest:"),
        (["lecture7"], "no lecture is called 'lecture7'; the nearest: lecture01"),
        (["lecture02"], "lecture02 has 0 katas; name one of them: none"),
        ([KATA, "--from", "nowhere"], "--from: there is no commit nowhere"),
        ([KATA, "--from", "empty"], f"--from: empty has no {EXERCISE}"),
    ],
)
def test_what_cannot_be_done_is_said(
    fork: Fork, capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    """The message gives the reason, and nothing is changed."""
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
    assert "not a git repository" in capsys.readouterr().err


def test_a_read_only_checkout_stays(fork: Fork, capsys: pytest.CaptureFixture[str]) -> None:
    """No copy can be made, so nothing is replaced; a file stands where the folder should."""
    write(fork.root, {".katas": "in the way"})

    assert 1 == main([KATA], fork.root)
    out, error = capsys.readouterr()
    assert "" == out
    assert f"{fork.root}/.katas/backup" in error
    assert error.endswith(f": Not a directory\n{UNWRITTEN}\n")
    assert SOLVED == fork.read()


def test_a_read_only_folder_stays(
    fork: Fork, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The copy is made; the message names the exercise, and not a file of ours."""

    def refuse(file: Path, target: Path) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(file), None, str(target))

    monkeypatch.setattr(Path, "replace", refuse)

    assert 1 == main([KATA], fork.root)
    name = f"{fork.root / EXERCISE}"
    assert f"{name}: Read-only file system\n{UNWRITTEN}\n" == capsys.readouterr().err
    assert SOLVED == fork.read()
    assert {EXERCISE: SOLVED} == fork.copies()


def test_the_command_is_there() -> None:
    """``nox -s reset`` runs this module."""
    root = Path(__file__).parents[2]
    command = [sys.executable, "-m", "plugins.reset", "--help"]

    assert (
        "lecture04/k02_clamp"
        in subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout
    )
    assert '"-m", "plugins.reset"' in (root / "noxfile.py").read_text()


def test_a_lecture_of_another_package_is_reset_too(
    fork: Fork, site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Pip fetches the package into a folder of its own; answers beside the kata stay."""
    exercise = install_package(site) / "k01_root.py"
    before = sorted(exercise.parent.iterdir())
    exercise.write_text(SOLUTION)
    (exercise.parent / "test_k01_root.py").write_text("# mine\n")

    assert 0 == main([AWAY], fork.root)
    head, mine, stub = capsys.readouterr().out.splitlines()
    assert f"{AWAY} is the stub again, as of some-roots 1.2." == head
    assert SOLUTION == (fork.root / mine.split()[-1]).read_text()
    assert {"lecture77/k01_root.py": SOLUTION} == fork.copies()
    assert f"the stub      {exercise}" == stub
    assert FILES[INSTALLED] == exercise.read_text()
    assert "# mine\n" == (exercise.parent / "test_k01_root.py").read_text()
    assert before == sorted(exercise.parent.iterdir())


def test_a_stub_of_another_package_is_not_fetched(
    fork: Fork, site: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its digest is known from the installation."""
    install_package(site)
    forget_fetched(tmp_path / "pip")

    assert 0 == main([AWAY], fork.root)
    out = capsys.readouterr().out
    assert f"{AWAY} is the stub already, as of some-roots 1.2; nothing was changed.\n" == out


@pytest.mark.parametrize(
    ("about", "requirement"),
    [
        (None, "some-roots==1.2"),
        ({"url": "file:///a/folder", "dir_info": {}}, "file:///a/folder"),
        (
            {"url": "https://it.example/a", "vcs_info": {"vcs": "git", "commit_id": "abc"}},
            "git+https://it.example/a@abc",
        ),
    ],
    ids=["index", "folder", "repository"],
)
def test_a_package_is_fetched_from_where_it_came(
    fork: Fork, site: Path, tmp_path: Path, about: dict[str, object] | None, requirement: str
) -> None:
    """The same version of it, without what it depends on."""
    exercise = install_package(site) / "k01_root.py"
    exercise.unlink()
    if about:
        say_where_from(site, **about)

    assert 0 == main([AWAY], fork.root)
    assert FILES[INSTALLED] == exercise.read_text()
    asked = (tmp_path / "pip/asked").read_text().split()
    assert ["install", "--quiet", "--no-deps", "--target", requirement] == [*asked[:4], asked[-1]]


def test_a_missing_exercise_of_a_package_comes_back(
    fork: Fork, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python 3.12 and newer leave it out of the files of the package."""
    exercise = install_package(site) / "k01_root.py"
    exercise.unlink()
    monkeypatch.setattr(Distribution, "files", property(lambda _: []))

    assert 0 == main([AWAY], fork.root)
    assert FILES[INSTALLED] == exercise.read_text()


def test_what_cannot_be_fetched_is_said(
    fork: Fork, site: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With pip's own words and the command."""
    exercise = install_package(site) / "k01_root.py"
    exercise.write_text(SOLUTION)
    forget_fetched(tmp_path / "pip")

    assert 1 == main([AWAY], fork.root)
    error = capsys.readouterr().err
    assert "some-roots 1.2, which could not be fetched:\nno network\n" in error
    assert "python -m pip install --quiet --no-deps --target " in error
    assert error.endswith("Nothing was changed.\n")
    assert SOLUTION == exercise.read_text()


def test_uv_fetches_where_there_is_no_pip(
    fork: Fork,
    site: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """For this Python; without uv too, the error says how to get pip."""
    exercise = install_package(site) / "k01_root.py"
    exercise.write_text(SOLUTION)
    forget_fetched(tmp_path / "pip")
    monkeypatch.setattr(reset, "has_pip", lambda: False)
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "which", lambda _: None)
        assert 1 == main([AWAY], fork.root)
    assert "could not be fetched:\nno network\npython -m ensurepip\n" in capsys.readouterr().err

    uv = tmp_path / "bin/uv"
    uv.parent.mkdir()
    uv.write_text('#!/bin/sh\necho "$@" >&2\nexit 2\n')
    uv.chmod(0o755)
    monkeypatch.setenv("PATH", f"{uv.parent}:{os.environ['PATH']}")
    assert 1 == main([AWAY], fork.root)
    error = capsys.readouterr().err
    options = f"pip install --python {sys.executable} --quiet --no-deps --target /"
    assert f"could not be fetched:\n{options}" in error
    assert "The command: uv pip install --python python --quiet --no-deps --target /" in error


def test_another_version_is_not_taken_for_the_stub(
    fork: Fork, site: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder that the package was installed from may have answers by now."""
    exercise = install_package(site) / "k01_root.py"
    exercise.write_text(SOLUTION)
    (tmp_path / "pip/fetched" / INSTALLED).write_text(SOLUTION)

    assert 1 == main([AWAY], fork.root)
    text = "some-roots==1.2 has another k01_root.py than the package that is installed"
    assert text in capsys.readouterr().err
    assert {} == fork.copies()


def test_a_clone_of_another_package_has_the_stub_in_its_history(
    fork: Fork,
    site: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """As pip installs it with --editable; an answer may be committed there."""
    clone = tmp_path / "clone"
    exercise = install_package(site, editable=clone) / "k01_root.py"
    monkeypatch.syspath_prepend(clone)
    stub = f"# brief\n{FILES[INSTALLED]}"
    git(clone, "init", "-q")
    (clone / ".gitignore").write_text("__pycache__/\n")
    for text in (stub, SOLUTION):
        exercise.write_text(text)
        git(clone, "add", "-A")
        git(clone, "commit", "-qm", "Go on")
    exercise.write_text("uncommitted")

    assert 0 == main([AWAY], fork.root)
    assert "is the stub again, as of " in capsys.readouterr().out
    assert stub == exercise.read_text()
    assert {"lecture77/k01_root.py": "uncommitted"} == fork.copies()
    assert f"M {INSTALLED}" == git(clone, "status", "--short")
    assert 0 == main([AWAY, "--from", "HEAD"], fork.root)
    assert SOLUTION == exercise.read_text()


def test_a_folder_without_history_has_no_stub(
    fork: Fork,
    site: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Installed with --editable from an archive, say."""
    folder = tmp_path / "archive"
    exercise = install_package(site, editable=folder) / "k01_root.py"
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    exercise.write_text(SOLUTION)

    assert 1 == main([AWAY], fork.root)
    assert f"lies in {exercise.parent}, which is neither in" in capsys.readouterr().err
    assert SOLUTION == exercise.read_text()


def test_without_pytest_the_course_alone_is_known(
    fork: Fork, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The commands need Python and git only."""
    monkeypatch.setitem(sys.modules, "plugins.course.session", None)

    assert 0 == main([KATA], fork.root)
    assert 1 == main([AWAY], fork.root)
    assert "no lecture is called 'lecture77'" in capsys.readouterr().err


def test_a_pytest_that_cannot_start_says_so(
    fork: Fork, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And then the course alone is known."""
    monkeypatch.setenv("PYTEST_ADDOPTS", "--nonsense")

    assert 1 == main([AWAY], fork.root)
    error = capsys.readouterr().err
    assert "unrecognized arguments: --nonsense" in error
    assert "no lecture is called 'lecture77'" in error
