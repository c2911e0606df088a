"""The guard: what a pull request is, from real differences in real repositories."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from plugins import ROOT
from plugins.fork.judge import Change
from plugins.fork.judge import judge
from plugins.fork.pullrequest import describe_judgement
from plugins.fork.pullrequest import main
from tests.support.fork import SOLVED
from tests.support.fork import STUB
from tests.support.fork import Fork
from tests.support.fork import git
from tests.support.fork import kata_files


if TYPE_CHECKING:
    from pathlib import Path


KATA = "katas/lecture01/k01_first.py"
TEST = "katas/lecture01/test_k01_first.py"
SOLUTION = "katas/lecture01/solutions/k01_first.py"
CXX = "katas/lecture02/csrc/k02_cpp.cpp"
GIVEN = "katas/lecture02/csrc/k02_cpp.h"
BRIEF = STUB.replace("The brief.", "A better brief.")
OTHER_STUB = STUB.replace("(n)", "(count)")
OTHER_SOLUTION = SOLVED.replace("(n)", "(count)")
NOTES = "# Notes\n"

Files = dict[str, str | None]


@pytest.fixture
def fork(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fork:
    """Return a fork of two lectures, on a branch of its own."""
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)
    fork = Fork(tmp_path)
    files = kata_files("k02_cpp", 2, csrc="csrc/k02_cpp.cpp")
    given = "int given() { return 1; }\n"
    fork.publish({**files, CXX: "// TODO\nreturn 0;\n", GIVEN: given})
    git(fork.root, "pull", "-q", "--ff-only", "upstream", "main")
    git(fork.root, "switch", "-q", "-c", "a-branch")
    return fork


PRACTICE: dict[str, Files] = {
    "an answer": {KATA: SOLVED},
    "an answer below its TODO": {KATA: STUB.replace("raise", "return 2 * n  # raise")},
    "an answer that does not compile": {KATA: STUB.replace("raise", "return return")},
    "an answer in C++": {CXX: "// TODO\nreturn 1;\n"},
    "an answer, and a comment elsewhere": {KATA: SOLVED, CXX: "// TODO now\nreturn 0;\n"},
}
MIXED: dict[str, Files] = {
    "an answer and notes": {KATA: SOLVED, "notes.md": NOTES},
    "an answer and its tests": {KATA: SOLVED, TEST: "def test(): assert True\n"},
    "no stub is left": {KATA: SOLVED, TEST: "def test(): pass\n\n", SOLUTION: OTHER_SOLUTION},
    "an answer and a contribution": {KATA: SOLVED, "plugins/new.py": NOTES},
    "an answer that leaves its TODO, and its tests": {
        KATA: STUB.replace("raise", "return 2 * n  # raise"),
        TEST: "def test(): assert 1\n",
    },
}
CONTRIBUTION: dict[str, Files] = {
    "a better brief": {KATA: BRIEF},
    "a comment in C++": {CXX: "// TODO: better\nreturn 0;\n"},
    "a repaired import": {KATA: STUB.replace("\n\n\n", "\n\nimport math\n\n\n")},
    "a repaired signature": {KATA: OTHER_STUB},
    "a stub that only its tests follow": {KATA: OTHER_STUB, TEST: "def test(): assert 1\n"},
    "an include in C++": {CXX: "#include <cmath>\n// TODO\nreturn 0;\n"},
    "a source that was given": {GIVEN: "int given() { return 2; }\n"},
    "stub, tests and solution": {
        KATA: OTHER_STUB,
        TEST: "def test(): assert 1\n",
        SOLUTION: OTHER_SOLUTION,
    },
    "tests alone": {TEST: "def test(): assert 1\n"},
    "a wrong answer": {"katas/lecture01/.meta/k01_first/wrong.toml": "a = 1\n"},
    "a new kata": kata_files("k03_new", 3),
    "a kata less": {KATA: None, TEST: None, SOLUTION: None},
    "a plugin": {"plugins/new.py": NOTES},
}


def judged(fork: Fork, files: Files, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Return the status for these changes, and the output."""
    fork.commit(files)
    status = main(["--base", "upstream/main", "--head", "a-branch"], fork.root)
    return status, capsys.readouterr().out


@pytest.mark.parametrize("name", PRACTICE)
def test_answers_are_recognised(fork: Fork, capsys: pytest.CaptureFixture[str], name: str) -> None:
    """The output says, in kind words, how to go on in the fork."""
    status, out = judged(fork, PRACTICE[name], capsys)

    assert 1 == status
    assert out.startswith("## These are answers to exercises: they belong in your fork\n\n- `lect")
    for told in ("Thank you", "nothing of yours is lost", "nox -s practice", "nox -s reset -- "):
        assert told in out
    assert max(map(len, out.splitlines())) <= 90


@pytest.mark.parametrize("name", MIXED)
def test_answers_beside_other_changes(
    fork: Fork, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """The other changes are named, for they are welcome by themselves."""
    status, out = judged(fork, MIXED[name], capsys)

    assert 1 == status
    assert "## Answers to exercises are among these changes" in out
    rest = [path for path in MIXED[name] if path != KATA]
    assert [f"- `{path}`" for path in sorted(rest)] == out.rpartition(":\n\n")[2].splitlines()


@pytest.mark.parametrize("name", CONTRIBUTION)
def test_contributions_pass(fork: Fork, capsys: pytest.CaptureFixture[str], name: str) -> None:
    """The output has the commands that put the katas through the gate."""
    status, out = judged(fork, CONTRIBUTION[name], capsys)

    assert (0, True) == (status, out.startswith("## This is a contribution to the course"))
    for part in ("k01_first", "k03_new"):
        touched = any(part in path for path in CONTRIBUTION[name])
        assert touched == any(f"verify -- lecture0{n} {part}\n" in out for n in (1, 3))


def test_nothing_at_all(fork: Fork, capsys: pytest.CaptureFixture[str]) -> None:
    """It is no contribution and no failure, though upstream has gone on."""
    fork.publish({KATA: BRIEF})
    git(fork.root, "fetch", "-q", "upstream")

    assert 0 == main([], fork.root)
    assert "## Nothing differs\n" == capsys.readouterr().out


@pytest.mark.parametrize(("names", "says"), [("a", "1 file is"), ("ab", "2 files are")])
def test_work_that_is_not_committed_is_mentioned(
    fork: Fork, capsys: pytest.CaptureFixture[str], names: str, says: str
) -> None:
    """It is not judged: a commit is."""
    for name in names:
        (fork.root / name).write_text("new")

    assert 0 == main([], fork.root)
    assert f"{says} not committed: see git status." in capsys.readouterr().out


def test_a_pull_request_is_only_read(
    fork: Fork,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """It is fetched into a checkout of upstream; names of files cannot write commands."""
    path = "notes ##[error]`mine`.md"
    fork.commit({KATA: SOLVED, path: NOTES})
    git(fork.root, "push", "-q", "upstream", "a-branch:refs/pull/12/head")
    git(fork.authors, "fetch", "-q")
    for name, text in {"ACTIONS": "true", "STEP_SUMMARY": str(tmp_path / "job.md")}.items():
        monkeypatch.setenv(f"GITHUB_{name}", text)

    assert 1 == main(["--base", "main", "--fetch", "refs/pull/12/head"], fork.authors)
    assert STUB == (fork.authors / KATA).read_text()
    out = capsys.readouterr().out.splitlines()
    stops = [number for number, line in enumerate(out) if line.startswith("::stop-commands::")]
    token = out[stops[0]].removeprefix("::stop-commands::")
    shown = next(number for number, line in enumerate(out) if "##[error]" in line)
    assert stops[0] < shown < out.index(f"::{token}::")
    assert "::error::Answers to exercises are among these changes" == out[-1]
    assert f"- `` {path} ``" in (tmp_path / "job.md").read_text()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--base", "upstream/trunk"], "There is no upstream/trunk to compare"),
        (["--head", "nowhere"], "There is no commit nowhere: fetch it"),
        (["--base", "alone"], "have no commit in common; a shallow clone lacks it"),
        (["--fetch", "pull/99/head"], "git fetch: fatal: "),
    ],
)
def test_what_cannot_be_compared(
    fork: Fork, capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    """The message says what to fetch."""
    alone = git(fork.root, "commit-tree", "-m", "x", "HEAD^{tree}")
    git(fork.root, "branch", "alone", alone)

    assert 2 == main(arguments, fork.root)
    assert says in capsys.readouterr().err


def test_many_files_are_counted() -> None:
    """Ten are named, the rest are counted."""
    files = [Change(f"notes{number:02}.md", None, b"") for number in range(12)]
    text = describe_judgement(judge([*files, Change(KATA, STUB.encode(), SOLVED.encode())]))

    assert "- `notes09.md`\n- and 2 more\n" in text


@pytest.mark.parametrize("options", [[], ["-S"]], ids=["as it is", "without packages"])
def test_the_command_of_a_terminal(options: list[str]) -> None:
    """Its help needs nothing but Python."""
    command = [sys.executable, *options, "-m", "plugins.guard", "--help"]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)

    assert "--fetch" in done.stdout
