"""Compares what an NVIDIA GPU and compute-sanitizer notice of wrong CUDA kernels with our tests.

    python -m benchmarks.sanitizer answers [--count N] [--seed N] [--workers N] [--json FILE]
    python -m benchmarks.sanitizer faults [--workers N] [--json FILE]

``answers`` takes the wrong answers for the ``.cu`` files of lecture 09 from its .meta, all of them
or some at random, and runs the tests of each on the GPU alone: which of them does a GPU accept?
``faults`` builds the faults of synchronisation and memory that ``benchmarks/sanitizer.json`` lists
into the programs of ``benchmarks/hosts``, runs each three times and once under each tool of
compute-sanitizer: does a value, an error, a hang or a tool show it? The tests on the CPU reject all
of both, which the gate proves (``nox -s verify -- lecture09``).

On one H200 (driver 580, CUDA 13.0, torch 2.11.0), on 2026-11-27:

- of all 182 answers the GPU accepted 71, rejected 104, and 7 did not end; of the 71, read one by
  one, about 38 are faults: a barrier, a fence, a mask, a stream, an error that is dropped, elements
  past the end or past the grid. The others waste what the kata is about, or break a rule.
- of 49 faults, three runs showed 24 and the four tools found 26; either showed 36. What neither
  did: a return before a barrier, which Volta lets pass, partial masks of shuffles, missing fences
  and fences that are too narrow.

``benchmarks/sanitizer.json`` has these results. Needs a GPU, nvcc and compute-sanitizer, which
both come with the CUDA toolkit.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING
from typing import Any

from plugins.cuda.nvcc import CUDA
from plugins.cuda.nvcc import NvccError
from plugins.cuda.nvcc import find_nvcc
from plugins.cuda.nvcc import no_nvcc
from plugins.machine.builtin import cuda_architecture
from plugins.machine.builtin import no_cuda
from tests.gate.answers import read_answers
from tests.gate.overlay import edited


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Sequence

    from plugins.cuda.nvcc import Nvcc
    from tests.gate.answers import Wrong


ROOT = Path(__file__).parents[1]
LECTURE = ROOT / "katas/lecture09"
HOSTS = ROOT / "benchmarks/hosts"
RECORD = ROOT / "benchmarks/sanitizer.json"
PROGRAM = "compute-sanitizer"
TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")
RUNS = 3
# Seconds for a run of a host program, of one under a tool, of a test, and of all tests of a kata.
PLAIN, CHECKED, TEST, TESTS = 20, 60, 20, 300
# The status of compute-sanitizer if it has found something.
FOUND = 9
# What it writes before and after its findings.
EDGE = "========="
FRAME = (
    "COMPUTE-SANITIZER",
    "ERROR SUMMARY",
    "RACECHECK SUMMARY",
    "Target application returned an error",
)
# What a copy of the course needs to run the tests of a kata.
NEEDED = ("conftest.py", "pyproject.toml", "episodes.toml", "katas", "plugins")
STILL = "still running after"


@dataclass(frozen=True)
class Answer:
    """A wrong answer to a kata, by its name in the file of wrong answers."""

    kata: str
    because: str


@dataclass(frozen=True)
class Verdict:
    """What the tests of an answer said on the GPU: accepted, rejected, hung, or what went wrong."""

    kata: str
    because: str
    outcome: str


@dataclass(frozen=True)
class Fault:
    """What runs of an answer showed: same, value, error or hang; and what each tool found."""

    kata: str
    because: str
    runs: list[str] = field(default_factory=list)
    found: dict[str, str] = field(default_factory=dict)

    @property
    def shown(self) -> bool:
        """Whether one of the runs differs from those of the reference."""
        return any(run != "same" for run in self.runs)


def wrong_kernels(folder: Path = LECTURE) -> dict[Answer, Wrong]:
    """Return the wrong answers for CUDA sources, in the order of the files."""
    return {
        Answer(file.parent.name, wrong.because): wrong
        for file in sorted(folder.glob(".meta/*/wrong.toml"))
        for wrong in read_answers(file).wrong
        if wrong.file.endswith(".cu")
    }


def draw(answers: Iterable[Answer], count: int | None, seed: int) -> list[Answer]:
    """Return `count` of the answers, or all, in an order that depends on the seed alone."""
    shuffled = [*answers]
    random.Random(seed).shuffle(shuffled)  # noqa: S311 - a sample, not a secret
    return shuffled[:count]


def text_of(wrong: Wrong) -> str:
    """Return the source of a wrong answer: the solution with its edit."""
    solution = LECTURE / "solutions" / wrong.file
    return edited(solution.read_text(encoding="utf-8"), wrong)


def why_not(*, sanitizer: bool) -> list[str]:
    """Return what this machine lacks, each with how to get it."""
    missing = [no_cuda(), no_nvcc()]
    if sanitizer and not find_sanitizer():
        missing.append(f"{PROGRAM} is not installed; it comes with the CUDA toolkit")
    return [reason for reason in missing if reason]


def find_sanitizer() -> str | None:
    """Return where compute-sanitizer is: on PATH, or in the CUDA toolkit."""
    return shutil.which(PROGRAM) or shutil.which(PROGRAM, path=str(Path(CUDA, "bin")))


def judge(status: int | None, output: str) -> str:
    """Return the outcome of a run of pytest; its status is None if it did not end."""
    if status is None or STILL in output:
        return "hung"
    lines = output.strip().splitlines() or [""]
    return {0: "accepted", 1: "rejected"}.get(status, f"status {status}: {lines[-1]}")


def run(command: Sequence[str], seconds: float, **options: Any) -> tuple[int | None, str]:
    """Run a command; return its status, or None if it did not end in time, and its output."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=seconds, **options
        )
    except subprocess.TimeoutExpired:
        return None, ""
    return done.returncode, done.stdout


def try_answer(course: Path, answer: Answer, wrong: Wrong) -> Verdict:
    """Run the tests of a kata on the GPU with a wrong answer, in a copy of the course."""
    exercise = course / "katas/lecture09" / wrong.file
    stub = exercise.read_text(encoding="utf-8")
    exercise.write_text(text_of(wrong), encoding="utf-8")
    command = (
        *(sys.executable, "-m", "pytest", f"katas/lecture09/test_{answer.kata}.py", "-qx"),
        *("-m", "cuda", "--device=cuda", "-p", "no:cacheprovider", "-o", f"kata_timeout={TEST}"),
    )
    environment = {**os.environ, "KATAS_BUILD": str(ROOT / ".katas/build")}
    outcome = judge(*run(command, TESTS, cwd=course, env=environment))
    exercise.write_text(stub, encoding="utf-8")
    return Verdict(answer.kata, answer.because, outcome)


def copy_course(target: Path) -> Path:
    """Copy what the tests of a kata need, and return the folder."""
    target.mkdir()
    for name in NEEDED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, target / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target / name)
    return target


def try_answers(answers: Sequence[Answer], workers: int) -> list[Verdict]:
    """Run the tests of each answer on the GPU, several at once."""
    known = wrong_kernels()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(workers) as pool:
        courses = SimpleQueue[Path]()
        for number in range(workers):
            courses.put(copy_course(Path(folder, f"{number}")))

        def one(answer: Answer) -> Verdict:
            course = courses.get()
            try:
                return try_answer(course, answer, known[answer])
            finally:
                courses.put(course)

        return [*pool.map(one, answers)]


def listed_faults(record: Path = RECORD) -> list[Answer]:
    """Return the answers that the list names as faults of synchronisation or memory."""
    table = json.loads(record.read_text(encoding="utf-8"))
    return [Answer(fault["kata"], fault["because"]) for fault in table["faults"]]


def host_options(kernels: Path) -> list[str]:
    """Return nvcc's options for the host program of these kernels."""
    headers = (f"-I{LECTURE / 'csrc'}", f"-I{HOSTS}")
    return ["-O2", "-lineinfo", *headers, "-include", str(kernels)]


def build(nvcc: Nvcc, kata: str, text: str, folder: Path) -> Path:
    """Build the host program of a kata with the kernels in `text`, and return it."""
    kernels, program = folder / f"{kata}.cu", folder / kata
    kernels.write_text(text, encoding="utf-8")
    options = [*host_options(kernels), f"-arch={cuda_architecture()}"]
    nvcc.run(HOSTS / f"{kata}.cu", program, options, folder)
    return program


def compare(status: int | None, output: str, reference: str) -> str:
    """Return what a run shows: hang, error, value, or the same as the reference."""
    if status is None:
        return "hang"
    if status:
        return "error"
    return "same" if output == reference else "value"


def first_finding(status: int | None, output: str) -> str:
    """Return the first line of what a tool of compute-sanitizer has found, or nothing."""
    if status != FOUND:
        return ""
    lines = [line.removeprefix(EDGE).strip() for line in output.splitlines() if EDGE in line]
    found = [line for line in lines if line and not line.startswith(FRAME)]
    return found[0] if found else "found something that it does not name"


def check_fault(nvcc: Nvcc, kata: str, because: str, text: str, reference: str) -> Fault:
    """Run a fault three times, and under each tool unless it does not end by itself."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            program = str(build(nvcc, kata, text, Path(folder)))
        except NvccError as error:
            sys.exit(f"{kata}, {because}: {error}")
        runs = [compare(*run([program], PLAIN), reference) for _ in range(RUNS)]
        found = {}
        for tool in TOOLS if "hang" not in runs else ():
            command = [find_sanitizer() or PROGRAM, "--tool", tool]
            command += ["--error-exitcode", f"{FOUND}", program]
            if line := first_finding(*run(command, CHECKED)):
                found[tool] = line
    return Fault(kata, because, runs, found)


def reference_output(nvcc: Nvcc, kata: str) -> str:
    """Return what the host program of a kata prints with the solution."""
    with tempfile.TemporaryDirectory() as folder:
        solution = LECTURE / f"solutions/csrc/{kata}.cu"
        program = build(nvcc, kata, solution.read_text(encoding="utf-8"), Path(folder))
        status, output = run([str(program)], PLAIN)
    if status != 0:
        sys.exit(f"the solution of {kata} fails on this GPU: {output or 'it does not end'}")
    return output


def check_faults(workers: int) -> list[Fault]:
    """Run every fault of the list, several at once."""
    nvcc = find_nvcc()
    assert nvcc, no_nvcc()
    faults, known = listed_faults(), wrong_kernels()
    katas = sorted({fault.kata for fault in faults})
    with ThreadPoolExecutor(workers) as pool:
        outputs = pool.map(lambda kata: reference_output(nvcc, kata), katas)
        references = dict(zip(katas, outputs, strict=True))

        def one(fault: Answer) -> Fault:
            text = text_of(known[fault])
            return check_fault(nvcc, fault.kata, fault.because, text, references[fault.kata])

        return [*pool.map(one, faults)]


def sum_up_answers(verdicts: Sequence[Verdict]) -> str:
    """Return the line that the documentation has, and what went wrong."""
    outcomes = [verdict.outcome for verdict in verdicts]
    counted = {name: outcomes.count(name) for name in ("accepted", "rejected", "hung")}
    parts = [f"{count} {name}" for name, count in counted.items()]
    if odd := len(outcomes) - sum(counted.values()):
        parts.append(f"{odd} did not run")
    return f"{len(outcomes)} wrong answers on the GPU: {', '.join(parts)}"


def sum_up_faults(faults: Sequence[Fault]) -> str:
    """Return the line that the documentation has."""
    shown = sum(fault.shown for fault in faults)
    found = sum(bool(fault.found) for fault in faults)
    either = sum(fault.shown or bool(fault.found) for fault in faults)
    return (
        f"{len(faults)} faults: {shown} show in {RUNS} runs, {found} are found by {PROGRAM}, "
        f"{either} by either"
    )


def arguments_of(words: Sequence[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.sanitizer", description=(__doc__ or "").partition("\n")[0]
    )
    commands = parser.add_subparsers(dest="command", required=True)
    answers = commands.add_parser("answers", help="run the tests of wrong answers on the GPU")
    answers.add_argument("--count", type=int, help="how many answers (default: all)")
    answers.add_argument("--seed", type=int, default=5, help="which ones (default: 5)")
    faults = commands.add_parser("faults", help="run faults alone and under compute-sanitizer")
    for command in (answers, faults):
        command.add_argument("--workers", type=int, default=8, help="at once (default: 8)")
        command.add_argument("--json", type=Path, metavar="FILE", help="write the results there")
    return parser.parse_args(words)


def main(words: Sequence[str]) -> None:
    """Run a comparison and print each result and the sum."""
    arguments = arguments_of(words)
    faults = arguments.command == "faults"
    if missing := why_not(sanitizer=faults):
        sys.exit("\n".join(["this comparison cannot run here:", *missing]))
    results: Sequence[Verdict | Fault]
    if faults:
        results = checked = check_faults(arguments.workers)
        for fault in checked:
            found = ", ".join(f"{tool}: {line}" for tool, line in fault.found.items()) or "-"
            print(f"{fault.kata:15} {'/'.join(fault.runs):17} {fault.because}\n    {found}")
        total = sum_up_faults(checked)
    else:
        drawn = draw(wrong_kernels(), arguments.count, arguments.seed)
        results = verdicts = try_answers(drawn, arguments.workers)
        for verdict in verdicts:
            print(f"{verdict.kata:15} {verdict.outcome:9} {verdict.because}")
        total = sum_up_answers(verdicts)
    print(total)
    if arguments.json:
        table = {"total": total, arguments.command: [asdict(result) for result in results]}
        arguments.json.write_text(f"{json.dumps(table, indent=1)}\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
