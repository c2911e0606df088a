"""The summary of ``nox -s practice`` in Markdown: for a job of CI, a pull request, a terminal."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from plugins.tools.markdown import markdown_code
from plugins.tools.markdown import markdown_row
from plugins.tools.markdown import markdown_text


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Iterator
    from collections.abc import Sequence

    from plugins.course.model import Kata
    from plugins.fork.claimed import Claims
    from plugins.fork.results import Result
    from plugins.guide.reading import Pointer
    from plugins.tools.git import Repo


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


def format_practice(practised: Sequence[Practised], base: str, notes: Iterable[str]) -> str:
    """Return the whole summary, with the notes as a list below the table."""
    listed = [f"- {note}" for note in notes]
    below = ["", *listed] if listed else []
    return "\n".join([*summary_lines(practised, base), *below]) + "\n"


def summary_lines(practised: Sequence[Practised], base: str) -> Iterator[str]:
    """Return the heading, what was compared, and the table."""
    counts = Counter(each.result.verdict for each in practised)
    katas = "kata" if len(practised) == 1 else "katas"
    yield f"## Practice: {counts['solved']} of {len(practised)} claimed {katas} solved"
    yield ""
    yield f"A kata is claimed when its exercise differs from the stub in {markdown_code(base)}."
    yield ""
    if not practised:
        yield NOTHING
        return
    yield markdown_row(HEAD)
    yield markdown_row(["---"] * len(HEAD))
    yield from (markdown_row(kata_cells(each)) for each in practised)


def kata_cells(each: Practised) -> list[str]:
    """Return the cells of a kata."""
    verdict = each.result.verdict
    name = f"{markdown_code(each.kata.id)} {markdown_text(each.kata.title)}"
    first = next((line for line in each.result.message.splitlines() if line.strip()), "")
    message = ": ".join(filter(None, (markdown_code(each.result.test), markdown_code(first))))
    episode = episode_link(each.episodes[0]) if each.episodes else ""
    marked = verdict if verdict == "solved" else f"**{verdict}**"
    return [name, marked, message, episode, next_step(each)]


def next_step(each: Practised) -> str:
    """Return what to do with a kata now."""
    path, line = each.place
    command = f"pytest {each.test}"
    match each.result.verdict:
        case "solved":
            return f"compare: {markdown_code(f'{command} --solution')}"
        case "fails":
            again, hint = markdown_code(f"{command} -x"), markdown_code(f"{command} --hint")
            return f"edit {markdown_code(f'{path}:{line}')}, then {again}; a hint: {hint}"
        case "not decided here":
            return f"nothing: not counted; what can run here passes: {markdown_code(command)}"
        case "cannot run here":
            return "nothing: not counted"
    return f"see what pytest says: {markdown_code(f'{command} -x')}"


def episode_link(episode: Pointer) -> str:
    """Return a link to an episode."""
    return f"[{markdown_text(episode.label)}](<{episode.address.translate(BRACKETS)}>)"


def collect_notes(repo: Repo, base: str, claims: Claims, errors: Iterable[str]) -> Iterator[str]:
    """Return the notes, in Markdown, on what the table cannot show."""
    for text in errors:
        yield f"A lecture cannot be read, so its katas were not run: {markdown_code(text)}"
    for path in claims.tests:
        yield (
            f"{markdown_code(path)} is not upstream's: the verdict is that of your tests. "
            f"To restore upstream's version: {markdown_code(f'git checkout {base} -- {path}')}"
        )
    for kata in claims.own:
        name = markdown_code(kata.id)
        yield f"{name} is not in {markdown_code(base)}: a kata of your own was not run."
    if claims.katas and "true" == repo.line("rev-parse", "--is-shallow-repository"):
        fetch = markdown_code(f"git fetch --unshallow {remote_of(repo, base)}".strip())
        yield (
            "This clone has no history, so an exercise that upstream has changed since you took "
            f"it counts as edited. Fetch the full history: {fetch}"
        )
    elif behind := int(repo.line("rev-list", "--count", f"HEAD..{base}") or 0):
        commits = "commit" if behind == 1 else "commits"
        name, update = markdown_code(base), markdown_code("nox -s update")
        yield f"{name} has {behind} {commits} that you do not have: {update}"


def remote_of(repo: Repo, base: str) -> str:
    """Return the remote of a branch, or "" for one of this repository."""
    name = base.partition("/")[0]
    return name if name in repo.line("remote").split() else ""
