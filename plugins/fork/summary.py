"""The summary of ``nox -s practice`` in Markdown: for a job of CI, a pull request, a terminal."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from plugins.pagesummary import plain
from plugins.plaintext import shortened


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Iterator
    from collections.abc import Sequence

    from plugins.junitresults import Result
    from plugins.layout import Kata
    from plugins.reading import Pointer


LONGEST = 160
NOTHING = "No exercise differs from its stub: there is nothing to check yet."
HEAD = ("kata", "verdict", "first failing message", "episode", "next step")
# What would end an address in angle brackets, or a cell.
BRACKETS = str.maketrans({"<": "%3C", ">": "%3E", "|": "%7C", "\\": "%5C"})


@dataclass(frozen=True)
class Practised:
    """A kata that the learner has worked on, and how it went.

    Attributes
    ----------
    test
        Its test module, as a command names it.
    place
        The file and the line to edit.
    episodes
        Of the podcast, the first one first.
    """

    kata: Kata
    result: Result
    test: str
    place: tuple[str, int]
    episodes: Sequence[Pointer] = ()


def summary(practised: Sequence[Practised], base: str, notes: Iterable[str]) -> str:
    """Return the whole summary."""
    return "\n".join([*lines(practised, base), *notes_of(notes)]) + "\n"


def lines(practised: Sequence[Practised], base: str) -> Iterator[str]:
    """Return the heading, what was compared, and the table."""
    counts = Counter(each.result.verdict for each in practised)
    katas = "kata" if len(practised) == 1 else "katas"
    yield f"## Practice: {counts['solved']} of {len(practised)} claimed {katas} solved"
    yield ""
    yield f"A kata is claimed when its exercise differs from the stub in {code(base)}."
    yield ""
    if not practised:
        yield NOTHING
        return
    yield row(HEAD)
    yield row(["---"] * len(HEAD))
    yield from (row(cells(each)) for each in practised)


def cells(each: Practised) -> list[str]:
    """Return the cells of a kata."""
    verdict = each.result.verdict
    name = f"{code(each.kata.id)} {plain(each.kata.title)}"
    first = next((line for line in each.result.message.splitlines() if line.strip()), "")
    message = ": ".join(filter(None, (code(each.result.test), code(first))))
    episode = pointer(each.episodes[0]) if each.episodes else ""
    told = verdict if verdict == "solved" else f"**{verdict}**"
    return [name, told, message, episode, next_step(each)]


def next_step(each: Practised) -> str:
    """Return what to do with a kata now."""
    path, line = each.place
    command = f"pytest {each.test}"
    match each.result.verdict:
        case "solved":
            return f"compare: {code(f'{command} --solution')}"
        case "fails":
            again = f"{code(f'{command} -x')}; a hint: {code(f'{command} --hint')}"
            return f"edit {code(f'{path}:{line}')}, then {again}"
        case "cannot run here":
            return "nothing: it counts neither way"
    return f"see what pytest says: {code(f'{command} -x')}"


def pointer(episode: Pointer) -> str:
    """Return a link to an episode."""
    return f"[{plain(episode.label)}](<{episode.address.translate(BRACKETS)}>)"


def notes_of(notes: Iterable[str]) -> list[str]:
    """Return the notes as a list below the rest."""
    found = [f"- {note}" for note in notes]
    return ["", *found] if found else []


def row(cells: Iterable[str]) -> str:
    """Return a row of a table."""
    return "".join(f"| {cell} " for cell in cells) + "|"


def code(text: str) -> str:
    """Return a text as code, in which Markdown reads nothing: no link, no mention, no HTML.

    A bar would end the cell of a table, in code too, unless one backslash stands before it.
    """
    text = shortened(text, LONGEST)
    if not text:
        return ""
    text = re.sub(r"\\(?=\|)", r"\\ ", text).replace("|", r"\|")
    marks = "`" * (max(map(len, re.findall("`+", text)), default=0) + 1)
    space = " " if "`" in text else ""
    return f"{marks}{space}{text}{space}{marks}"
