"""``python -m tests.screenshot FILE``: the page of the course with invented progress, as a PNG.

The course is the one that stands here; that somebody has solved half of it is made up.
"""

from __future__ import annotations

import argparse
import tempfile
from datetime import UTC
from datetime import datetime
from datetime import timedelta
from pathlib import Path

from plugins.catalogue import read_catalogue
from plugins.coursemap import Place
from plugins.lectures import read_course
from plugins.pagebuild import page_of
from plugins.pagehtml import html_of
from plugins.standing import Outcome
from plugins.standing import Results
from plugins.standing import Standing
from plugins.standing import content_of
from plugins.syllabus import read_syllabus
from tests.browser import chromium
from tests.browser import missing


ROOT = Path(__file__).parents[1]
NOW = datetime(2026, 11, 22, 18, 30, tzinfo=UTC)
WIDTH, HEIGHT = 1280, 1630
# Of a hundred katas the learner is so far.
SOLVED = 43
PASSED = Outcome("passed")
AWAY = Outcome("skipped", "cuda: this machine has no NVIDIA GPU; any with CUDA 12 or newer serves")
FAILED = Outcome(
    "failed",
    "AssertionError: strides of a tensor with a dimension of size 0\n"
    "assert (3, 1) == (1, 1)\n  At index 0 diff: 3 != 1",
)


def invented() -> str:
    """Return the page of a learner who does not exist."""
    course = read_course(sorted((ROOT / "katas").glob("lecture*/")))
    katas = [kata for lecture in course.lectures for kata in lecture.katas]
    places = []
    for number, kata in enumerate(katas):
        far = 100 * number / len(katas)
        tests = {f"test_{n}": PASSED for n in range(4 + number % 5)}
        days = timedelta(
            days=(number * 7 % 5) - 4 * (SOLVED - far) ** 1.2 / 10 if far < SOLVED else 0
        )
        moment = (NOW + min(days, timedelta())).isoformat()
        if kata.kind == "cuda":
            tests = {f"{name}[cuda]": AWAY for name in tests}
        elif far > SOLVED + 8:
            places.append(Place(kata, "new", Standing()))
            continue
        elif (far > SOLVED and number % 3) or number % 17 == 11:
            tests["test_the_corner"] = FAILED
        results = Results(content_of(kata), tests, len(tests) + (number % 19 == 8))
        solved = moment if results.state == "solved" else ""
        standing = Standing(300.0 + number * 311 % 2400, moment, {}, results, solved)
        places.append(Place(kata, results.state, standing, number * 5 % 7 // 3))
    catalogue = read_catalogue([ROOT / "episodes.toml"])
    syllabus = read_syllabus(ROOT / "syllabus.toml")
    page = page_of(course, places, syllabus, catalogue=catalogue, tag="v2.13.0", now=NOW)
    return html_of(page)


def main() -> None:
    """Write the picture."""
    parser = argparse.ArgumentParser(prog="python -m tests.screenshot", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--width", type=int, default=WIDTH)
    parser.add_argument("--height", type=int, default=HEIGHT, help="0 for the whole page")
    parser.add_argument("--dark", action="store_true")
    options = parser.parse_args()
    if reason := missing():
        parser.error(reason)
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        file = Path(folder) / "page.html"
        file.write_text(invented(), encoding="utf-8")
        size = {"width": options.width, "height": options.height or HEIGHT}
        scheme = "dark" if options.dark else "light"
        page = browser.new_page(viewport=size, color_scheme=scheme)
        page.goto(file.as_uri())
        options.file.parent.mkdir(parents=True, exist_ok=True)
        if options.file.suffix == ".pdf":
            page.pdf(path=options.file, format="A4", print_background=True)
        else:
            page.screenshot(path=options.file, full_page=not options.height)


if __name__ == "__main__":
    main()
