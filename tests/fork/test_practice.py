"""``nox -s practice``: the katas that a learner has worked on, in real repositories."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from plugins.practice import main
from tests.conftest import CLEARED
from tests.fork import STUB
from tests.fork import git
from tests.fork import write
from tests.practicefork import FIRST
from tests.practicefork import ROOT
from tests.practicefork import SECOND
from tests.practicefork import SOLVED
from tests.practicefork import WRONG
from tests.practicefork import PracticeFork
from tests.practicefork import settle_in


if TYPE_CHECKING:
    from pathlib import Path


TEST = "katas/lecture01/test_k01_first.py"
MOVED = STUB.replace("The brief.", "A better brief.")


@pytest.fixture
def fork(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PracticeFork:
    """Return a fork in which nothing is edited."""
    settle_in(monkeypatch, CLEARED)
    return PracticeFork(tmp_path)


@pytest.fixture
def not_run(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of the katas that would run, which none does: all did not run."""
    asked: list[str] = []

    def note(root: Path, katas: list[object]) -> dict[str, object]:
        from plugins.practice import NOT_RUN  # noqa: PLC0415 - beside what it replaces

        asked[:] = [kata.name for kata in katas]  # type: ignore[attr-defined]
        return {str(root / name): NOT_RUN for name in asked}

    monkeypatch.setattr("plugins.practice.run", note)
    return asked


def rows(text: str) -> dict[str, list[str]]:
    """Return the cells of the table, by the name of the kata."""
    found = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split(" | ")]
        if name := re.match(r"\| `(\S+)`", line):
            found[name[1]] = cells[1:]
    return found


def test_only_what_was_edited_runs(
    fork: PracticeFork, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One answer is right and one is wrong; what the shell has set does not help."""
    fork.edit()
    fork.edit(WRONG, SECOND)
    monkeypatch.setenv("KATAS_SOLUTIONS", "1")
    monkeypatch.setenv("PYTEST_ADDOPTS", "--collect-only")

    assert 1 == main(["--base", "upstream/main"], fork.root)
    out = capfd.readouterr().out
    assert "## Practice: 1 of 2 claimed katas solved" in out
    assert "1 failed, 3 passed" in out
    table = rows(out)
    assert ["lecture01/k01_first", "lecture01/k02_second"] == list(table)
    assert "solved" == table["lecture01/k01_first"][0]
    verdict, message, episode, step = table["lecture01/k02_second"]
    assert ("**fails**", "`test_twice`: `AssertionError: it has to double`") == (verdict, message)
    assert re.fullmatch(r"\[&#35;62 Strides, 20&#58;31\]\(<https://\S+>\)", episode)
    # Where the function begins that the test has called.
    assert step.startswith(
        f"edit `{SECOND}:4`, then `pytest katas/lecture01/test_k02_second.py -x`"
    )
    assert "upstream" not in out.partition("| kata |")[2]


def test_without_an_answer_it_is_green(
    fork: PracticeFork, capsys: pytest.CaptureFixture[str]
) -> None:
    """And says why; nothing runs. What has to be fetched is there already."""
    assert 0 == main(["--fetch", str(fork.bare)], fork.root)
    assert "No exercise differs from its stub" in capsys.readouterr().out


def test_a_stub_that_upstream_changed_is_no_answer(
    fork: PracticeFork, capsys: pytest.CaptureFixture[str], not_run: list[str]
) -> None:
    """Neither before an update nor after it; that there is something new is said."""
    fork.publish({FIRST: MOVED})
    git(fork.root, "fetch", "-q", "upstream")

    assert 0 == main([], fork.root)
    out = capsys.readouterr().out
    assert "- `upstream/main` has 1 commit that you do not have: `nox -s update`" in out
    git(fork.root, "merge", "-q", "upstream/main")
    assert 0 == main([], fork.root)
    assert "that you do not have" not in capsys.readouterr().out
    assert [] == not_run


def test_line_ends_are_no_answer(fork: PracticeFork, not_run: list[str]) -> None:
    """Windows may have written others."""
    fork.edit(STUB.replace("\n", "\r\n"))

    assert 0 == main([], fork.root)
    assert [] == not_run


def test_a_file_that_is_gone_is_claimed(
    fork: PracticeFork, capsys: pytest.CaptureFixture[str], not_run: list[str]
) -> None:
    """It fails, and the summary names it."""
    write(fork.root, {FIRST: None})

    assert 1 == main([], fork.root)
    assert ["k01_first"] == not_run
    assert f"edit `{FIRST}:1`" not in capsys.readouterr().out


def test_a_run_that_ends_early_is_red(
    fork: PracticeFork, capfd: pytest.CaptureFixture[str]
) -> None:
    """Whatever ended it: no verdict is no success."""
    fork.edit()
    write(fork.root, {"conftest.py": "raise SystemExit(0)\n"})

    assert 1 == main([], fork.root)
    verdict, message, _, step = rows(capfd.readouterr().out)["lecture01/k01_first"]
    assert ("**did not run**", "`pytest ended before its tests`") == (verdict, message)
    assert step.startswith("see what pytest says: `pytest katas/lecture01/test_k01_first.py -x`")


def test_other_tests_and_katas_are_noted(
    fork: PracticeFork, capsys: pytest.CaptureFixture[str], not_run: list[str]
) -> None:
    """The verdict is that of the tests that ran; a kata of one's own has no stub."""
    own = {name.replace("k01_first", "k09_mine"): STUB for name in (FIRST, TEST)}
    lecture = fork.read("katas/lecture01/lecture.toml")
    first = "[[kata]]" + lecture.split("[[kata]]")[1]
    table = lecture + "\n" + first.replace("k01_first", "k09_mine")
    write(fork.root, {FIRST: SOLVED, TEST: "mine\n", **own, "katas/lecture01/lecture.toml": table})

    main([], fork.root)
    assert ["k01_first"] == not_run
    out = capsys.readouterr().out
    assert f"- `{TEST}` is not upstream's: the verdict is that of your tests." in out
    assert f"`git checkout upstream/main -- {TEST}`" in out
    assert "- `lecture01/k09_mine` is not in `upstream/main`: a kata of your own" in out


def test_older_tests_of_upstreams_are_no_others(
    fork: PracticeFork, capsys: pytest.CaptureFixture[str], not_run: list[str]
) -> None:
    """Who is behind upstream has not changed them."""
    fork.publish({TEST: "def test(): pass\n"})
    git(fork.root, "fetch", "-q", "upstream")
    fork.edit()

    main([], fork.root)
    assert ["k01_first"] == not_run
    out = capsys.readouterr().out
    assert ("nox -s update" in out, "is not upstream's" in out) == (True, False)


def test_a_lecture_that_cannot_be_read_is_red(
    fork: PracticeFork, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its katas could be wrong."""
    write(fork.root, {FIRST: SOLVED, "katas/lecture01/lecture.toml": "title = 3\n"})

    assert 1 == main([], fork.root)
    assert "A lecture cannot be read, so its katas were not run" in capsys.readouterr().out


def test_a_runner_gets_annotations_and_the_job_its_summary(
    fork: PracticeFork,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """What a kata prints is not read as a command, and it cannot reach the runner's files."""
    job = tmp_path / "job.md"
    job.write_text("before\n")
    for name, text in {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(job)}.items():
        monkeypatch.setenv(name, text)
    head = "import os\nassert not [name for name in os.environ if name.startswith('GITHUB_')]\n"
    fork.edit(head + WRONG.replace("return", 'print("::error::mine")\n    return'))

    assert 1 == main([], fork.root)
    out = capfd.readouterr().out
    begun, token = re.search(r"^::stop-commands::(\w+)$", out, re.MULTILINE), "\n::{}::\n"
    assert begun
    inside, _, after = out.partition(token.format(begun[1]))
    assert "::error::mine" in inside.partition(begun[0])[2]
    title = "title=lecture01/k01_first%3A test_twice"
    expected = f"::error file={FIRST},line=6,{title}::AssertionError: it has to double assert 4 =="
    assert after.startswith(expected)
    assert job.read_text().startswith("before\n## Practice: 0 of 1 claimed kata solved\n")
    assert "## Practice" not in out


def test_the_summary_may_go_to_a_file(fork: PracticeFork, tmp_path: Path) -> None:
    """Whole, and in the place of what was there."""
    file = tmp_path / "summary.md"
    file.write_text("old")

    assert 0 == main(["--summary", str(file)], fork.root)
    assert file.read_text().startswith("## Practice: 0 of 0 claimed katas solved\n")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--base", "upstream/trunk"], "There is: upstream/main; name it with --base."),
        (
            ["--base", "upstream/trunk"],
            "Fetch it: git fetch upstream trunk:refs/remotes/upstream/trunk",
        ),
        (["--base", "elsewhere/main"], "Fetch the course: git remote add upstream"),
        (["--base", "v9"], "There is no v9 to compare your exercises with."),
        (["--fetch", "/nowhere", "--base", "other/main"], "git fetch: fatal: '/nowhere'"),
    ],
)
def test_a_base_that_is_not_there(
    fork: PracticeFork, capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    """The message says what to fetch, and nothing runs."""
    fork.edit()

    assert 2 == main(arguments, fork.root)
    assert says in capsys.readouterr().err


def test_a_remote_without_branches(fork: PracticeFork, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing was fetched yet."""
    git(fork.root, "update-ref", "-d", "refs/remotes/upstream/main")

    assert 2 == main([], fork.root)
    assert (
        "There is no upstream/main to compare your exercises with.\n"
        "Fetch it: git fetch upstream main:refs/remotes/upstream/main\n"
    ) == capsys.readouterr().err


def test_a_folder_without_git(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Is told so."""
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))

    assert 2 == main([], tmp_path)
    assert "This is no repository of git" in capsys.readouterr().err


def test_the_command_of_a_terminal() -> None:
    """It is what ``nox -s practice`` calls, and explains itself."""
    command = [sys.executable, "-m", "plugins.practice", "--help"]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)

    assert "--base" in done.stdout
    assert '"-m", "plugins.practice"' in (ROOT / "noxfile.py").read_text()
