"""``nox -s update``: what is new upstream in a fork with answers; in real repositories."""

from __future__ import annotations

import copy
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING
from typing import Any

import pytest

from plugins import ROOT
from plugins.fork.update import main
from plugins.fork.upstream import UNWRITTEN
from plugins.tools.files import keep_copy
from plugins.tools.git import Repo
from tests.support.fork import EXERCISE
from tests.support.fork import HEAD
from tests.support.fork import SOLVED
from tests.support.fork import STUB
from tests.support.fork import TABLE
from tests.support.fork import Fork
from tests.support.fork import git
from tests.support.fork import kata_files
from tests.support.fork import write


if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from pathlib import Path


OTHER = "katas/lecture02/k01_other.py"
TEST = "katas/lecture01/test_k01_first.py"
NEWER = STUB.replace("The brief.", "A better brief.")


@pytest.fixture
def fork(tmp_path: Path) -> Fork:
    """A fork of two lectures with one committed answer."""
    fork = Fork(tmp_path)
    fork.publish(kata_files("k01_other", 2))
    git(fork.root, "pull", "-q", "--ff-only", "upstream", "main")
    fork.commit({EXERCISE: SOLVED})
    return fork


def status(fork: Fork) -> list[str]:
    """Return what git says of the working tree."""
    return git(fork.root, "status", "--porcelain").splitlines()


def test_stubs_move_on_and_answers_are_merged(
    fork: Fork, capsys: pytest.CaptureFixture[str]
) -> None:
    """New katas come, removed files go, and it ends in one merge commit."""
    theirs = fork.publish(
        {
            **kata_files("k01_new", 3),
            EXERCISE: NEWER,
            OTHER: NEWER,
            TEST: "def test_new(): pass\n",
            "katas/lecture02/solutions/k01_other.py": None,
        }
    )
    head = git(fork.root, "rev-parse", "HEAD")

    assert 0 == main([], fork.root)
    assert SOLVED.replace("The brief.", "A better brief.") == fork.read()
    assert (NEWER, "def test_new(): pass\n") == (fork.read(OTHER), fork.read(TEST))
    assert STUB == fork.read("katas/lecture03/k01_new.py")
    assert not (fork.root / "katas/lecture02/solutions/k01_other.py").exists()
    assert [] == status(fork)
    assert f"{head} {theirs}" == git(fork.root, "log", "-1", "--format=%P")
    assert {EXERCISE: SOLVED} == fork.copies()
    out = capsys.readouterr().out.splitlines()
    assert "7 moved on, 1 merged." == out[0]
    assert [f"merged  {EXERCISE}"] == out[1:2]
    assert SOLVED == (fork.root / out[2].split()[-1]).read_text()
    assert "upstream/main is in main now." == out[-1]


def test_a_second_update_finds_nothing(fork: Fork, capsys: pytest.CaptureFixture[str]) -> None:
    """It makes no commit."""
    fork.publish({OTHER: NEWER})
    main([], fork.root)
    head = git(fork.root, "rev-parse", "HEAD")
    capsys.readouterr()

    assert 0 == main([], fork.root)
    assert "Nothing is new in upstream/main.\n" == capsys.readouterr().out
    assert head == git(fork.root, "rev-parse", "HEAD")


def test_a_fork_without_answers_is_where_upstream_is(tmp_path: Path) -> None:
    """The branch moves to upstream's commit, without a merge."""
    fork = Fork(tmp_path)
    theirs = fork.publish({EXERCISE: NEWER})

    assert 0 == main(["upstream/main"], fork.root)
    assert theirs == git(fork.root, "rev-parse", "HEAD")
    assert (NEWER, []) == (fork.read(), status(fork))


def test_the_same_lines_are_left_to_the_learner(
    fork: Fork, capsys: pytest.CaptureFixture[str]
) -> None:
    """Their version stays, upstream's lies beside it, and the command to merge them works."""
    newer = STUB.replace("# TODO", "# TODO: look at the sign")
    fork.publish({EXERCISE: newer, OTHER: NEWER})

    assert 0 == main([], fork.root)
    assert (SOLVED, NEWER, []) == (fork.read(), fork.read(OTHER), status(fork))
    out = capsys.readouterr().out.splitlines()
    assert ["1 moved on, 1 left alone.", f"left    {EXERCISE}"] == out[:2]
    assert "        you and upstream changed the same lines" == out[2]
    upstreams, merge = (line.partition(":")[2].split() for line in out[3:5])
    assert newer == fork.read(upstreams[0])
    assert STUB == fork.read(merge[3])
    done = subprocess.run(merge, cwd=fork.root, capture_output=True, check=False)
    assert 1 == done.returncode
    assert "<<<<<<<" in fork.read()


def test_what_is_not_committed_stays_so(fork: Fork) -> None:
    """It is merged in its file, and the commit holds what was committed before."""
    draft = STUB.replace("raise NotImplementedError", "return 3  # or")
    staged = STUB + "\n# staged\n"
    write(fork.root, {OTHER: staged})
    git(fork.root, "add", OTHER)
    write(fork.root, {OTHER: draft, "mine.txt": "untracked", "added.txt": "staged"})
    git(fork.root, "add", "added.txt")
    fork.publish({OTHER: NEWER, EXERCISE: NEWER})

    assert 0 == main([], fork.root)
    assert draft.replace("The brief.", "A better brief.") == fork.read(OTHER)
    assert NEWER.strip() == git(fork.root, "show", f"HEAD:{OTHER}")
    assert f"{NEWER}\n# staged" == git(fork.root, "show", f":{OTHER}")
    assert ["A  added.txt", f"MM {OTHER}", "?? mine.txt"] == status(fork)
    assert {EXERCISE: SOLVED, OTHER: draft, f"{OTHER}.staged": staged} == fork.copies()


def test_files_that_only_one_side_has(fork: Fork, capsys: pytest.CaptureFixture[str]) -> None:
    """What upstream removed and the learner edited stays; what the learner removed stays away."""
    fork.commit({"katas/lecture02/solutions/k01_other.py": None, TEST: "mine\n"})
    write(fork.root, {"new.py": "mine, untracked\n"})
    fork.publish(
        {"katas/lecture02/solutions/k01_other.py": "newer\n", TEST: None, "new.py": "theirs\n"}
    )

    assert 0 == main([], fork.root)
    assert ("mine\n", "mine, untracked\n") == (fork.read(TEST), fork.read("new.py"))
    assert not (fork.root / "katas/lecture02/solutions/k01_other.py").exists()
    assert [" M new.py"] == [f" {line}" for line in status(fork)]
    assert "theirs" == git(fork.root, "show", "HEAD:new.py")
    out = capsys.readouterr().out
    assert "3 left alone" in out
    for why in ("upstream removed it", "you removed it", "you have one of your own"):
        assert why in out


def test_text_in_any_encoding_survives(fork: Fork, tmp_path: Path) -> None:
    """A binary file that both changed is left; names may hold anything."""
    name = "katas/lecture01/größe \u5b57.bin"
    for folder, byte in ((fork.authors, b"\x00\xff1"), (fork.authors, b"\x00\xff2")):
        (folder / name).write_bytes(byte)
        fork.publish({})
        if byte.endswith(b"1"):
            git(fork.root, "pull", "-q", "--no-rebase", "upstream", "main")
            (fork.root / name).write_bytes(b"\x00\xff3")
            fork.commit({})

    assert 0 == main([], fork.root)
    assert b"\x00\xff3" == (fork.root / name).read_bytes()
    assert tmp_path.exists()


def test_modes_follow_upstream_and_links_are_left(
    fork: Fork, capsys: pytest.CaptureFixture[str]
) -> None:
    """A script becomes executable; a link is named with the command that takes it."""
    (fork.authors / "run").write_text("#!/bin/sh\n")
    (fork.authors / "run").chmod(0o755)
    (fork.authors / "link").symlink_to("run")
    fork.publish({})

    assert 0 == main([], fork.root)
    assert os.access(fork.root / "run", os.X_OK)
    assert [] == status(fork)
    (fork.authors / "run").chmod(0o644)
    (fork.authors / EXERCISE).chmod(0o755)
    fork.publish({})
    assert 0 == main([], fork.root)
    assert not os.access(fork.root / "run", os.X_OK)
    assert os.access(fork.root / EXERCISE, os.X_OK)
    assert (SOLVED, []) == (fork.read(), status(fork))
    out = capsys.readouterr().out
    assert (
        "left    link\n        it is not a regular file: git checkout upstream/main -- link" in out
    )


OLD = [f"k0{number}_{name}" for number, name in enumerate(("same", "edit", "half", "gone"), 1)]
NEW = {"k02_same": "k01_same", "k03_edit": "k02_edit", "k04_a": "k03_half", "k05_b": "k03_half"}
FOLDER = "katas/lecture02"
# The stub of the second edition has other lines where the learner has written.
REWRITTEN = STUB.replace("# TODO", "# TODO: look at the sign")


def edition(
    names: Mapping[str, str], stubs: Mapping[str, str] | None = None
) -> dict[str, str | None]:
    """Return a lecture's exercises and its table, by the names of katas and of what they were."""
    tables = [
        TABLE.format(name=name, csrc=[]) + (f'was = "{was}"\n' if was else "")
        for name, was in names.items()
    ]
    files = {f"{FOLDER}/{name}.py": (stubs or {}).get(name, STUB) for name in names}
    return {f"{FOLDER}/lecture.toml": HEAD + "".join(tables), **files}


def second_edition() -> dict[str, str | None]:
    """Return what replaces `OLD`: katas with new numbers, one rewritten, one split, one removed."""
    gone = {f"{FOLDER}/{name}.py": None for name in OLD}
    better = STUB.replace("The brief.", "A better brief.")
    return {**gone, **edition(NEW, {"k02_same": better, "k03_edit": REWRITTEN})}


def half_solved(fork: Fork, answers: Mapping[str, str]) -> None:
    """Publish the first edition, and let the learner commit these answers to it."""
    fork.publish({**edition(dict.fromkeys(OLD, "")), "katas/lecture02/csrc/k09_x.cpp": "// TODO\n"})
    git(fork.root, "pull", "-q", "--no-rebase", "upstream", "main")
    fork.commit({f"{FOLDER}/{name}.py": text for name, text in answers.items()})


def answers_to(fork: Fork) -> dict[str, str]:
    """Return the texts of the lecture's exercises."""
    folder = fork.root / FOLDER
    return {file.stem: file.read_text() for file in sorted(folder.glob("k??_*.py"))}


def test_answers_follow_their_katas_into_another_edition(
    fork: Fork, capsys: pytest.CaptureFixture[str]
) -> None:
    """One that fits the new stub has the new name; the others stay, and it is said where."""
    half_solved(fork, dict.fromkeys(OLD, SOLVED))
    fork.publish(second_edition())

    assert 0 == main([], fork.root)
    assert answers_to(fork) == {
        "k01_other": STUB,
        "k02_edit": SOLVED,
        "k02_same": SOLVED.replace("The brief.", "A better brief."),
        "k03_edit": REWRITTEN,
        "k03_half": SOLVED,
        "k04_a": STUB,
        "k04_gone": SOLVED,
        "k05_b": STUB,
    }
    assert [] == status(fork)
    out = capsys.readouterr().out.splitlines()
    assert SOLVED == (fork.root / out[6].removeprefix("        your version: ")).read_text()
    assert out[1:] == [
        f"merged  {FOLDER}/k02_same.py",
        "        your answer to k01_same, which has this name now",
        f"left    {FOLDER}/k04_gone.py",
        "        upstream removed it, and you have changed it",
        f"moved   {FOLDER}/k01_same.py",
        out[6],
        f"left    {FOLDER}/k02_edit.py",
        "        upstream has made k03_edit of it: your answer stays here",
        f"left    {FOLDER}/k03_half.py",
        "        upstream has made k04_a and k05_b of it: your answer stays here",
        "upstream/main is in main now.",
    ]


def test_katas_without_answers_take_their_new_names(fork: Fork) -> None:
    """No stub of the first edition is left."""
    half_solved(fork, {"k03_half": SOLVED})
    fork.publish(second_edition())

    assert 0 == main([], fork.root)
    assert ["k01_other", "k02_same", "k03_edit", "k03_half", "k04_a", "k05_b"] == [
        *answers_to(fork)
    ]


def test_an_answer_that_is_not_committed_follows_its_kata(
    fork: Fork, capsys: pytest.CaptureFixture[str]
) -> None:
    """And stays uncommitted; a copy of it is kept, as of all that is replaced."""
    half_solved(fork, {"k02_edit": SOLVED})
    write(fork.root, {f"{FOLDER}/k01_same.py": SOLVED})
    fork.publish(second_edition())

    assert 0 == main([], fork.root)
    mine = SOLVED.replace("The brief.", "A better brief.")
    assert [f"M {FOLDER}/k02_same.py"] == [line.strip() for line in status(fork)]
    assert mine == fork.read(f"{FOLDER}/k02_same.py")
    assert {f"{FOLDER}/k01_same.py": SOLVED} == fork.copies()
    assert f"moved   {FOLDER}/k01_same.py\n        your version: .katas/" in capsys.readouterr().out


def test_an_answer_in_another_language_stays(fork: Fork) -> None:
    """An answer in C++ goes to a source in C++ only; it may go to another lecture."""
    source, other = f"{FOLDER}/csrc/k09_x.cpp", "katas/lecture03/csrc/k01_y.cpp"
    table = HEAD + TABLE.format(name="k01_y", csrc=[]) + 'was = "lecture02/k09_x"\n'
    half_solved(fork, {"k01_same": SOLVED})
    fork.commit({source: "int x;\n"})
    git(fork.root, "branch", "before")
    fork.publish({source: None, "katas/lecture03/lecture.toml": table, other: "// TODO\n"})

    assert 0 == main([], fork.root)
    assert "int x;\n" == fork.read(other)
    assert not (fork.root / source).exists()

    git(fork.root, "checkout", "-q", "-B", "main", "before")
    fork.publish({other: None, "katas/lecture03/k01_y.py": STUB})
    assert 0 == main([], fork.root)
    assert ("int x;\n", STUB) == (fork.read(source), fork.read("katas/lecture03/k01_y.py"))


@pytest.mark.parametrize(
    ("before", "says"),
    [
        (["checkout", "-q", "--detach"], "No branch is checked out"),
        (
            ["remote", "remove", "upstream"],
            "There is no upstream to update from.\nName it once: git remote add",
        ),
        (["update-ref", "MERGE_HEAD", "HEAD"], "A merge is under way: finish it, or git merge"),
        (["update-index", "--index-info"], "Some files are not merged yet: git status"),
        (["remote", "set-url", "upstream", "/nowhere"], "git fetch: fatal: '/nowhere'"),
        (
            ["config", "user.useConfigOnly", "true"],
            "Git has no name and email configured: git config user.name",
        ),
        (["update-ref", "refs/heads/main", "0"], "have no commit in common"),
    ],
)
def test_what_stands_in_the_way_is_said(
    fork: Fork,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    before: list[str],
    says: str,
) -> None:
    """The message comes before anything is changed."""
    if before[-1] == "0":
        before = [*before[:-1], git(fork.root, "commit-tree", "-m", "x", "HEAD^{tree}")]
    data = f"100644 {git(fork.root, 'rev-parse', f'HEAD:{OTHER}')} 2\t{OTHER}\n"
    git(fork.root, *before, data=data)
    if "config" in before:
        for name in ("NAME", "EMAIL"):
            monkeypatch.delenv(f"GIT_COMMITTER_{name}")
    fork.publish({OTHER: NEWER}) if "config" not in before else None
    capsys.readouterr()

    assert 1 == main([], fork.root)
    assert says in capsys.readouterr().err
    assert STUB == fork.read(OTHER)


def test_a_folder_of_a_repository_is_not_its_root(
    fork: Fork, capsys: pytest.CaptureFixture[str]
) -> None:
    """An update begins at the root of the working tree only."""
    assert 1 == main([], fork.root / "katas")
    assert "Run this in the root of the repository" in capsys.readouterr().err


def test_a_read_only_checkout_stays(fork: Fork, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is fetched; a file stands where the folder should."""
    fork.publish({EXERCISE: NEWER})
    write(fork.root, {".katas": "in the way"})
    before = git(fork.root, "rev-parse", "HEAD", "upstream/main")

    assert 1 == main([], fork.root)
    out, error = capsys.readouterr()
    assert "" == out
    assert f"{fork.root}/.katas: File exists\n{UNWRITTEN}\n" == error
    assert before == git(fork.root, "rev-parse", "HEAD", "upstream/main")
    assert SOLVED == fork.read()


def test_a_file_that_is_saved_meanwhile_is_not_touched(
    fork: Fork, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next run takes the newer text."""
    fork.publish({EXERCISE: NEWER})

    def save_meanwhile(root: Path, path: str, content: bytes, now: datetime) -> str:
        write(fork.root, {EXERCISE: f"{SOLVED}# saved\n"})
        return keep_copy(root, path, content, now)

    with monkeypatch.context() as patch:
        patch.setattr("plugins.fork.steps.keep_copy", save_meanwhile)
        first = main([], fork.root)
    error = capsys.readouterr().err

    assert (1, 0) == (first, main([], fork.root))
    assert "was saved while it was updated" in error
    assert fork.read().startswith('"""A better brief."""')
    assert fork.read().endswith("# saved\n")


def test_another_git_at_work_is_waited_for_by_the_person(
    fork: Fork, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its lock is not ours to remove; afterwards the same command finishes."""
    fork.publish({OTHER: NEWER})
    lock = fork.root / ".git/index.lock"
    lock.write_text("")

    assert 1 == main([], fork.root)
    assert "another git is at work, or was killed" in capsys.readouterr().err
    lock.unlink()
    assert 0 == main([], fork.root)
    assert ([], NEWER) == (status(fork), fork.read(OTHER))


@pytest.mark.parametrize("locked", [False, True])
def test_what_a_killed_run_left_is_removed(fork: Fork, *, locked: bool) -> None:
    """Also git's lock, if it is the same file as ours: then no other git holds it."""
    fork.publish({OTHER: NEWER})
    ours = fork.root / ".git/katas-index-1"
    shutil.copyfile(fork.root / ".git/index", ours)
    if locked:
        os.link(ours, fork.root / ".git/index.lock")

    assert 0 == main([], fork.root)
    assert [] == [*(fork.root / ".git").glob("katas*"), *(fork.root / ".git").glob("*.lock")]
    assert ([], NEWER) == (status(fork), fork.read(OTHER))


@pytest.mark.parametrize("arguments", [["--help"], ["--hard"], ["a", "b"]])
def test_the_command_explains_itself(
    fork: Fork, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    """Help is printed for --help and for unknown arguments."""
    assert (0 if "--help" in arguments else 1) == main(arguments, fork.root)
    assert "nox -s update" in capsys.readouterr().out
    assert '"-m", "plugins.update"' in (ROOT / "noxfile.py").read_text()
    command = [sys.executable, "-m", "plugins.update", "--help"]
    assert not subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stderr


# What changes a disk.
EVENTS = {"os.rename", "os.link", "os.remove", "os.mkdir", "os.chmod"}
# Commands of git that change nothing, as an update calls them.
READS = {
    *("cat-file", "ls-files", "ls-tree", "merge-base", "merge-file", "remote", "rev-parse"),
    *("symbolic-ref", "var"),
}
POINTS = 12


def changes(fork: Fork, event: str, arguments: tuple[Any, ...]) -> bool:
    """Whether an audit event announces a change of the fork: a kill before another is no case."""
    if event == "subprocess.Popen":
        return arguments[1][1] not in READS
    if not str(arguments[0]).startswith(str(fork.root)):
        return False
    if event == "open":
        return arguments[1] not in {"r", "rb", None}
    # A folder that is there already, a file that is not.
    exists = os.path.lexists(arguments[0])
    return event in EVENTS and exists == (event != "os.mkdir")


def count_or_die(fork: Fork, point: int | None) -> int:
    """Run an update in a process that kills itself before its event number `point`.

    Returns how many events there were, or -1 if it was killed.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        seen = 0

        def hook(event: str, arguments: tuple[Any, ...]) -> None:
            nonlocal seen
            if changes(fork, event, arguments):
                if seen == point:
                    os.kill(os.getpid(), signal.SIGKILL)
                seen += 1

        sys.addaudithook(hook)
        status = main([], fork.root)
        os.write(writer, str(seen if not status else 0).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return int(text) if text else -1


def prepare(path: Path) -> tuple[Fork, dict[str, str]]:
    """Return a fork with all kinds of work in it, and the texts that must survive."""
    fork = Fork(path)
    fifth = "katas/lecture05/k01_fifth.py"
    theirs = {**kata_files("k01_other", 2), **kata_files("k01_third", 3)}
    fork.publish({**theirs, **kata_files("k01_fifth", 5)})
    git(fork.root, "pull", "-q", "--ff-only", "upstream", "main")
    fork.commit({EXERCISE: SOLVED, TEST: "mine\n", fifth: f"{SOLVED}# fifth\n"})
    draft = STUB.replace("raise NotImplementedError", "return 3  # or")
    mine: dict[str, str | None] = {
        OTHER: draft,
        "katas/lecture03/k01_third.py": "all mine\n",
        "new.py": "untracked\n",
    }
    write(fork.root, mine)
    files = {EXERCISE: NEWER, OTHER: NEWER, TEST: None, "katas/lecture03/k01_third.py": NEWER}
    renamed = kata_files("k02_fifth", 5)
    table = "katas/lecture05/lecture.toml"
    renamed[table] = f'{renamed[table]}was = "k01_fifth"\n'
    renamed |= {fifth: None, "katas/lecture05/k02_fifth.py": NEWER}
    fork.publish({**files, **renamed, **kata_files("k01_fourth", 4), "new.py": "theirs\n"})
    texts = {path: str(text) for path, text in mine.items()}
    return fork, {**texts, EXERCISE: SOLVED, TEST: "mine\n", fifth: f"{SOLVED}# fifth\n"}


def copied(fork: Fork, path: Path) -> Fork:
    """Return a copy of a fork that takes from the same upstream."""
    shutil.copytree(fork.root, path, symlinks=True)
    other = copy.copy(fork)
    other.root = path
    return other


def lost(fork: Fork, texts: dict[str, str]) -> list[str]:
    """Return the files whose text is neither in place, nor in a copy, nor in the last commit."""
    folder = fork.root / ".katas/backup"
    copies = {file.read_text() for file in folder.rglob("*") if file.is_file()}
    return [
        path
        for path, text in texts.items()
        if not (fork.root / path).exists() or fork.read(path) != text
        if text not in copies and (Repo(fork.root).blob("HEAD", path) or b"").decode() != text
    ]


def result(fork: Fork) -> tuple[object, ...]:
    """Return all that an update leaves: files, index, the tree of the branch, its parents."""
    names = git(fork.root, "ls-files", "-co", "--exclude-standard").splitlines()
    files = {name: fork.read(name) for name in names if (fork.root / name).is_file()}
    shown = ("log", "-1", "--format=%T %P")
    return files, status(fork), git(fork.root, "ls-files", "--stage"), git(fork.root, *shown)


def check(killed: Fork, texts: dict[str, str], whole: tuple[object, ...]) -> None:
    """Check that nothing is lost and that a second run ends where a whole one does."""
    assert [] == lost(killed, texts)
    assert 0 == main([], killed.root)
    assert [] == lost(killed, texts)
    assert whole == result(killed)
    assert "" == git(killed.root, "fsck", "--no-dangling", "--no-progress")
    left = [file.name for file in (killed.root / ".git").iterdir() if "katas" in file.name]
    assert [] == [*left, *(killed.root / ".git").glob("*.lock")]


@pytest.mark.slow
def test_a_kill_at_any_point_loses_nothing(tmp_path: Path) -> None:
    """A sample of the points before each event is tried."""
    fork, texts = prepare(tmp_path)
    first = copied(fork, tmp_path / "whole")
    points = count_or_die(first, None)
    whole = result(first)
    chosen = sorted(random.Random(20261122).sample(range(points), min(POINTS, points)))  # noqa: S311

    assert points > POINTS
    for point in chosen:
        killed = copied(fork, tmp_path / f"killed{point}")
        assert -1 == count_or_die(killed, point)
        check(killed, texts, whole)
        shutil.rmtree(killed.root)


def test_a_kill_at_any_time_loses_nothing(tmp_path: Path) -> None:
    """``kill -9`` may come while git runs."""
    fork, texts = prepare(tmp_path)
    first = copied(fork, tmp_path / "whole")
    begun = time.monotonic()
    count_or_die(first, None)
    seconds = time.monotonic() - begun
    whole = result(first)
    for number in range(6):
        killed = copied(fork, tmp_path / f"killed{number}")
        child = os.fork()
        if not child:
            os._exit(main([], killed.root))
        time.sleep(seconds * number / 6)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        # What git was doing ends by itself.
        time.sleep(0.2)
        check(killed, texts, whole)
