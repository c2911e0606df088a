"""``nox -s practice``: the katas that a learner has worked on, in real repositories."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from plugins import ROOT
from plugins.fork.practice import main
from tests.conftest import CLEARED
from tests.support.fork import STUB
from tests.support.fork import git
from tests.support.fork import write
from tests.support.practicefork import FIRST
from tests.support.practicefork import SECOND
from tests.support.practicefork import SOLVED
from tests.support.practicefork import WRONG
from tests.support.practicefork import PracticeFork
from tests.support.practicefork import settle_in


TEST = "katas/lecture01/test_k01_first.py"
MOVED = STUB.replace("The brief.", "A better brief.")


@pytest.fixture
def fork(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PracticeFork:
    """Return a fork in which nothing is edited."""
    settle_in(monkeypatch, CLEARED)
    return PracticeFork(tmp_path)


@pytest.fixture
def not_run(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of the katas that would run; none does."""
    asked: list[str] = []

    def note(root: Path, katas: list[object]) -> dict[str, object]:
        from plugins.fork.practice import NOT_RUN  # noqa: PLC0415 - beside what it replaces

        asked[:] = [kata.name for kata in katas]  # type: ignore[attr-defined]
        return {str(root / name): NOT_RUN for name in asked}

    monkeypatch.setattr("plugins.fork.practice.run_katas", note)
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
    """One answer is right and one is wrong; variables of the shell change nothing."""
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
    assert re.fullmatch(r"\[&#35;62 Strides, 20:31\]\(<https://\S+>\)", episode)
    # Where the function begins that the test has called.
    assert step.startswith(
        f"edit `{SECOND}:4`, then `pytest katas/lecture01/test_k02_second.py -x`"
    )
    assert "upstream" not in out.partition("| kata |")[2]


def test_the_table_is_what_is_printed(
    fork: PracticeFork, capfd: pytest.CaptureFixture[str]
) -> None:
    """What pytest prints, however long it is, lies in a file that is named."""
    fork.edit(WRONG)
    many = "".join(
        f"\n\ndef test_{n}() -> None:\n    assert {n} == kata.answer(1)\n" for n in range(90)
    )
    write(fork.root, {TEST: fork.read(TEST) + many})

    assert 1 == main(["--base", "upstream/main"], fork.root)
    before, _, table = capfd.readouterr().out.partition("## Practice")
    running, passed, nothing = before.splitlines()
    assert "Running 1 kata; what pytest prints goes to .katas/practice.log" == running
    assert re.fullmatch(r"90 failed, 2 passed in .+s", passed)
    assert "" == nothing
    assert "lecture01/k01_first" in table
    log = (fork.root / ".katas/practice.log").read_text()
    assert len(log.splitlines()) > 20
    assert "AssertionError: it has to double" in log


def test_in_ci_the_log_of_the_job_has_everything(
    fork: PracticeFork, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No user would look for a file there."""
    monkeypatch.setenv("CI", "1")
    fork.edit(WRONG)

    assert 1 == main([], fork.root)
    assert "in test_twice" in capfd.readouterr().out.partition("## Practice")[0]
    assert not (fork.root / ".katas/practice.log").exists()


def test_a_checkout_that_cannot_be_written_to_has_its_output_elsewhere(
    fork: PracticeFork, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the folder for temporary files, under the name that is printed."""
    monkeypatch.setattr("plugins.fork.practice.OUTPUT", f"{FIRST}/practice.log")
    fork.edit(WRONG)

    assert 1 == main([], fork.root)
    first = capfd.readouterr().out.splitlines()[0]
    log = Path(first.partition(" goes to ")[2])
    assert log.is_absolute()
    assert "it has to double" in log.read_text()
    log.unlink()


def test_without_an_answer_it_is_green(
    fork: PracticeFork, capsys: pytest.CaptureFixture[str]
) -> None:
    """The summary says why, nothing runs, and a remote that exists is fetched."""
    assert 0 == main(["--fetch", str(fork.bare)], fork.root)
    assert "No exercise differs from its stub" in capsys.readouterr().out


def test_a_stub_that_upstream_changed_is_no_answer(
    fork: PracticeFork, capsys: pytest.CaptureFixture[str], not_run: list[str]
) -> None:
    """Neither before an update nor after it; a note counts the new commits."""
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
    """CRLF instead of LF claims no kata."""
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
    """A kata without a verdict counts as a failure; what pytest said at last is shown."""
    fork.edit()
    write(fork.root, {"conftest.py": "print('why it ends')\nraise SystemExit(0)\n"})

    assert 1 == main([], fork.root)
    out = capfd.readouterr().out
    assert "why it ends\n" in out.partition("## Practice")[0]
    verdict, message, _, step = rows(out)["lecture01/k01_first"]
    assert ("**did not run**", "`pytest ended before its tests`") == (verdict, message)
    assert step.startswith("see what pytest says: `pytest katas/lecture01/test_k01_first.py -x`")


def test_other_tests_and_katas_are_noted(
    fork: PracticeFork, capsys: pytest.CaptureFixture[str], not_run: list[str]
) -> None:
    """The verdict comes from the tests that ran; a kata of one's own has no stub."""
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
    """A fork that is behind upstream has not changed them."""
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
    """Its katas did not run, so the status is 1."""
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
    """Whole, instead of what it held before."""
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
    """The message has the command that fetches the branch."""
    git(fork.root, "update-ref", "-d", "refs/remotes/upstream/main")

    assert 2 == main([], fork.root)
    assert (
        "There is no upstream/main to compare your exercises with.\n"
        "Fetch it: git fetch upstream main:refs/remotes/upstream/main\n"
    ) == capsys.readouterr().err


def test_a_folder_without_git(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Holds nothing to compare with."""
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))

    assert 2 == main([], tmp_path)
    assert "Not a git repository" in capsys.readouterr().err


def test_a_summary_that_nobody_reads(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """``| head`` is no error of a file, which the command would report."""

    def write(*_: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr("plugins.fork.practice.practise", write)
    with pytest.raises(BrokenPipeError):
        main([], tmp_path)

    assert "" == capsys.readouterr().err


def test_the_command_of_a_terminal() -> None:
    """``nox -s practice`` calls it, and --help explains it."""
    command = [sys.executable, "-m", "plugins.practice", "--help"]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)

    assert "--base" in done.stdout
    assert '"-m", "plugins.practice"' in (ROOT / "noxfile.py").read_text()
