"""The rules for a kata's files, each a function that yields the problems of a kata."""

from __future__ import annotations

import ast
import re
import tomllib
from typing import TYPE_CHECKING

from plugins.course.lectures import read_lecture
from plugins.guide.traceback import TODO
from tests.gate import sources
from tests.gate.cases import package_of
from tests.gate.cases import solution_files
from tests.gate.cases import solution_text
from tests.gate.cases import stub_text
from tests.gate.sizes import fits_its_size
from tests.gate.sizes import marks_its_steps


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterator

    from plugins.course.model import Kata


# A hunt for bugs says so in a comment: nothing raises NotImplementedError there.
UNWRITTEN = re.compile(
    r"NotImplementedError|TORCH_CHECK_NOT_IMPLEMENTED|cudaErrorNotYetImplemented"
)
UPSTREAM = re.compile(r"[\w.-]+(/[\w.+-]+)*")
SHORTEST_BRIEF = 200


def has_its_files(kata: Kata) -> Iterator[str]:
    """A kata has an exercise, a test module and a solution for the exercise."""
    exercise = kata.exercise.relative_to(kata.folder).as_posix()
    for path in (exercise, kata.test.name, f"solutions/{exercise}"):
        if not (kata.folder / path).is_file():
            yield f"{path} is missing"


def has_a_brief(kata: Kata) -> Iterator[str]:
    """The exercise begins with the brief, which names the place in PyTorch."""
    text = kata.exercise.read_text(encoding="utf-8")
    if kata.exercise.suffix == ".cpp" and not sources.TIER.match(text):
        yield "the first line must be // tier: stable, small, iter, full or vec"
    found = sources.brief(kata)
    if len(found) < SHORTEST_BRIEF:
        yield (
            f"the brief has {len(found)} characters: say what to build, what to raise and about "
            f"how many lines it takes"
        )
    if "TODO" in found:
        yield "the brief still says TODO"
    if not any(place.path in found for place in kata.upstream):
        paths = ", ".join(place.path for place in kata.upstream)
        yield f"the brief names no place in PyTorch: name one of {paths}"


def is_unwritten(kata: Kata) -> Iterator[str]:
    """The exercise says where to write, and raises NotImplementedError there."""
    text = kata.exercise.read_text(encoding="utf-8")
    if not TODO.search(text):
        yield f"{kata.exercise.name} has no # TODO where the learner writes"
    if not UNWRITTEN.search(text):
        yield f"{kata.exercise.name} never raises NotImplementedError"


def has_entries(kata: Kata) -> Iterator[str]:
    """The table in lecture.toml is filled in."""
    for key in ("syllabus", "episodes", "upstream"):
        if not getattr(kata, key):
            yield f"{key} is empty in lecture.toml"
    for place in kata.upstream:
        if not UPSTREAM.fullmatch(place.path):
            yield f"upstream {place.path!r} is not a path in PyTorch's repository"
    words = [kata.title, kata.learned or kata.title, *kata.hints]
    words += [word for episode in kata.episodes for word in (episode.slug, episode.why)]
    words += [word for place in kata.upstream for word in (place.path, place.symbol)]
    if any("TODO" in word or not word.strip() for word in words):
        fields = "title, learned, hint, episode or upstream"
        yield f"lecture.toml still says TODO, or is empty, in a {fields}"
    numbers = [name for name in kata.builds_on if name >= kata.id]
    if numbers:
        yield f"after names {', '.join(numbers)}, which come later: name earlier katas"


def leaves_nothing_to_write(kata: Kata) -> Iterator[str]:
    """What `nox -s new` left to the author is written; what says TODO is the learner's alone."""
    for file in (f"{kata.name}.py", *kata.csrc):
        solution = kata.folder / "solutions" / file
        if solution.is_file() and "TODO" in solution.read_text(encoding="utf-8"):
            yield f"solutions/{file} still says TODO"
    if kata.exercise.suffix == ".py":
        for name, text in sources.docstrings(stub_text(kata, kata.exercise.name)):
            # The module's is the brief, which has a rule of its own.
            if name and "TODO" in text:
                yield f"the docstring of {name} in {kata.exercise.name} still says TODO"
    _, about = next(sources.docstrings(kata.test.read_text(encoding="utf-8")))
    if "TODO" in about:
        yield f"{kata.test.name}: the docstring of the module still says TODO"
    for line in sources.unwritten_messages(kata.test):
        yield f"{kata.test.name}:{line}: the message of the assert still says TODO"


def has_a_written_lecture(kata: Kata) -> Iterator[str]:
    """The first kata of a lecture answers for what the lecture says of itself."""
    lecture = read_lecture(kata.folder)
    if lecture.katas[:1] and lecture.katas[0].name != kata.name:
        return
    if any("TODO" in text for text in (lecture.title, *lecture.syllabus.values())):
        yield "lecture.toml still says TODO, in the lecture's title or syllabus"
    init, page = kata.folder / "__init__.py", kata.folder / "README.md"
    if init.is_file() and "TODO" in (ast.get_docstring(ast.parse(init.read_text("utf-8"))) or ""):
        yield "__init__.py still says TODO"
    head = page.read_text(encoding="utf-8").partition("\n")[0] if page.is_file() else ""
    if "TODO" in head:
        yield "the title of README.md still says TODO"


def knows_its_episodes(kata: Kata) -> Iterator[str]:
    """Every episode it names is in episodes.toml, or in a package's: there each session says so."""
    if package_of(kata.folder) != f"katas.{kata.lecture}":
        return
    file = kata.folder.parents[1] / "episodes.toml"
    if not file.exists():
        yield "episodes.toml is missing"
        return
    known = {entry["slug"] for entry in tomllib.loads(file.read_text("utf-8"))["episode"]}
    for episode in kata.episodes:
        if episode.slug not in known:
            yield f"no episode has the slug {episode.slug!r}: look it up in episodes.toml"


def keeps_its_interface(kata: Kata) -> Iterator[str]:
    """Stub and solution have the same public names and signatures, all documented."""
    for file in solution_files(kata):
        if not file.endswith(".py"):
            continue
        stub, solution = stub_text(kata, file), solution_text(kata, file)
        ours, theirs = sources.interface(stub), sources.interface(solution)
        for name in sorted(ours.keys() ^ theirs.keys()):
            where = "stub" if name in ours else "solution"
            yield f"{file}: {name} is public in the {where} only"
        for name in sorted(ours.keys() & theirs.keys()):
            if ours[name] != theirs[name]:
                yield f"{file}: {name} is {ours[name]} in the stub, {theirs[name]} in the solution"
        for name in sources.undocumented(stub):
            yield f"{file}: {name} has no docstring in the stub"


def hints_without_giving_away(kata: Kata) -> Iterator[str]:
    """No hint holds a line of the solution."""
    for file in solution_files(kata):
        lines = sources.written_lines(solution_text(kata, file), stub_text(kata, file))
        for number, hint in enumerate(kata.hints, 1):
            for line in sorted(lines):
                if line in " ".join(hint.split()):
                    yield f"hint {number} holds a line of the solution: {line}"


def explains_its_tests(kata: Kata) -> Iterator[str]:
    """Every test has a docstring that says what it expects."""
    found = sources.tests(kata.test)
    if not found:
        yield f"{kata.test.name} has no test"
    for name, docstring in found.items():
        if not docstring:
            yield f"{kata.test.name}: {name} has no docstring: say what it expects"
        elif "TODO:" in docstring:
            yield f"{kata.test.name}: the docstring of {name} still says TODO"


def is_in_the_readme(kata: Kata) -> Iterator[str]:
    """The lecture's README has a line for it, without a TODO."""
    page = kata.folder / "README.md"
    lines = page.read_text(encoding="utf-8").splitlines() if page.is_file() else []
    told = [line for line in lines if f"`{kata.name}`" in line]
    if page.is_file() and not told:
        yield f"README.md has no line for `{kata.name}`: add it to the list of katas"
    elif any("TODO" in line for line in told):
        yield f"the line of `{kata.name}` in README.md still says TODO"


RULES: tuple[Callable[[Kata], Iterator[str]], ...] = (
    has_its_files,
    has_a_brief,
    is_unwritten,
    has_entries,
    knows_its_episodes,
    keeps_its_interface,
    hints_without_giving_away,
    explains_its_tests,
    leaves_nothing_to_write,
    has_a_written_lecture,
    is_in_the_readme,
    fits_its_size,
    marks_its_steps,
)


def broken_rules(kata: Kata) -> list[str]:
    """Return all problems of a kata's files."""
    missing = list(has_its_files(kata))
    return missing or [line for rule in RULES for line in rule(kata)]
