"""The limits of the sizes: each rule catches a kata or a lecture, and lets another pass."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from plugins.course.model import Kata
from plugins.course.model import Lecture
from tests.gate.rules import broken_rules
from tests.gate.sizes import LIMITS
from tests.gate.sizes import broken_lecture_rules
from tests.gate.sizes import code_lines
from tests.gate.sizes import count_added
from tests.gate.sizes import count_lines_to_write
from tests.gate.sizes import count_words
from tests.gate.sizes import count_words_of_docs
from tests.gate.sizes import fits_its_size
from tests.gate.sizes import marks_its_steps
from tests.gate.sizes import prose
from tests.support.smallkata import SOLUTION


if TYPE_CHECKING:
    from tests.support.smallkata import Small


PYTHON = '''"""{brief}"""

from __future__ import annotations

import math  # for the learner


class Scan:
    """A scan has {words} words."""

    def step(self) -> int:
        """Return one step."""
        # TODO: one step.
        raise NotImplementedError("step")

    def given(self) -> int:
        """Return what is not counted at all."""
        return math.inf


def other() -> None:
    """Nor is this."""
'''
STEP = """        # TODO: one step.
        raise NotImplementedError("step")
"""
NATIVE = """// tier: small
// {brief}

#include <torch/library.h>

// This is declared above, and given.
void given();

// Returns the sum
// of both.
int sum(int a, int b) {
  // TODO: add "// no comment" them
  throw 1;

  return 0; /* not now */
}

// Given too.
void given() {}
"""


def write_kata(
    folder: Path,
    *,
    lines: int = 1,
    brief: int = 3,
    words: int = 4,
    tests: int = 1,
    size: str = "spark",
    minutes: int = 5,
) -> Kata:
    """Write a kata with as many lines, words and tests, and return it."""
    stub = PYTHON.format(brief="word " * brief, words="word " * words)
    written = "".join(f"        x{number} = 1\n\n" for number in range(lines))
    solution = stub.replace(STEP, f"        # Why.\n{written}").replace("for the learner", "")
    module = "".join(f"def test_{number}(): pass\n\n" for number in range(tests))
    for name, text in (
        ("k01_scan.py", stub),
        ("solutions/k01_scan.py", solution),
        ("test_k01_scan.py", module),
    ):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    kata = Kata("lecture01", "k01_scan", "Scan", "lab", (), (), (), (), (), (), (), folder)
    return replace(kata, size=size, minutes=minutes)


@pytest.mark.parametrize("size", LIMITS)
@pytest.mark.parametrize(
    ("what", "says"),
    [
        ("lines", "lines to write, and a"),
        ("brief", "words in the brief, and a"),
        ("words", "words to read before writing, docstrings included, and a"),
        ("tests", "tests, and a"),
        ("minutes", "minutes, and a"),
    ],
)
def test_a_kata_fits_its_size(tmp_path: Path, size: str, what: str, says: str) -> None:
    """What is at the limit passes, and one more does not; without a size there is no limit."""
    most = getattr(LIMITS[size], what)
    # Beside the brief, which has three: "A scan has ... words.", "Return one step."
    count = most - 3 - 7 if what == "words" else most
    kata = write_kata(tmp_path, size=size, **{what: count})

    assert [] == [*fits_its_size(kata)]

    beyond = write_kata(tmp_path, size=size, **{what: count + 1})
    expected = f"{most + 1} {says} {size} has at most {most}: make two katas of it"

    assert [expected] == [*fits_its_size(beyond)]
    assert [] == [*fits_its_size(replace(beyond, size=""))]


def test_lines_to_write_are_code_that_the_solution_adds(tmp_path: Path) -> None:
    """Not blank lines, comments and docstrings; a line that goes is no line to write."""
    kata = write_kata(tmp_path, lines=3)

    assert count_lines_to_write(kata) == 3
    assert count_added(["a", "b", "c"], ["a", "x", "c", "y"]) == 2


@pytest.mark.parametrize(
    ("file", "text", "lines"),
    [
        ("k.py", '"""A\n\ndocstring."""\n', []),
        ("k.py", 'def f():\n    """Doc."""\n    return "# no comment"  # one\n', 2),
        ("k.py", 'x = """\na text\n"""\n', 3),
        ("k.py", "class A:\n\n    x = 1\n", 2),
        ("k.cpp", "// a\nint a; // b\n/* c\nd */ int b;\n", ["int a;", " int b;"]),
        ("k.cu", 'auto a = "// no comment";\nchar b = \'"\';  // one\n', 2),
        ("k.cpp", 'auto a = R"x(// no " comment)x";\n\n', ['auto a = R"x(// no " comment)x";']),
    ],
)
def test_lines_of_code(file: str, text: str, lines: list[str] | int) -> None:
    """What only looks like a comment is code."""
    found = code_lines(text, file)

    assert lines == (len(found) if isinstance(lines, int) else found)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Two words, and - no + sign.", 5),
        ("A picture:\n\n    x -> y\n\nand text.", 4),
        ("Code:\n  x = 1\ndone", 2),
        ("A table\na   b   c\n", 2),
        ("- An item\n  goes on\n  - and has\n    another\n\n  x = 1\n", 7),
        ("1. An item\n   goes on\n       x = 1\n2. Ends.", 7),
        ("```python\nx = 1\n```\nText.", 1),
        (">>> x\nText", 1),
        ("Raises\n------\nValueError\n    If it is.\n        x = 1\n\n    Or not.", 7),
    ],
)
def test_words_are_those_of_sentences(text: str, words: int) -> None:
    """Not of pictures, code and tables; an item of a list is prose, wherever it is indented."""
    assert count_words(text) == words, [*prose(text)]


def test_docstrings_of_what_is_filled_in_are_read(tmp_path: Path) -> None:
    """The class with the method is; what is given is not."""
    assert count_words_of_docs(write_kata(tmp_path, words=0)) == 4 + 3


def test_comments_of_a_native_kata_are_read(tmp_path: Path) -> None:
    """Those above and in the block with a TODO."""
    kata = replace(write_kata(tmp_path), csrc=("csrc/k01_scan.cpp",), size="spark")
    for name in ("csrc/k01_scan.cpp", "solutions/csrc/k01_scan.cpp"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(NATIVE.replace("{brief}", "Three words here."))
    for name in ("k01_scan.py", "solutions/k01_scan.py"):
        (tmp_path / name).unlink()

    # Returns the sum of both. TODO: add "// no comment" them. not now.
    assert count_words_of_docs(kata) == 5 + 5 + 2
    assert count_lines_to_write(kata) == 0
    assert [] == [*fits_its_size(kata)]


STEPS = """
import pytest

{}
def test_last(): pass
"""


def with_steps(kata: Kata, *titles: str) -> Kata:
    """Give the kata a test for each step, with these titles."""
    steps = [
        f"@pytest.mark.step({number}, {title!r})\ndef test_{number}(): pass\n"
        for number, title in enumerate(titles, 1)
    ]
    kata.test.write_text(STEPS.format("\n".join(steps)))
    return kata


@pytest.mark.parametrize(
    ("size", "titles", "says"),
    [
        ("spark", [], None),
        ("lab", ["a", "b", "c"], None),
        ("lab", ["a", "b", "c", "d", "e"], None),
        ("", ["a"], None),
        ("lab", [], "0 steps, and a lab has 3 to 5: mark its tests with"),
        ("lab", ["a", "b", "c", "d", "e", "f"], "6 steps, and a lab has 3 to 5: mark its"),
        ("kata", ["a" * 41], "the title of step 1 has 41 letters, expected at most 40"),
        ("kata", [""], "test_k01_scan.py: test_1: expected @pytest.mark.step(2, "),
    ],
)
def test_a_kata_marks_its_steps(
    tmp_path: Path, size: str, titles: list[str], says: str | None
) -> None:
    """A lab needs steps, and those of any kata have a number and a title."""
    kata = with_steps(write_kata(tmp_path, size=size), *titles)

    lines = [*marks_its_steps(kata)]

    assert len(lines) == (says is not None)
    assert all(line.startswith(says or "") for line in lines)


def test_the_rules_of_sizes_are_among_those_of_a_kata(small: Small) -> None:
    """The layout check, and with it the gate, refuses a kata beyond its size."""
    small.edit(
        "lecture.toml", 'kind = "lab"', 'kind = "lab"\nsize = "lab"\nminutes = 9\ncore = true'
    )
    assert ["0 steps, and a lab has 3 to 5"] == [
        line.partition(":")[0] for line in broken_rules(small.kata)
    ]
    small.edit("lecture.toml", 'size = "lab"', 'size = "spark"')
    assert [] == broken_rules(small.kata)
    many = "".join(f"    x = max(x, {number})\n" for number in range(4))
    solution = small.course.katas / "lecture01/solutions/k01_clamp.py"
    solution.write_text(SOLUTION.replace("    if x <=", f"{many}    if x <="))
    assert ["9 lines to write, and a spark has at most 8: make two katas of it"] == broken_rules(
        small.kata
    )


KINDS = ("explore", "perf", "debug", "lab")


def lecture_of(*sizes: str, minutes: int = 60, kinds: tuple[str, ...] = KINDS) -> Lecture:
    """Return a lecture with katas of these sizes, as ``kata?`` if one is optional."""
    folder = Path("lecture01")
    katas = [
        Kata("lecture01", f"k0{number}", "", kind, (), (), (), (), (), (), (), folder)
        for number, kind in zip(range(len(sizes)), kinds * len(sizes), strict=False)
    ]
    sized = [
        replace(kata, size=size.rstrip("?"), minutes=minutes, core="?" not in size)
        for kata, size in zip(katas, sizes, strict=True)
    ]
    return Lecture("lecture01", "", {}, tuple(sized), folder)


OPTIONAL = "core = false makes a kata optional"
GOOD = ("spark", "kata", "spark", "lab", "spark", "lab", "lab")


@pytest.mark.parametrize(
    ("lecture", "problems"),
    [
        (lecture_of(*GOOD), []),
        (lecture_of(*GOOD, "kata"), []),
        (lecture_of(*GOOD, "kata", "kata?"), []),
        (lecture_of("", "", kinds=("lab",)), []),
        (
            lecture_of("kata", *GOOD[1:], "spark"),
            ["opens with k00 (kata, 60 min): open with a spark of the core path"],
        ),
        (
            lecture_of("spark?", *GOOD[1:]),
            ["opens with k00 (spark, 60 min, optional): open with a spark of the core path"],
        ),
        (lecture_of(*GOOD[:4]), ["has 2 sparks, expected at least 3"]),
        (lecture_of(*GOOD, "lab"), ["has 4 labs, expected at most 3"]),
        (
            lecture_of(*GOOD, "kata", minutes=61),
            [f"its core path takes 488 minutes, expected at most 480: {OPTIONAL}"],
        ),
        (
            lecture_of(*GOOD, kinds=("explore", "lab")),
            ["has no kata of kind perf or debug"],
        ),
    ],
)
def test_a_lecture_climbs_by_sizes(lecture: Lecture, problems: list[str]) -> None:
    """It opens with a spark, has enough of them and not too many labs, and ends in a day."""
    assert problems == broken_lecture_rules(lecture)
