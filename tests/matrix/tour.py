"""``python -m tests.matrix.tour`` installs, runs, records and removes each version of torch."""

from __future__ import annotations

import argparse
import platform
import signal
import sys
import time
from dataclasses import dataclass
from dataclasses import replace
from datetime import UTC
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING
from typing import NoReturn

from plugins.course.lectures import read_course
from plugins.tools.files import write_whole
from plugins.tools.locks import locked
from plugins.tools.terminal import install_group
from tests.matrix.content import content_of
from tests.matrix.place import INDEX
from tests.matrix.place import Place
from tests.matrix.place import PlaceError
from tests.matrix.results import MODES
from tests.matrix.results import Result
from tests.matrix.results import Results
from tests.matrix.results import read_junit
from tests.matrix.table import cell
from tests.matrix.table import page
from tests.matrix.versions import read_versions


if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.matrix.versions import Version


HOME = Path(__file__).parents[2]


@dataclass
class Tour:
    """A course in `root`, the versions to try it with, and the results so far."""

    root: Path
    versions: tuple[Version, ...]
    lectures: tuple[str, ...]
    results: Results

    @classmethod
    def of(cls, root: Path) -> Tour:
        """Read everything from the files of a checkout."""
        course = read_course(sorted((root / "katas").glob("lecture*/")))
        if course.errors:
            raise SystemExit("\n".join(course.errors))
        lectures = tuple(lecture.name for lecture in course.lectures)
        known = Results(root / ".katas/matrix/results.json")
        return cls(root, read_versions(root / "pyproject.toml"), lectures, known)

    def find(self, version: str, lecture: str, mode: str) -> Result | None:
        """Return a result if it is about the current files."""
        result = self.results.get(version, lecture, mode)
        return result if result and result.content == content_of(self.root, lecture) else None

    def open(self, version: Version, names: Sequence[str]) -> list[tuple[str, str]]:
        """Return the lectures and modes chosen by `names` that are still to be run."""
        if chosen(names, [it.name for it in self.versions]).isdisjoint({version.name}):
            return []
        return [
            (lecture, mode)
            # First the solved lectures: they show what needs a fix.
            for mode in MODES
            for lecture in self.lectures
            if lecture in chosen(names, self.lectures)
            if (known := self.find(version.name, lecture, mode)) is None or known.failed
        ]

    def run(self, place: Place, lecture: str, mode: str, workers: int) -> Result:
        """Run the tests of a lecture."""
        stem = self.results.file.with_name(f"{place.folder.name}-{lecture}-{mode}")
        report = stem.with_suffix(".xml")
        report.unlink(missing_ok=True)
        command = [place.python, "-m", "pytest", f"katas/{lecture}", MODES[mode], "-q"]
        command += ["-p", "no:cacheprovider", f"--junitxml={report}"]
        # Not --dist loadfile: after a crash it may wait for ever (pytest-xdist issue 1378).
        command += ["-n", str(workers)] if workers > 1 else []
        content = content_of(self.root, lecture)
        started = time.monotonic()
        status, _ = place.call(command, stem.with_suffix(".txt"))
        return replace(
            read_junit(report, status),
            seconds=round(time.monotonic() - started, 1),
            content=content,
            torch=place.torch(),
            python=platform.python_version(),
            date=datetime.now(UTC).date().isoformat(),
        )

    def write(self) -> None:
        """Write the page."""
        file = self.root / "tests/MATRIX.md"
        write_whole(file, page(self.versions, self.lectures, self.find).encode(), file.parent)


def chosen(names: Sequence[str], known: Sequence[str]) -> set[str]:
    """Return those of `known` that are named, or all of them if none is."""
    return set(names) & set(known) or set(known)


def main(arguments: Sequence[str], root: Path = HOME) -> int:
    """Run what has no result yet; return 0 if all runs were as expected."""
    tour = Tour.of(root)
    names = [*(version.name for version in tour.versions), *tour.lectures]
    about = "Run every lecture with each version of torch, and write tests/MATRIX.md."
    parser = argparse.ArgumentParser(prog="nox -s matrix --", description=about)
    parser.add_argument("names", nargs="*", help=f"any of {', '.join(names)}; all by default")
    parser.add_argument("--index-url", default=INDEX, help="wheels for the CPU: %(default)s")
    parser.add_argument("--workers", type=int, default=2, help="runs of tests at a time")
    options = parser.parse_args(arguments)
    if unknown := set(options.names) - set(names):
        parser.error(f"expected any of {', '.join(names)}; found {', '.join(sorted(unknown))}")
    folder = tour.results.file.parent
    folder.mkdir(parents=True, exist_ok=True)
    # As for Ctrl-C: the run ends too, and the environment is removed.
    signal.signal(signal.SIGTERM, stopped)
    try:
        with locked(folder / "lock"):
            return travel(tour, options.names, options.index_url, options.workers)
    except PlaceError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    finally:
        tour.write()


def stopped(number: int, _: object) -> NoReturn:
    """End the tour with the shell's status for the signal."""
    raise SystemExit(128 + number)


def travel(tour: Tour, names: Sequence[str], index: str, workers: int) -> int:
    """Try one version after the other, and print the outcome of each run."""
    try:
        from tqdm import tqdm  # noqa: PLC0415 - only the tour needs it
    except ImportError:
        raise PlaceError(f"tqdm is not installed; {install_group('matrix')}") from None

    for version in tour.versions:
        # A tour that was killed has left its environment.
        Place(tour.results.file.with_name(version.name), tour.root).remove()
    todo = {version: tour.open(version, names) for version in tour.versions}
    bad = 0
    with tqdm(total=sum(map(len, todo.values())), unit="run", disable=None) as bar:
        for version, runs in todo.items():
            if not runs:
                continue
            place = Place(tour.results.file.with_name(version.name), tour.root)
            bar.set_description(f"{version.name}: installing")
            try:
                place.make(version, index)
                for lecture, mode in runs:
                    bar.set_description(f"{version.name} {lecture} {mode}")
                    result = tour.run(place, lecture, mode, workers)
                    tour.results.keep(version.name, lecture, mode, result)
                    bad += bool(result.failed)
                    line = f"{version.name} {lecture} {mode}: {cell(result)}"
                    bar.write(f"{line}, {result.skipped} skipped, {result.seconds:.0f} s")
                    bar.update()
            finally:
                place.remove()
                tour.write()
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
