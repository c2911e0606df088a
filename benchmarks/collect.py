"""Times the collection of tests: a course of many times as many katas, against this one.

    python benchmarks/collect.py [TIMES [RUNS]]

The large course stands in a temporary folder and has each lecture TIMES times, under names of its
own. ``pytest katas --collect-only`` runs on both in turn; the medians of the processor's seconds
for a test are compared.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path


ROOT = Path(__file__).parents[1]
GOAL = 1.1
NAME = re.compile(r"lecture\d\d")
# What pytest and the plugins read of the course, its lectures aside.
PARTS = ("*.toml", "conftest.py", "plugins", "katas/*.py")
COMMAND = (sys.executable, "-m", "pytest", "katas", "--collect-only", "-q")
# A learner's Python writes bytecode, for the tests too.
ENVIRONMENT = {
    name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
}


def names(lectures: list[str], times: int) -> list[dict[str, str]]:
    """Return what each lecture is called in each of the copies, the first of which is the course.

    Raises
    ------
    ValueError
        If there are more copies than names with two digits.
    """
    free = iter(sorted({f"lecture{number:02}" for number in range(100)} - {*lectures}))
    try:
        more = [{lecture: next(free) for lecture in lectures} for _ in range(times - 1)]
    except StopIteration:
        raise ValueError(f"no names are left for {times} times {len(lectures)} lectures") from None
    return [dict(zip(lectures, lectures, strict=True)), *more]


def make(folder: Path, times: int) -> None:
    """Write the large course; every mention of a lecture is that of its own copy."""
    skipped = shutil.ignore_patterns(".*", "__pycache__")
    for path in (path for pattern in PARTS for path in ROOT.glob(pattern)):
        copy = folder / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            shutil.copytree(path, copy, ignore=skipped)
        else:
            shutil.copy(path, copy)
    lectures = sorted(path.name for path in (ROOT / "katas").iterdir() if NAME.fullmatch(path.name))
    for renamed in names(lectures, times):
        for lecture, name in renamed.items():
            copy = folder / "katas" / name
            shutil.copytree(ROOT / "katas" / lecture, copy, ignore=skipped)
            for file in (file for file in copy.rglob("*") if file.is_file()):
                text = file.read_text(encoding="utf-8")
                text = NAME.sub(lambda match, new=renamed: new.get(match[0], match[0]), text)
                file.write_text(text, encoding="utf-8")


def collected(folder: Path) -> tuple[float, int]:
    """Return the processor's seconds for one collection, and the number of tests."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        COMMAND, cwd=folder, env=ENVIRONMENT, check=False, stdout=subprocess.PIPE, text=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    found = re.search(r"^(\d+) tests collected", done.stdout, re.MULTILINE)
    if done.returncode or not found:
        sys.exit(done.stdout)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, int(found[1])


def main() -> None:
    """Run both in turn and print the medians and their ratio."""
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 5  # noqa: PLR2004 - the second argument
    with tempfile.TemporaryDirectory() as temporary:
        large = Path(temporary, "course")
        make(large, times)
        # The first time, pytest compiles the tests.
        (_, few), (_, many) = collected(ROOT), collected(large)
        pairs = [(collected(ROOT)[0], collected(large)[0]) for _ in range(runs)]
    one, other = (statistics.median(column) for column in zip(*pairs, strict=True))
    for name, seconds, tests in (
        ("this course", one, few),
        (f"{times} times that", other, many),
        ("the difference", other - one, many - few),
    ):
        print(
            f"{name:15} {seconds:6.2f} s   {tests:6} tests   {1e3 * seconds / tests:5.2f} ms each"
        )
    print(f"ratio           {other / many / (one / few):6.2f}  (goal: at most {GOAL})")


if __name__ == "__main__":
    main()
