"""``nox -s practice``: runs the katas that you have worked on, and no others.

    python -m plugins.practice [--base upstream/main] [--fetch ADDRESS] [--summary FILE]

Which these are is decided by `plugins.claimed`. The summary in Markdown goes to FILE, to the job
summary of a workflow, or to stdout. The status is 0 if each of these katas is solved or cannot run
here, 1 if one is not, and 2 if nothing could be compared.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from plugins import practicenotes
from plugins.annotations import error
from plugins.annotations import on_a_runner
from plugins.annotations import unread
from plugins.annotations import without_runner
from plugins.catalogue import read_catalogue
from plugins.claimed import claimed
from plugins.claimed import first_changed
from plugins.exercisetext import exercise_texts
from plugins.frames import called_place
from plugins.frames import edit_place
from plugins.frames import mentioned
from plugins.frames import read_failure
from plugins.gitrepo import GitError
from plugins.gitrepo import Repo
from plugins.junitresults import FAMILY
from plugins.junitresults import Result
from plugins.junitresults import read_results
from plugins.lectures import read_course
from plugins.practicesummary import Practised
from plugins.practicesummary import summary
from plugins.reading import reading_of
from plugins.reset import RefusedError


if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Sequence

    from plugins.catalogue import Catalogue
    from plugins.frames import Failure
    from plugins.layout import Kata


# The learner's own answers, whatever the shell has set.
CLEARED = ("KATAS_SOLUTIONS", "KATAS_OVERLAY", "PYTEST_ADDOPTS")
NOT_RUN = Result("did not run", message="pytest ended before its tests")


def run(root: Path, katas: Sequence[Kata]) -> dict[str, Result]:
    """Run the tests of these katas and return how each went, by the path of its test module."""
    tests = [kata.test.relative_to(root).as_posix() for kata in katas]
    environment = {
        name: text for name, text in without_runner(os.environ).items() if name not in CLEARED
    }
    with tempfile.TemporaryDirectory(prefix="katas-") as folder:
        file = Path(folder, "results.xml")
        options = ["-q", "--tb=short", "-o", FAMILY, f"--junitxml={file}"]
        # One that cannot be imported does not keep the others from running.
        options.append("--continue-on-collection-errors")
        subprocess.run(  # noqa: S603 - ourselves
            [sys.executable, "-m", "pytest", *tests, *options],
            cwd=root,
            env=environment,
            check=False,
        )
        found = read_results(file)
    return {test: found.get(test, NOT_RUN) for test in tests}


def told(repo: Repo, base: str, kata: Kata, result: Result, catalogue: Catalogue) -> Practised:
    """Add to a result what the summary says about its kata."""
    root = repo.root
    place = the_place(repo, base, read_failure(result.text), exercise_texts(kata, root))
    test = kata.test.relative_to(root).as_posix()
    episodes = reading_of(kata, kata.episodes, catalogue, "main", "").episodes
    return Practised(kata, result, test, place, episodes)


def the_place(repo: Repo, base: str, failure: Failure, files: Mapping[str, str]) -> tuple[str, int]:
    """Return the line to edit; a wrong result is noticed in the test, and no line has failed."""
    raised = any(call.path in files for call in failure.calls)
    named = raised or mentioned("\n".join(failure.message), files)
    if not named and (found := called_place(failure, files)):
        return found
    path, line = edit_place(failure, files)
    return path, line if line > 1 else first_changed(repo, base, path)


def practise(root: Path, asked: str, address: str, file: Path | None) -> int:
    """Do it all; return the status of the command."""
    repo = Repo(root)
    base = practicenotes.base_of(repo, asked, address)
    course = read_course(sorted((root / "katas").glob("lecture*/")))
    claims = claimed(repo, course, base)
    sys.stdout.flush()
    with unread(os.environ, practicenotes.say):
        results = run(root, claims.katas) if claims.katas else {}
    catalogue = read_catalogue([root / "episodes.toml"])
    practised = [
        told(repo, base, kata, result, catalogue)
        for kata, result in zip(claims.katas, results.values(), strict=True)
    ]
    failing = [each for each in practised if each.result.verdict in {"fails", "did not run"}]
    if on_a_runner(os.environ):
        for each in failing:
            title = f"{each.kata.id}: {each.result.test or each.kata.title}"
            practicenotes.say(f"{error(*each.place, title, each.result.message)}\n")
    notes = practicenotes.notes(repo, base, claims, course.errors)
    practicenotes.write(summary(practised, base, notes), file)
    return 1 if failing or course.errors else 0


def main(arguments: Sequence[str], root: Path) -> int:
    """Do what the command line asks for; return its status."""
    parser = argparse.ArgumentParser(
        prog="practice", description="Run the katas that you have worked on."
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
    except (RefusedError, GitError, OSError) as problem:
        sys.stderr.write(f"{problem}\n")
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], Path(__file__).parents[1]))
