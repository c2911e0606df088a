"""``nox -s verify``: its report, what it enters in the ledger, and what a stop leaves behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.gate import selection
from tests.gate import verify
from tests.gate.ledger import proof_file
from tests.gate.ledger import proof_problems
from tests.gate.ledger import read_proof
from tests.gate.ledger import write_proof
from tests.gate.mutant import Mutant
from tests.gate.prove import Prover
from tests.gate.prove import Row
from tests.gate.runner import HOME
from tests.gate.table import proof_table
from tests.gate.table import report
from tests.gate.table import table
from tests.support.smallkata import SOLUTION
from tests.support.smallkata import STUB
from tests.support.smallkata import TEST


if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from plugins.course.model import Kata
    from tests.gate.ledger import Proof
    from tests.gate.runner import Runner
    from tests.support.smallkata import Small

    Verify = Callable[..., tuple[int, str]]


@pytest.fixture
def run(
    small: Small,
    runner: Runner,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Verify:
    """Return a function that runs the command on the small course: the status, what it prints."""
    monkeypatch.setattr(verify, "HOME", small.course.path)
    # A process of its own takes as long to start as the runs of most of these tests.
    monkeypatch.setattr(verify, "Runner", lambda _: nullcontext(runner))

    def run(*arguments: str) -> tuple[int, str]:
        status = verify.main([*arguments, "--jobs", "1"])
        return status, capsys.readouterr().out

    return run


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Prove katas without running them, and return the list of their names."""
    proved: list[str] = []

    def prove(_: Prover, kata: Kata) -> Row:
        proved.append(kata.name)
        return Row(kata.id, cells={"seconds": "1"})

    monkeypatch.setattr(Prover, "prove", prove)
    return proved


def test_libraries_within_the_repository(
    run: Verify, small: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is proved with them: a run would open files that no key can rest on."""
    inside = small.course.path / ".venv"
    monkeypatch.setattr(sys, "prefix", str(inside))

    status, text = run("all")

    assert 2 == status
    assert f"environment, {inside.resolve()}, lies in the repository" in text
    assert "python -m venv ../" in text
    for elsewhere in (inside.parent.with_name("venv"), f"{small.course.path}-venv"):
        assert "" == verify.environment_within(small.course.path, str(elsewhere))


def more_katas(small: Small) -> None:
    """Add a second and a third kata, each as good as the first."""
    for name in ("k02_clamp", "k03_clamp"):
        test = TEST.replace("k01_clamp", name)
        small.course.kata(name, test, stub=STUB, solution=SOLUTION)
        wrong = (small.kata.meta / "wrong.toml").read_text()
        place = f"katas/lecture01/.meta/{name}/wrong.toml"
        small.course.write(place, wrong.replace("k01_clamp", name))


def commit(small: Small, *names: str) -> None:
    """Commit these files of the course, or all."""
    identity = ("-c", "user.name=k", "-c", "user.email=k@example.com")
    for arguments in (("init", "-q"), ("add", *(names or (".",))), ("commit", "-qm", "more")):
        subprocess.run(["git", *identity, *arguments], cwd=small.course.path, check=True)


def test_a_good_kata_is_entered(small: Small, run: Verify) -> None:
    """The report says so, the entry stands, and the table of proofs has it."""
    status, out = run("lecture01", "k01", "--write")

    assert status == 0
    row = [cell.strip() for cell in out.splitlines()[2].split("|")[1:-2]]
    assert row == ["lecture01/k01_clamp", "4", "red", "yes", "3/3", "", "13/13", "20/20"]
    assert "1 of 1 katas proved and entered." in out
    assert proof_problems(small.gate, small.kata) == []
    _, out = run("lecture01", "--table")
    assert out == f"{proof_table(small.gate.katas)}\n"
    assert "| lecture01/k01_clamp | 4     | 3/3   |       | 13/13   | 2          | 20/20" in out

    assert run("--due") == (0, "Every proof is up to date.\n")


def test_survivors_and_problems_come_first(small: Small, run: Verify) -> None:
    """The status is 1, the survivor is shown as a diff, and nothing is entered."""
    small.edit("test_k01_clamp.py", "assert clamp(0, 1, 3) == 1", "assert clamp(0, 1, 3) < 2")
    status, out = run("lecture01", "k01", "--repeats", "1", "--write", "--only", "mutants,flakes")

    assert status == 1
    assert out.startswith("survivor  lecture01/k01_clamp  k01_clamp.py:")
    assert "PROBLEM  lecture01/k01_clamp  mutants: " in out
    assert "0 of 1 katas proved" in out
    assert "no proof  lecture01/k01_clamp  not all checks were run" in out
    assert not proof_file(small.kata).exists()


def test_only_what_is_asked_for(run: Verify) -> None:
    """--only leaves the other cells empty."""
    status, out = run("all", "--only", "unsolved")

    assert status == 0
    row = out.splitlines()[2]
    assert [cell.strip() for cell in row.split("|")[2:8]] == ["4", "red", "yes", "", "", ""]


@pytest.mark.parametrize("arguments", [["lecture09"], ["lecture01", "k09"]])
def test_a_kata_that_is_not_there(run: Verify, arguments: list[str]) -> None:
    """A name that matches no kata is an error, not a green table."""
    assert run(*arguments) == (2, "no such kata\n")


def test_a_lecture_that_cannot_be_read(small: Small, run: Verify) -> None:
    """The error in lecture.toml is printed instead of a report."""
    small.course.write("katas/lecture01/lecture.toml", 'title = "no syllabus"\n')
    status, out = run("lecture01")

    assert status == 2
    assert "lecture.toml: syllabus: expected" in out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ["lecture01", "--only", "mutant"],
            "expected unsolved, solved, wrong, right, mutants, flakes; found mutant",
        ),
        (["--again"], "--again needs --minutes"),
        (
            [],
            "name a lecture, or all, or give --due, --base, --aged, --again, --table or --canaries",
        ),
        (["--due", "--again", "--minutes", "1"], "not allowed with argument --due"),
    ],
)
def test_a_command_line_that_says_too_little(
    capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    """It is refused with what is missing."""
    with pytest.raises(SystemExit):
        verify.main(arguments)

    assert says in capsys.readouterr().err


def test_what_is_due_is_proved_and_nothing_else(
    small: Small, run: Verify, quick: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Katas whose entry is missing or stale."""
    more_katas(small)
    stale = {small.gate.katas[0].id, small.gate.katas[2].id}
    monkeypatch.setattr(selection, "proof_problems", lambda _, kata: ["stale"] * (kata.id in stale))
    run("--due")

    assert sorted(quick) == ["k01_clamp", "k03_clamp"]


def test_time_over(small: Small, run: Verify, quick: list[str]) -> None:
    """A kata that would not end in time is not begun; with --base that is red, with the command."""
    commit(small)
    more_katas(small)
    status, out = run("--base", "HEAD", "--minutes", "0.01")

    assert quick == []
    assert status == 1
    assert "Not proved, since the time was over or a process has ended: lecture01/k01_clamp" in out
    assert "nox -s verify -- lecture01 k02_clamp\n" in out


def test_a_base_that_git_does_not_know(small: Small, run: Verify) -> None:
    """It is an error in git's words."""
    commit(small)
    status, out = run("--base", "origin/nowhere")

    assert status == 2
    assert out.startswith("--base origin/nowhere: git merge-base: ")


@pytest.mark.usefixtures("short")
def test_proofs_that_a_branch_changes_are_made_again(
    small: Small, run: Verify, proof: Proof, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A forged entry is found, by its counts."""
    commit(small)
    assert run("--base", "HEAD") == (0, "Every proof is up to date.\n")

    forged = replace(proof, tests={**proof.tests, "all": 9, "red": 9})
    write_proof(small.kata, forged)
    commit(small)
    status, out = run("--base", "HEAD~1")
    assert status == 1
    assert "PROBLEM  lecture01/k01_clamp  proof: the entry says tests: all 9, but it is 4" in out

    monkeypatch.setattr(selection, "proof_problems", lambda *_: [])
    status, out = run("--again", "--minutes", "60", "--seed", "7")
    assert status == 1
    assert "Proved again in 60 minutes, seed 7: lecture01/k01_clamp." in out
    assert "Not proved again: 0 of 1 katas.\nEverything: nox -s verify -- all\n" in out


@pytest.mark.parametrize("error", [RuntimeError("the gate's server has ended"), KeyError("x")])
def test_a_kata_that_cannot_be_proved_is_red(
    small: Small, run: Verify, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """It is named with the error, and so is what a process that has ended leaves undone."""

    def prove(_: Prover, _kata: Kata) -> Row:
        raise error

    more_katas(small)
    monkeypatch.setattr(Prover, "prove", prove)
    status, out = run("all")

    assert status == 1
    assert f"PROBLEM  lecture01/k01_clamp  gate: it could not be proved: {error!r}"[:60] in out
    named = [kata for kata in small.gate.katas if out.count(kata.id)]
    assert len(named) == 3
    left = "Not proved, since the time was over or a process has ended: lecture01/k02_clamp"
    assert (left in out) is isinstance(error, RuntimeError)


@pytest.mark.parametrize("which", [["all"], ["--due"], ["--base", "HEAD"], ["lecture01", "k02"]])
def test_a_kata_without_a_proof_is_red(
    small: Small, run: Verify, quick: list[str], which: list[str]
) -> None:
    """If all checks were asked for, whatever the reason is; with fewer checks it is not."""
    commit(small)
    more_katas(small)
    assert run(*which)[0] == 1
    assert run(*which, "--quick")[0] == 0
    assert run(*which, "--repeats", "1")[0] == 0
    assert quick


@pytest.mark.usefixtures("proof")
def test_the_table_has_a_row_for_each_kata(small: Small, run: Verify) -> None:
    """It is empty where there is no entry; of a lecture, its katas alone."""
    more_katas(small)
    small.course.kata("k01_other", "def test_it(): pass", lecture="lecture02")
    status, out = run("all", "--table")

    assert status == 0
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in out.splitlines()[2:-2]]
    names = ["lecture01/k01_clamp", "lecture01/k02_clamp", "lecture01/k03_clamp"]
    assert [row[0] for row in rows] == [*names, "lecture02/k01_other"]
    assert [row[1] for row in rows] == ["4", "", "", ""]
    assert "lecture02" not in run("lecture01", "--table")[1]


@pytest.mark.usefixtures("short")
def test_a_forged_entry_is_found_where_it_is_written_anew(
    small: Small, run: Verify, proof: Proof
) -> None:
    """Each night all proofs are written: the difference is red, and the right entry stands."""
    forged = replace(proof, tests={**proof.tests, "all": 9, "red": 9}, seconds=9999)
    write_proof(small.kata, forged)
    status, out = run("all", "--write")

    assert status == 1
    assert "proof: the entry says tests: all 9, but it is 4" in out
    assert "proof: the entry says 9999 seconds, but it took" in out
    assert read_proof(proof_file(small.kata)).tests == proof.tests
    assert run("all", "--write")[0] == 0


@pytest.mark.parametrize(
    ("workers", "arguments", "jobs"),
    [("3", [], 3), ("3", ["--jobs", "2"], 2), ("auto", [], 7), ("", [], 7), (None, [], 7)],
)
def test_as_many_katas_at_a_time_as_workers(
    monkeypatch: pytest.MonkeyPatch, workers: str | None, arguments: list[str], jobs: int
) -> None:
    """KATAS_WORKERS is what tox uses, too."""
    monkeypatch.setattr(verify, "usable_processors", lambda: 7)
    monkeypatch.delenv("KATAS_WORKERS", raising=False)
    if workers is not None:
        monkeypatch.setenv("KATAS_WORKERS", workers)

    assert verify.read_options(["all", *arguments]).jobs == jobs


def test_a_sample_says_what_it_leaves_out(small: Small, run: Verify, quick: list[str]) -> None:
    """Where three katas take two minutes each, five minutes are enough for two."""
    more_katas(small)
    status, out = run("--again", "--minutes", "5", "--seed", "3")

    assert status == 0
    assert len(quick) == 2
    # Those two were run, and gave no proof.
    assert "seed 3: none.\n" in out
    assert "Not proved again: 3 of 3 katas: lecture01/k01_clamp, lecture01/k02_clamp, l" in out

    _, out = run("--again", "--minutes", "1", "--seed", "3")
    assert len(quick) == 3
    assert "Too long for 1 minutes, whichever are drawn: lecture01/" in out


def test_the_parts_are_the_whole(small: Small, run: Verify, quick: list[str]) -> None:
    """Each kata is in one shard."""
    more_katas(small)
    for part in ("1/2", "2/2"):
        run("all", "--shard", part)

    assert sorted(quick) == ["k01_clamp", "k02_clamp", "k03_clamp"]


def test_the_nights_are_the_whole(
    small: Small, run: Verify, quick: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each kata is proved in one of them."""
    more_katas(small)
    for day in (739_000, 739_001):
        monkeypatch.setattr(verify, "today", lambda day=day: day)
        run("all", "--nights", "2")

    assert len(quick) == 3
    assert sorted(quick) == ["k01_clamp", "k02_clamp", "k03_clamp"]


def test_what_would_be_proved_is_listed(small: Small, run: Verify, quick: list[str]) -> None:
    """With the time that it takes, and nothing is run."""
    more_katas(small)
    status, out = run("all", "--due", "--list")

    assert status == 0
    assert quick == []
    assert out.splitlines()[0] == "lecture01/k01_clamp  120 s"
    assert out.splitlines()[-1] == "3 katas, 6 minutes, one after the other."


@pytest.mark.usefixtures("short")
def test_an_aged_proof_is_made_anew(small: Small, run: Verify, proof: Proof) -> None:
    """By the engine of today; then there is none left."""
    write_proof(small.kata, replace(proof, engine="older"))
    status, out = run("--aged", "--write", "--repeats", "1")

    assert status == 0, out
    assert read_proof(proof_file(small.kata)).engine == proof.engine
    assert run("--aged") == (0, "Every proof is up to date.\n")


def test_a_blind_run_is_entered(
    small: Small, run: Verify, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """How many tests a whole other answer passes, in the entry and in the table."""
    answer = tmp_path / "answer.py"
    answer.write_text(SOLUTION.replace("return low", "return x"))
    status, out = run("lecture01", "k01", "--blind", str(answer))
    assert status == 2
    assert "; first nox -s verify -- lecture01 k01_clamp --write" in out

    request.getfixturevalue("proof")
    assert run("lecture01", "k01", "--blind", str(answer)) == (
        0,
        "lecture01/k01_clamp: 3 of 4 tests pass\n",
    )
    (line,) = read_proof(proof_file(small.kata)).blind
    assert (line["tests"], line["passed"]) == (4, 3)
    assert proof_problems(small.gate, small.kata) == []
    assert "| 20/20   | 1     |" in proof_table(small.gate.katas)

    more_katas(small)
    assert run("lecture01", "--blind", str(answer))[1] == "--blind is for one kata, these are 3\n"


def test_what_was_proved_is_kept_when_it_is_stopped(small: Small) -> None:
    """Ctrl-C in the second kata loses nothing of the first; the same command goes on there."""
    more_katas(small)
    code = (
        "import pathlib, signal, sys\n"
        "from tests.gate import verify\n"
        # A shell's background job, and so every process in it, ignores the signal.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"verify.HOME = pathlib.Path({str(small.course.path)!r})\n"
        "sys.exit(verify.main(sys.argv[1:]))\n"
    )
    command = [sys.executable, "-c", code, "--due", "--write", "--jobs", "1"]
    process = subprocess.Popen(
        command,
        cwd=HOME,
        env={**os.environ, "PYTHONPATH": str(HOME)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr
    assert process.stderr.readline().startswith("1/3 lecture01/")
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)

    assert process.returncode == 130
    assert "Stopped; the same command goes on where this one ended." in out
    left = [kata for kata in small.gate.katas if proof_problems(small.gate, kata)]
    assert len(left) in {1, 2}
    done = [kata for kata in small.gate.katas if kata not in left]
    entry = json.loads(proof_file(done[0]).read_text())
    assert entry["kata"] == done[0].id


def test_the_table_is_aligned() -> None:
    """Rows of any width make one Markdown table."""
    lines = table(("kata", "wrong"), [("lecture01/k01_first", "3/3"), ("a", "")]).splitlines()

    assert len({len(line) for line in lines}) == 1
    assert lines[1].strip("|-") == ""
    assert "3/3" in lines[2]


def test_the_report_shows_what_survived() -> None:
    """A survivor is named by file, line, function and operator."""
    row = Row("lecture01/k01_first")
    row.survivors = (Mutant("k01_first.py", "", "constant", 7, "-a = 1\n+a = 2", ""),)

    assert report([row]).startswith(
        "survivor  lecture01/k01_first  k01_first.py:7 in the module  (constant)\n-a = 1\n+a = 2\n"
    )


def test_a_problem_is_told_once(small: Small, run: Verify) -> None:
    """Also one that keeps a check from running: the layout has told it."""
    small.edit(".meta/k01_clamp/wrong.toml", '"return low"', '"return none"')
    _, out = run("lecture01", "k01", "--only", "wrong")
    wrong = small.kata.meta / "wrong.toml"
    wrong.write_text(wrong.read_text().replace("because", "why", 1))
    _, other = run("lecture01", "k01", "--only", "wrong")

    assert 1 == out.count("PROBLEM ") == out.count("is found 0 times"), out
    assert 1 == other.count("PROBLEM ") == other.count("because: expected a string"), other


@pytest.mark.parametrize("one", [True, False], ids=["a log", "two files"])
def test_a_log_has_each_problem_once(
    small: Small,
    monkeypatch: pytest.MonkeyPatch,
    runner: Runner,
    capfd: pytest.CaptureFixture[str],
    *,
    one: bool,
) -> None:
    """Of several katas as soon as it is found; the report then counts what stands above it."""

    def prove(_: Prover, kata: Kata) -> Row:
        return Row(
            kata.id, {"seconds": "1"}, [("layout", "one"), ("layout", "two")][: int(kata.name[2])]
        )

    more_katas(small)
    monkeypatch.setattr(verify, "HOME", small.course.path)
    monkeypatch.setattr(verify, "Runner", lambda _: nullcontext(runner))
    monkeypatch.setattr(Prover, "prove", prove)
    if one:
        monkeypatch.setattr(sys, "stderr", sys.stdout)
    verify.main(["lecture01", "--jobs", "1"])
    out, err = capfd.readouterr()

    assert ("" if one else err).count("    layout: ") == (0 if one else 5)
    assert 5 == (out if one else err).count("    layout: ")
    counted = [line for line in out.splitlines() if line.startswith("PROBLEM ")]
    if one:
        assert counted == [
            "PROBLEM  lecture01/k01_clamp  1 problem, told above",
            "PROBLEM  lecture01/k02_clamp  2 problems, told above",
            "PROBLEM  lecture01/k03_clamp  2 problems, told above",
        ]
    assert (3 if one else 5) == len(counted)
