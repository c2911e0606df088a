"""The comparison with a GPU and compute-sanitizer, as far as a machine without them can tell."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib import import_module
from typing import TYPE_CHECKING
from typing import Any

import pytest

from plugins import ROOT
from plugins.cuda.nvcc import find_nvcc


if TYPE_CHECKING:
    from pathlib import Path


sanitizer: Any = import_module("benchmarks.sanitizer")
RECORD = json.loads(sanitizer.RECORD.read_text(encoding="utf-8"))
HOSTS = sorted(file.stem for file in sanitizer.HOSTS.glob("*.cu"))
# Findings of the record, in the form of compute-sanitizer's output.
RACE = """========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at scan(int, int *)+0x4f0 in k12.cu:40
=========     and Read access at scan(int, int *)+0x300 in k12.cu:39 [12 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
"""
ACCESS = """========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at scan(int, const float *, float *)+0x300 in k06_warp.cu:39
=========     by thread (33,0,0) in block (0,0,0)
00000000deadbeef
========= ERROR SUMMARY: 1 error
"""
CLEAN = """========= COMPUTE-SANITIZER
00000000deadbeef
========= ERROR SUMMARY: 0 errors
"""


def test_a_draw_depends_on_the_seed_alone() -> None:
    """Without a count it takes them all."""
    known = sanitizer.wrong_kernels()
    drawn = sanitizer.draw(known, 20, 5)

    assert drawn == sanitizer.draw(known, 20, 5)
    assert drawn != sanitizer.draw(known, 20, 6)
    assert 20 == len({*drawn} & {*known})
    assert {*known} == {*sanitizer.draw(known, None, 5)}
    assert {answer.kata for answer in known} >= {"k03_axpy", "k20_last_block"}


def test_a_wrong_answer_is_the_solution_with_its_edit() -> None:
    """Every one that is listed as a fault can be applied, and has a host program."""
    known = sanitizer.wrong_kernels()
    faults = sanitizer.listed_faults()

    assert 49 == len(faults) == len({*faults})
    assert {fault.kata for fault in faults} == {*HOSTS}
    for fault in faults:
        solution = sanitizer.LECTURE / "solutions" / known[fault].file
        text = sanitizer.text_of(known[fault])
        assert text != solution.read_text(encoding="utf-8"), fault


def test_the_record_adds_up_to_its_totals() -> None:
    """And these are the numbers of the documentation."""
    verdicts = [sanitizer.Verdict(**answer) for answer in RECORD["answers"]]
    faults = [sanitizer.Fault(**fault) for fault in RECORD["faults"]]
    texts = [
        (ROOT / name).read_text(encoding="utf-8")
        for name in (
            "docs/optional.md",
            "katas/lecture09/README.md",
            "plugins/cuda/csrc/README.md",
            "benchmarks/sanitizer.py",
        )
    ]

    assert RECORD["totals"]["answers"] == sanitizer.sum_up_answers(verdicts)
    assert RECORD["totals"]["faults"] == sanitizer.sum_up_faults(faults)
    for text in texts:
        numbers = re.findall(r"\d+", text)
        assert {"182", "71", "49", "24", "26", "36"} <= {*numbers}


@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.backend("cxx")
def test_a_wrong_answer_is_tried_in_a_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the CPU in place of the GPU: it is rejected, and the stub is there again."""
    known = sanitizer.wrong_kernels()
    answer = next(answer for answer in known if answer.kata == "k03_axpy")
    run = sanitizer.run

    def on_the_cpu(command: list[str], seconds: float, **options: Any) -> tuple[int | None, str]:
        device = {"cuda": "cpu", "--device=cuda": "--device=cpu"}
        found: tuple[int | None, str]
        found = run([device.get(word, word) for word in command], seconds, **options)
        return found

    monkeypatch.setattr(sanitizer, "run", on_the_cpu)
    course = sanitizer.copy_course(tmp_path / "course")
    exercise = course / "katas/lecture09/csrc/k03_axpy.cu"
    stub = exercise.read_text(encoding="utf-8")

    verdict = sanitizer.try_answer(course, answer, known[answer])

    assert sanitizer.Verdict("k03_axpy", answer.because, "rejected") == verdict
    assert stub == exercise.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("status", "output", "outcome"),
    [
        (0, "11 passed", "accepted"),
        (1, "1 failed", "rejected"),
        (1, "still running after 20 s\n1 failed", "hung"),
        (None, "", "hung"),
        (4, "ERROR: no such file\n", "status 4: ERROR: no such file"),
        (4, "", "status 4: "),
    ],
)
def test_a_run_of_pytest_has_an_outcome(status: int | None, output: str, outcome: str) -> None:
    """What does not end is told apart from what is rejected, and what did not run from both."""
    assert outcome == sanitizer.judge(status, output)


@pytest.mark.parametrize(
    ("status", "output", "shows"),
    [(0, "a", "same"), (0, "b", "value"), (3, "error", "error"), (None, "", "hang")],
)
def test_a_run_of_a_host_program_is_compared(status: int | None, output: str, shows: str) -> None:
    """With what the solution prints."""
    assert shows == sanitizer.compare(status, output, "a")


@pytest.mark.parametrize(
    ("status", "output", "finding"),
    [
        (9, RACE, "Error: Race reported between Write access at scan("),
        (9, ACCESS, "Invalid __global__ write of size 4 bytes"),
        (9, CLEAN, "found something that it does not name"),
        (0, CLEAN, ""),
        # The program's own status, and a tool that does not end.
        (3, CLEAN, ""),
        (None, "", ""),
    ],
)
def test_the_first_finding_of_a_tool_is_kept(status: int | None, output: str, finding: str) -> None:
    """It is the first line between its heading and its summary."""
    found = sanitizer.first_finding(status, output)

    assert found.startswith(finding)
    assert bool(finding) == bool(found)


def test_the_recorded_findings_are_found_again() -> None:
    """In an output that has them where compute-sanitizer writes them."""
    findings = [line for fault in RECORD["faults"] for line in fault["found"].values()]

    assert 20 < len(findings)
    for line in findings:
        output = (
            f"========= COMPUTE-SANITIZER\n========= {line}\n========= ERROR SUMMARY: 1 error\n"
        )
        assert line == sanitizer.first_finding(9, output)


def test_a_program_that_does_not_end_is_stopped() -> None:
    """It has no status; another one has its status and its output."""
    sleep = [sys.executable, "-c", "import time; time.sleep(60)"]
    speak = [sys.executable, "-c", "print('here'); raise SystemExit(3)"]

    assert (None, "") == sanitizer.run(sleep, 0.2)
    assert (3, "here\n") == sanitizer.run(speak, 60)


def test_sums_have_all_that_was_run() -> None:
    """What did not run is counted too."""
    verdicts = [
        sanitizer.Verdict("k", f"{n}", outcome)
        for n, outcome in enumerate(("accepted", "hung", "status 4: no file", "accepted"))
    ]
    faults = [
        sanitizer.Fault("k", "a", ["same"] * 3, {"memcheck": "Invalid read"}),
        sanitizer.Fault("k", "b", ["same", "value", "same"], {}),
        sanitizer.Fault("k", "c", ["same"] * 3, {}),
    ]

    assert (
        "4 wrong answers on the GPU: 2 accepted, 0 rejected, 1 hung, 1 did not run"
        == sanitizer.sum_up_answers(verdicts)
    )
    assert (
        "3 faults: 1 show in 3 runs, 1 are found by compute-sanitizer, 2 by either"
        == sanitizer.sum_up_faults(faults)
    )


def test_a_result_is_written_as_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the form of the record, whichever comparison it is."""
    verdict = sanitizer.Verdict("k03_axpy", "it adds", "accepted")
    fault = sanitizer.Fault("k06_warp", "a mask", ["same"] * 3, {"memcheck": "Invalid read"})
    monkeypatch.setattr(sanitizer, "why_not", lambda **_: [])
    monkeypatch.setattr(sanitizer, "try_answers", lambda _answers, _workers: [verdict])
    monkeypatch.setattr(sanitizer, "check_faults", lambda _workers: [fault])
    for command, result in (("answers", verdict), ("faults", fault)):
        sanitizer.main([command, "--json", str(tmp_path / command)])
        table = json.loads((tmp_path / command).read_text())
        assert [vars(result)] == table[command]
        assert set(RECORD[command][0]) == set(table[command][0])


@pytest.mark.torch
@pytest.mark.parametrize("command", ["answers", "faults"])
def test_what_is_missing_is_said(command: str) -> None:
    """At once, with how to get it, and an exit code that is not 0."""
    if not sanitizer.why_not(sanitizer=command == "faults"):
        pytest.skip("nothing is missing here: a GPU, nvcc and compute-sanitizer")
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.sanitizer", command],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert 1 == done.returncode
    first, *reasons = done.stderr.splitlines()
    assert "this comparison cannot run here:" == first
    assert sanitizer.why_not(sanitizer=command == "faults") == reasons


@pytest.mark.slow
@pytest.mark.backend("nvcc")
@pytest.mark.parametrize("kata", HOSTS)
def test_a_host_program_compiles(tmp_path: Path, kata: str) -> None:
    """With the kernels of the solution, for an H100 or H200."""
    nvcc = find_nvcc()
    assert nvcc
    kernels = sanitizer.LECTURE / f"solutions/csrc/{kata}.cu"
    options = [*sanitizer.host_options(kernels), "-arch=sm_90", "-c"]

    nvcc.run(sanitizer.HOSTS / f"{kata}.cu", tmp_path / "host.o", options, tmp_path)

    assert (tmp_path / "host.o").is_file()
