"""``python -m tests.screenshot FILE`` takes a picture of the course's page, as a PNG.

The course is real; the progress of its learner is invented.
"""

from __future__ import annotations

import argparse
import tempfile
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from plugins.course.files import content_of
from plugins.progress.map import Place
from plugins.progress.pagehtml import html_of
from plugins.progress.standing import Results
from plugins.progress.standing import Standing
from plugins.progress.standing import TestOutcome
from tests.support.browser import chromium
from tests.support.browser import missing
from tests.support.wholecourse import NOW
from tests.support.wholecourse import real_katas
from tests.support.wholecourse import untouched
from tests.support.wholecourse import whole_page


if TYPE_CHECKING:
    from plugins.course.model import Kata


WIDTH, HEIGHT = 1280, 1770
# The percentage of the katas that the learner has solved.
SOLVED = 43
PASSED = TestOutcome("passed")
AWAY = TestOutcome(
    "skipped", "cuda: this machine has no NVIDIA GPU; any with CUDA 12 or newer serves"
)
FAILED = TestOutcome(
    "failed",
    "AssertionError: strides of a tensor with a dimension of size 0\n"
    "assert (3, 1) == (1, 1)\n  At index 0 diff: 3 != 1",
)


def invented(number: int, kata: Kata) -> Place:
    """Return the place of a kata for an invented learner."""
    far = 100 * number / len(real_katas())
    tests = {f"test_{n}": PASSED for n in range(4 + number % 5)}
    days = timedelta(days=(number * 7 % 5) - 4 * (SOLVED - far) ** 1.2 / 10 if far < SOLVED else 0)
    moment = (NOW + min(days, timedelta())).isoformat()
    if kata.kind == "cuda":
        tests = {f"{name}[cuda]": AWAY for name in tests}
    elif far > SOLVED + 8:
        return untouched(number, kata)
    elif (far > SOLVED and number % 3) or number % 17 == 11:
        tests["test_the_corner"] = FAILED
    results = Results(content_of(kata), tests, len(tests) + (number % 19 == 8))
    solved = moment if results.state == "solved" else ""
    standing = Standing(300.0 + number * 311 % 2400, moment, {}, results, solved)
    return Place(kata, results.state, standing, number * 5 % 7 // 3)


def main() -> None:
    """Take and write the picture."""
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
        file.write_text(html_of(whole_page(invented)), encoding="utf-8")
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
