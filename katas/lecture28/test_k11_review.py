"""Tests of k11_review: CI and users try each pull request with your suggestions."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from katas.lecture28.k11_review import Suggestion
from katas.lecture28.k11_review import review
from katas.lecture28.repository import SECONDS
from katas.lecture28.repository import environment
from katas.lecture28.repository import newest


NUMBERS = [1, 2, 3, 4, 5, 6]
CI = ".github/workflows/ci.yaml"
HUNK = re.compile(r"@@ -\S+ \+(\d+)\S* @@")
# Does what users do beyond CI, and prints what they would report.
USERS = """
import importlib, math, sys
root = sys.argv[1]
sys.path[:0] = [root, root + "/tools", root + "/test"]
sys.dont_write_bytecode = True
codegen = importlib.import_module("codegen")
ops = importlib.import_module("tinytorch.ops")
values, step = [math.sqrt(2), -math.sqrt(3), math.pi / 4], 1e-6
derivatives = codegen.read("derivatives.yaml")
for name, (arguments, _) in codegen.read("native_functions.yaml").items():
    op, meta = getattr(ops, name), getattr(ops, name + "_meta")
    inputs = [[x + place / 7 for x in values] for place in range(len(arguments))]
    op(*map(list, inputs))
    given = [list(each) for each in inputs]
    result = op(*given)
    if given != inputs:
        print(f"I still need the tensor that I gave to {name}, and it has other values now")
    for place, argument in enumerate(arguments):
        if name in derivatives:
            up, down = (
                op(*([x + d * (i == place) for x in each] for i, each in enumerate(inputs)))
                for d in (step, -step)
            )
            grad = [math.e, -math.sqrt(5), math.log(2)]
            slopes = [g * (a - b) / (2 * step) for g, a, b in zip(grad, up, down)]
            grads = getattr(ops, name + "_backward")(grad, *map(list, inputs))
            if not all(math.isclose(a, b, rel_tol=1e-5) for a, b in zip(slopes, grads[argument])):
                print(f"my model does not learn: gradcheck finds the derivative of {name} off")
    if name == "eq":
        for sizes in ((a, b) for a in (3, 1, 2, 0, 7, 20) for b in (1, 3, 2, 0, 7, 20)):
            fit = sizes[0] == sizes[1] or 1 in sizes
            if fit and meta(*sizes) != len(op(*([1.0] * size for size in sizes))):
                which = ", where one input is empty," * (0 in sizes)
                print(f"eq of sizes {sizes}{which} has another size in the compiler than when run")
                break
    if name == "round":
        halves = [*(place / 4 for place in range(-40, 41)), 1e6 + 0.5, math.pi]
        if op(list(halves)) != [float(round(x)) for x in halves]:
            print("my sums drift: halves are not rounded to the even number, as the docs say")
        info = {each.name: each for each in importlib.import_module("opinfo").op_db}[name]
        ops.kernels.round_cpu = lambda self: [math.floor(x + 0.5) for x in self]
        tried = [x for sample in info.samples for each in sample for x in each]
        if all(info.reference(x) == op([x])[0] for x in tried):
            print("round has rounded 0.5 up since yesterday, and its test has not noticed")
"""


def applied(folder: Path, number: int, suggestions: list[Suggestion]) -> Path:
    """Write tinytorch with a pull request and suggestions into a folder, and return it."""
    __tracebackhide__ = True
    diff = Path(__file__).parent / "reviews" / f"pr{number}.diff"
    for path, text in newest().items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, "utf-8")
    subprocess.run(
        ["git", "apply", "-"],  # noqa: S607 - wherever it is installed
        input=diff.read_bytes(),
        cwd=folder,
        env=environment(folder),
        check=True,
        timeout=SECONDS,
    )
    added = added_lines(diff.read_text("utf-8"))
    for path, line, better in suggestions:
        places = [at for where, at, text in added if (where, text.strip()) == (path, line.strip())]
        assert len(places) == 1, (
            f"pull request {number} adds {line!r} to {path} {len(places)} times, expected once:"
            " suggest for a line of the diff that begins with +"
        )
        lines = (folder / path).read_text("utf-8").splitlines()
        old = lines[places[0]]
        lines[places[0]] = old[: len(old) - len(old.lstrip())] + better.strip()
        (folder / path).write_text("\n".join(lines) + "\n", "utf-8")
    return folder


def added_lines(diff: str) -> list[tuple[str, int, str]]:
    """Return the lines that a diff adds: path, line number in the new file, text."""
    found = []
    path, place = "", 0
    for line in diff.splitlines():
        if line.startswith("+++ b/"):
            path = line.removeprefix("+++ b/")
        elif hunk := HUNK.match(line):
            place = int(hunk[1]) - 1
        elif line.startswith("+"):
            found.append((path, place, line[1:]))
            place += 1
        elif line.startswith(" "):
            place += 1
    return found


def python(folder: Path, *arguments: str) -> str:
    """Run Python in a folder and return its output."""
    done = subprocess.run(  # noqa: S603 - ourselves
        [sys.executable, "-I", "-S", *arguments],
        cwd=folder,
        env=environment(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    return f"{done.stdout}" if done.returncode or arguments[0] == "-c" else ""


def red(folder: Path) -> str:
    """Return the output of failing tests or workflow steps, or "" if all pass."""
    said = python(folder, "test/run.py")
    if (folder / CI).read_text("utf-8") != newest()[CI]:
        said = said or workflow(folder)
    return "\n".join(said.splitlines()[-3:])


def reports(folder: Path) -> str:
    """Return the problem that users of this tree would report, or "" if there is none."""
    said = python(folder, "-c", USERS, str(folder)).strip()
    changed = (folder / CI).read_text("utf-8") != newest()[CI]
    if changed and not workflow(folder, broken=True):
        said += "\nadd has subtracted for a week, and CI was green"
    return said.strip()


def workflow(folder: Path, *, broken: bool = False) -> str:
    """Run the steps of the workflow in a copy, where add subtracts if it is `broken`.

    Returns "" if all steps pass, otherwise the output of the first failing one.
    """
    copy = folder / f"copy-{broken}"
    shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("copy-*"))
    if broken:
        kernels = copy / "tinytorch/kernels.py"
        kernels.write_text(kernels.read_text("utf-8").replace("[a + b for", "[a - b for"), "utf-8")
    text = (copy / CI).read_text("utf-8")
    there = environment(copy)
    there["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{there['PATH']}"
    for block in re.split(r"^ +- ", text, flags=re.MULTILINE)[1:]:
        found = re.search(r"^ *run: (.+)$", block, re.MULTILINE)
        # A step that may fail, or does not always run, checks nothing.
        if not found or re.search(r"^ *(?:if|continue-on-error):", block, re.MULTILINE):
            continue
        step = found[1]
        # How GitHub runs a step without a `shell` field, and a step with `shell: bash`.
        options = ["-eo", "pipefail"] if "shell: bash" in block else ["-e"]
        done = subprocess.run(  # noqa: S603 - the workflow, with the learner's line
            ["bash", *options, "-c", step],  # noqa: S607 - wherever it is installed
            cwd=copy,
            env=there,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        if done.returncode:
            return f"{done.stdout}{step!r} ends with status {done.returncode}"
    return ""


@pytest.mark.given
@pytest.mark.parametrize("number", NUMBERS)
def test_ci_is_green_before(tmp_path: Path, number: int) -> None:
    """CI notices none of the faults."""
    said = red(applied(tmp_path, number, []))
    assert not said, f"expected pull request {number} to pass CI without any changes:\n{said}"


@pytest.mark.parametrize("number", NUMBERS)
def test_it_can_be_merged(tmp_path: Path, number: int) -> None:
    """With your suggestions CI is green, and no user reports a problem."""
    found = review(number)
    folder = applied(tmp_path, number, found)
    said = red(folder)
    assert not said, (
        f"with your {len(found)} suggestions CI is red for pull request {number}, expected green:\n"
        f"{said}"
    )
    said = reports(folder)
    what = f"your {len(found)} suggestions" if found else "your approval"
    assert not said, (
        f"pull request {number} is merged with {what}, and a week later an issue says:\n  {said}"
        "\nWhich line added by the pull request does that?"
    )


@pytest.mark.parametrize("number", NUMBERS)
def test_what_is_right_is_approved(tmp_path: Path, number: int) -> None:
    """A suggestion costs the author a round of review; a needless suggestion costs trust."""
    found = review(number)
    if found:
        folder = tmp_path / "as-it-is"
        folder.mkdir()
        folder = applied(folder, number, [])
        assert red(folder) or reports(folder), (
            f"pull request {number} is correct, but you make {len(found)} suggestions,"
            " expected an approval"
        )
    for each in found:
        # Re-enabling a test fixes nothing today but is welcome.
        if each.path.startswith("test/"):
            continue
        others = [other for other in found if other != each]
        folder = tmp_path / f"{found.index(each)}"
        folder.mkdir()
        folder = applied(folder, number, others)
        assert red(folder) or reports(folder), (
            f"pull request {number} can be merged without your {each.better!r}, expected"
            " only suggestions that fix something"
        )
