"""``nox -s practice``: runs the katas that you have worked on, and no others.

    python -m plugins.practice [--base upstream/main] [--fetch ADDRESS] [--summary FILE]

`plugins.fork.claimed` finds these. What pytest prints goes to ``.katas/practice.log``, or in CI to
stdout. The summary in Markdown goes to FILE, to the job summary of a workflow, or to stdout. The
status is 0 if each of these katas is solved or cannot run here, 1 if one is not, and 2 if nothing
could be compared.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from plugins.course.files import exercise_texts
from plugins.course.lectures import read_course
from plugins.fork.actions import error_command
from plugins.fork.actions import hide_runner
from plugins.fork.actions import on_a_runner
from plugins.fork.actions import print_now
from plugins.fork.actions import stop_commands
from plugins.fork.actions import write_summary
from plugins.fork.claimed import find_claims
from plugins.fork.claimed import first_changed_line
from plugins.fork.results import FAMILY
from plugins.fork.results import Result
from plugins.fork.results import read_results
from plugins.fork.summary import Practised
from plugins.fork.summary import collect_notes
from plugins.fork.summary import format_practice
from plugins.fork.upstream import RefusedError
from plugins.fork.upstream import find_base
from plugins.guide.catalogue import read_catalogue
from plugins.guide.definitions import read_text
from plugins.guide.reading import reading_of
from plugins.guide.traceback import edit_place
from plugins.tools.git import GitError
from plugins.tools.git import Repo


if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Sequence

    from plugins.course.model import Kata
    from plugins.guide.catalogue import Catalogue
    from plugins.guide.failure import Failure


# The learner's own answers, whatever the shell has set.
CLEARED = ("KATAS_SOLUTIONS", "KATAS_OVERLAY", "PYTEST_ADDOPTS")
NOT_RUN = Result("did not run", message="pytest ended before its tests")
# What pytest prints, and how many lines of it are shown if it ends early.
OUTPUT = ".katas/practice.log"
LINES = 30


def run_katas(root: Path, katas: Sequence[Kata]) -> dict[str, Result]:
    """Run the tests of these katas and return how each went, by the path of its test module."""
    tests = [kata.test.relative_to(root).as_posix() for kata in katas]
    environment = {
        name: text for name, text in hide_runner(os.environ).items() if name not in CLEARED
    }
    output = output_file(root)
    if output:
        count = f"{len(tests)} {'kata' if len(tests) == 1 else 'katas'}"
        name = output.relative_to(root) if output.is_relative_to(root) else output
        print_now(f"Running {count}; what pytest prints goes to {name}\n")
    with (
        tempfile.TemporaryDirectory(prefix="katas-") as folder,
        output.open("wb") if output else nullcontext() as stream,
    ):
        file = Path(folder, "results.xml")
        options = ["-q", "--tb=short", "-o", FAMILY, f"--junitxml={file}"]
        # A module that cannot be imported does not keep the others from running.
        options.append("--continue-on-collection-errors")
        subprocess.run(  # noqa: S603 - ourselves
            [sys.executable, "-m", "pytest", *tests, *options],
            cwd=root,
            env=environment,
            stdout=stream,
            stderr=subprocess.STDOUT if stream else None,
            check=False,
        )
        extra = {test: kata.extra for test, kata in zip(tests, katas, strict=True)}
        found = read_results(file, extra)
    if output:
        print_now(end_of(output, 1 if found.keys() >= {*tests} else LINES))
    return {test: found.get(test, NOT_RUN) for test in tests}


def output_file(root: Path) -> Path | None:
    """Return the file for what pytest prints; none in CI, where the job's log is all that stays."""
    if os.environ.get("CI") or on_a_runner(os.environ):
        return None
    file = root / OUTPUT
    try:
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(b"")
    except OSError:
        # A checkout that cannot be written to can be practised in.
        file = Path(tempfile.mkdtemp(prefix="katas-"), file.name)
    return file


def end_of(file: Path, lines: int) -> str:
    """Return the last lines of a file: how many tests passed, or why pytest ended."""
    found = file.read_text(encoding="utf-8", errors="replace").rstrip().splitlines()
    return "".join(f"{line}\n" for line in found[-lines:])


def add_advice(
    repo: Repo, base: str, kata: Kata, result: Result, catalogue: Catalogue
) -> Practised:
    """Add the place to edit and the episodes of its kata to a result."""
    root = repo.root
    test = kata.test.relative_to(root).as_posix()
    tests = {test: read_text(kata.test)}
    place = find_place(repo, base, result.failure, exercise_texts(kata, root), tests)
    episodes = reading_of(kata, kata.episodes, catalogue, "main", "").episodes
    return Practised(kata, result, test, place, episodes)


def find_place(
    repo: Repo,
    base: str,
    failure: Failure | None,
    files: Mapping[str, str],
    tests: Mapping[str, str],
) -> tuple[str, int]:
    """Return the file and the line to edit: the first changed one, if the failure names none."""
    path, line = edit_place(failure, files, tests=tests)
    return path, line if line > 1 else first_changed_line(repo, base, path)


def practise(root: Path, asked: str, address: str, file: Path | None) -> int:
    """Run the claimed katas and write the summary; return the status of the command."""
    repo = Repo(root)
    base = find_base(repo, asked, address)
    course = read_course(sorted((root / "katas").glob("lecture*/")))
    claims = find_claims(repo, course, base)
    sys.stdout.flush()
    with stop_commands(os.environ, print_now):
        results = run_katas(root, claims.katas) if claims.katas else {}
    catalogue = read_catalogue([root / "episodes.toml"])
    practised = [
        add_advice(repo, base, kata, result, catalogue)
        for kata, result in zip(claims.katas, results.values(), strict=True)
    ]
    failing = [each for each in practised if each.result.verdict in {"fails", "did not run"}]
    if on_a_runner(os.environ):
        for each in failing:
            title = f"{each.kata.id}: {each.result.test or each.kata.title}"
            print_now(f"{error_command(*each.place, title, each.result.message)}\n")
    remarks = collect_notes(repo, base, claims, course.errors)
    write_summary(format_practice(practised, base, remarks), file)
    return 1 if failing or course.errors else 0


def main(arguments: Sequence[str], root: Path) -> int:
    """Run the command line; return its status."""
    parser = argparse.ArgumentParser(
        prog="python -m plugins.practice", description="Run the katas that you have worked on."
    )
    parser.add_argument(
        "--base", default="", help="the branch with the stubs (default: upstream's)"
    )
    parser.add_argument(
        "--fetch", metavar="ADDRESS", default="", help="fetch it first; the course is at ADDRESS"
    )
    parser.add_argument(
        "--summary", metavar="FILE", type=Path, help="where to write the summary in Markdown"
    )
    options = parser.parse_args(arguments)
    try:
        return practise(root, options.base, options.fetch, options.summary)
    except BrokenPipeError:
        # stdout was closed early.
        raise
    except (RefusedError, GitError, OSError) as problem:
        sys.stderr.write(f"{problem}\n")
        return 2
