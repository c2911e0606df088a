"""The limits of each size, and what they count: lines to write, words to read, tests, minutes.

They hold for the katas of lectures that state sizes. They decide nothing about an answer, so they
are in no key of a proof.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby
from typing import TYPE_CHECKING

from plugins.guide.steps import read_marked
from plugins.guide.steps import wrong_steps
from plugins.guide.traceback import TODO
from tests.gate import sources
from tests.gate.cases import solution_files
from tests.gate.cases import solution_text
from tests.gate.cases import stub_text


if TYPE_CHECKING:
    from collections.abc import Iterator

    from plugins.course.model import Kata
    from plugins.course.model import Lecture


@dataclass(frozen=True)
class Limits:
    """The most that a kata of one size may have of each."""

    lines: int
    brief: int
    words: int
    tests: int
    minutes: int


LIMITS = {
    "spark": Limits(lines=8, brief=90, words=150, tests=8, minutes=10),
    "kata": Limits(lines=25, brief=180, words=350, tests=16, minutes=40),
    "lab": Limits(lines=60, brief=220, words=500, tests=30, minutes=90),
}
# The steps of a lab, and the letters of a step's title, which stands in a line of the terminal.
STEPS = range(3, 6)
TITLE = 40
# Of a lecture: its first kata, how many of each size, the minutes of its core path, its kinds.
OPENS, SPARKS, LABS, CORE = "spark", 3, 3, 8 * 60
KINDS = ("explore", "perf", "debug")

# A comment, or what may hold its signs: strings of C++, raw ones too, and characters.
PART = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<ends>[^(\s]*)\(.*?\)(?P=ends)"|"(?:\\.|[^"\\\n])*"|'
    r"'(?:\\.|[^'\\\n])+'",
    re.DOTALL,
)
ITEM = re.compile(r"(?P<indent> *)(?P<sign>(?:[-*]|\d+[.)]) +)\S")
# Where words stand in columns, or a line is drawn.
ALIGNED = re.compile(r"\S {3,}\S")
FENCE = re.compile(r" *(?:```|~~~)")
# Below the heading of a part of a docstring; its text may be indented.
UNDERLINE = re.compile(r"-{3,}")
PROMPT = ">>>"


def fits_its_size(kata: Kata) -> Iterator[str]:
    """It asks for no more lines, words, tests and minutes than its size allows."""
    if not kata.size:
        return
    limits = LIMITS[kata.size]
    brief = count_words(sources.brief(kata))
    counts = (
        ("lines to write", count_lines_to_write(kata), limits.lines),
        ("words in the brief", brief, limits.brief),
        (
            "words to read before writing, docstrings included",
            brief + count_words_of_docs(kata),
            limits.words,
        ),
        ("tests", len(sources.tests(kata.test)), limits.tests),
        ("minutes", kata.minutes, limits.minutes),
    )
    for what, count, most in counts:
        if count > most:
            yield f"{count} {what}, and a {kata.size} has at most {most}: make two katas of it"


def marks_its_steps(kata: Kata) -> Iterator[str]:
    """The steps of its tests are numbered, named and in order; a lab has three to five."""
    tests = read_marked(kata.test.read_text(encoding="utf-8"))
    yield from (f"{kata.test.name}: {line}" for line in wrong_steps(tests))
    titles = dict(test.step for test in tests if test.step)
    for number, title in titles.items():
        if len(title) > TITLE:
            yield f"the title of step {number} has {len(title)} letters, expected at most {TITLE}"
    if kata.size == "lab" and len(titles) not in STEPS:
        yield (
            f"{len(titles)} steps, and a lab has {STEPS[0]} to {STEPS[-1]}: mark its tests with "
            '@pytest.mark.step(1, "what it is about")'
        )


def climbs_by_sizes(lecture: Lecture) -> Iterator[str]:
    """A lecture that states sizes opens with a spark, and its core path fits into a day."""
    katas = lecture.katas
    if not any(kata.size for kata in katas):
        return
    sizes = [kata.size for kata in katas]
    first = katas[0]
    if first.size != OPENS or not first.core:
        yield f"opens with {first.name} ({first.effort}): open with a {OPENS} of the core path"
    if sizes.count("spark") < SPARKS:
        yield f"has {sizes.count('spark')} sparks, expected at least {SPARKS}"
    if sizes.count("lab") > LABS:
        yield f"has {sizes.count('lab')} labs, expected at most {LABS}"
    if lecture.minutes > CORE:
        yield (
            f"its core path takes {lecture.minutes} minutes, expected at most {CORE}: "
            "core = false makes a kata optional"
        )
    if missing := [kind for kind in KINDS if all(kata.kind != kind for kata in katas)]:
        yield f"has no kata of kind {' or '.join(missing)}"


def count_lines_to_write(kata: Kata) -> int:
    """Return how many lines of code the solution adds to the stub; docstrings are no code."""
    return sum(
        count_added(
            code_lines(stub_text(kata, file), file), code_lines(solution_text(kata, file), file)
        )
        for file in solution_files(kata)
    )


def count_added(before: list[str], after: list[str]) -> int:
    """Return how many lines of `after` are not in `before`, in their order."""
    blocks = SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks()
    return len(after) - sum(block.size for block in blocks)


def code_lines(text: str, file: str) -> list[str]:
    """Return the lines of a source without comments, docstrings and blank lines."""
    plain = _python_code(text) if file.endswith(".py") else _without_comments(text)
    return [line.rstrip() for line in plain.splitlines() if line.strip()]


def _python_code(text: str) -> str:
    lines = text.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    for node in _documented(ast.parse(text)):
        doc = node.body[0]
        if ast.get_docstring(node) is not None:
            rows = range(doc.lineno - 1, doc.end_lineno or doc.lineno)
            for row in rows:
                lines[row] = ""
    return "\n".join(lines)


Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def _documented(tree: ast.AST) -> Iterator[Documented]:
    return (node for node in ast.walk(tree) if isinstance(node, Documented) and node.body)


def _without_comments(text: str) -> str:
    def kept(found: re.Match[str]) -> str:
        comment = found[0].startswith(("//", "/*"))
        return "\n" * found[0].count("\n") if comment else found[0]

    return PART.sub(kept, text)


def count_words(text: str) -> int:
    """Return the words of the prose in a text: what has a letter or a digit, between spaces."""
    words = (word for line in prose(text) for word in line.split())
    return sum(any(map(str.isalnum, word)) for word in words)


def prose(text: str) -> Iterator[str]:
    """Return the lines of a text that are read as sentences.

    Not a picture, code or a table: what is fenced, indented, or stands in columns. The lines of an
    item of a list are indented as its text is.
    """
    fenced = False
    # The columns at which a line of prose may begin: anywhere, and now.
    outer, columns = {0}, {0}
    for line in text.expandtabs().splitlines():
        item, indent = ITEM.match(line), len(line) - len(line.lstrip())
        if FENCE.match(line):
            fenced = not fenced
        elif UNDERLINE.fullmatch(line):
            outer = {0, 4}
        if indent in outer or not line.strip():
            columns = {*outer}
        if fenced or indent not in columns or ALIGNED.search(line) or line.startswith(PROMPT):
            continue
        if item:
            columns.add(item.end("sign"))
        yield line.strip()


def count_words_of_docs(kata: Kata) -> int:
    """Return the words that document what the learner fills in."""
    count = 0
    for file in solution_files(kata):
        stub, solution = stub_text(kata, file), solution_text(kata, file)
        read = _python_docs if file.endswith(".py") else _native_docs
        count += sum(map(count_words, read(stub, solution)))
    return count


def _python_docs(stub: str, solution: str) -> Iterator[str]:
    """Return the docstrings of the functions and classes whose code the solution changes."""
    ours, theirs = (dict(_named(ast.parse(text), "")) for text in (stub, solution))
    for name, node in ours.items():
        if name not in theirs or _code_of(node) != _code_of(theirs[name]):
            yield ast.get_docstring(node) or ""


def _named(tree: Documented, prefix: str) -> Iterator[tuple[str, Documented]]:
    for node in tree.body:
        if isinstance(node, Documented):
            name = f"{prefix}{node.name}."
            yield name, node
            yield from _named(node, name)


def _code_of(node: Documented) -> list[str]:
    return code_lines(ast.unparse(node), ".py")


def _native_docs(stub: str, _solution: str) -> Iterator[str]:
    """Return the comments above and in the blocks in which a TODO says where to write.

    A block begins at the left, after a blank line; the brief is none.
    """
    body = sources.LEADING.sub("", sources.TIER.sub("", stub), count=1)
    for _, lines in groupby(_blocks(body), key=lambda pair: pair[0]):
        block = "\n".join(line for _, line in lines)
        if TODO.search(block):
            yield "\n".join(_comments(block))


def _blocks(text: str) -> Iterator[tuple[int, str]]:
    number, blank = 0, True
    for line in text.splitlines():
        number += blank and line[:1].strip() not in {"", "}"}
        blank = not line.strip()
        yield number, line


def _comments(text: str) -> Iterator[str]:
    found = (part[0] for part in PART.finditer(text) if part[0].startswith(("//", "/*")))
    for comment in found:
        # Indented by a space more than its sign.
        yield re.sub(r"^\s*(?:///?|/\*+|\*/|\*) ?", "", comment, flags=re.MULTILINE)


LECTURE_RULES = (climbs_by_sizes,)


def broken_lecture_rules(lecture: Lecture) -> list[str]:
    """Return all problems of a lecture as a whole."""
    return [line for rule in LECTURE_RULES for line in rule(lecture)]
