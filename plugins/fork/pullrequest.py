"""What the guard says about a pull request, in Markdown that a terminal shows well, too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plugins.practicesummary import code


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Iterator

    from plugins.guardplan import Judgement
    from plugins.guardplan import Verdict


MOST = 10
TITLES: dict[Verdict, str] = {
    "nothing": "Nothing differs",
    "practice": "These are answers to exercises: they belong in your fork",
    "mixed": "Answers to exercises are among these changes",
    "contribution": "This is a contribution to the course",
}
KIND = """
Thank you, and well done: somebody has learnt something here.
Here the exercises stay unsolved, so that the next learner finds them so.
A fork is where answers live, and nothing of yours is lost: keep your branch.

- In your fork, open the tab Actions once and enable workflows.
  From then on each push runs the katas that you have edited, and no others.
- On your machine `nox -s practice` does the same.
- `nox -s update` brings new katas into your fork and keeps your answers.
"""
OTHERWISE = """
Did you mean to change a kata for everybody?
Bring the stub back, your answer is kept: `nox -s reset -- {kata}`
Then change the stub, its tests and its solution together, as CONTRIBUTING.md says.
"""
MIXED = """
What else is in it looks like a contribution, and is welcome by itself:
"""
GATE = """
CI puts the katas that it changes through the gate; on your machine:
"""


def words(judgement: Judgement) -> str:
    """Return what there is to say, kindly."""
    return "\n".join(lines(judgement)) + "\n"


def lines(judgement: Judgement) -> Iterator[str]:
    """Return the lines of it."""
    yield f"## {TITLES[judgement.verdict]}"
    if judgement.filled:
        yield ""
        yield from listed(judgement.filled)
        yield from KIND.splitlines()
        yield from OTHERWISE.format(kata=judgement.filled[0]).splitlines()
    if judgement.verdict == "mixed":
        yield from MIXED.splitlines()
        yield ""
        yield from listed(judgement.rest)
    if judgement.verdict == "contribution":
        yield ""
        if not judgement.katas:
            yield "It changes no kata."
            return
        yield from (f"- {code(kata)}: {', '.join(roles)}" for kata, roles in judgement.katas)
        yield from GATE.splitlines()
        yield ""
        for kata, _ in judgement.katas:
            lecture, _, name = kata.partition("/")
            yield f"    nox -s verify -- {lecture} {name}"


def listed(names: Iterable[str]) -> Iterator[str]:
    """Return the first of the names as a list, and how many follow."""
    names = list(names)
    yield from (f"- {code(name)}" for name in names[:MOST])
    if len(names) > MOST:
        yield f"- and {len(names) - MOST} more"
