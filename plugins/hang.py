"""Reads from the stack of a rank, and from its calls, what it waits for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from plugins.stacks import FRAME
from plugins.stacks import THREAD
from plugins.stacks import read_stack


if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from plugins.traffic import Call


# Where the functions are that a learner calls, each of which may call another one.
PUBLIC = re.compile(r"/torch/distributed/(?:distributed_c10d|_functional_collectives)\.py$")
# What returns at once, where a rank may be by chance: group.WORLD is a property.
AT_ONCE = re.compile(r"get_|is_|[A-Z]")
# Of what isend() and its like return; it is no function of Python.
WAIT = re.compile(r"\.wait\(")
ORDINALS = {1: "st", 2: "nd", 3: "rd"}


def place_of(stack: str, calls: Sequence[Call], root: Path) -> str:
    """Return where a rank was when it wrote this stack, as the end of a sentence about it.

    For example ``waits in all_reduce, its 4th call, at katas/lecture13/k01_ring.py:30: in step``.
    """
    found = read_stack(stack, root)
    lines = list(found.lines(root))
    where = "\n".join(lines)
    if function := collective(stack):
        count = f", its {ordinal(len(calls))} call" if calls else ""
        return f"waits in {function}{count}\n{where}".rstrip()
    if WAIT.search(lines[-1] if lines else ""):
        return f"waits for what it began, {counted(calls)}\n{where}"
    made = f"after {counted(calls)}" if calls else "before any call of torch.distributed"
    return f"runs, {made}\n{where}".rstrip()


def collective(stack: str) -> str:
    """Return the function of torch.distributed that the main thread is in; empty if in none."""
    # faulthandler writes the main thread last, and of a thread the innermost call first.
    frames: list[tuple[str, str]] = []
    for line in stack.splitlines():
        if THREAD.match(line):
            frames.clear()
        elif found := FRAME.fullmatch(line):
            frames.append((found[1], found[3]))
    names = [name for file, name in frames if PUBLIC.search(file) and not name.startswith("_")]
    # get_rank() asks for group.WORLD: what the learner has called decides, not what that calls.
    return names[-1] if names and not AT_ONCE.match(names[-1]) else ""


def counted(calls: Sequence[Call]) -> str:
    """Return how many calls there were of what, in the order of their first ones."""
    names = [call.name for call in calls]
    return ", ".join(f"{names.count(name)} {name}" for name in dict.fromkeys(names))


def ordinal(number: int) -> str:
    """Return 1st, 2nd, 3rd, 4th."""
    teens = number % 100 in {11, 12, 13}
    return f"{number}{'th' if teens else ORDINALS.get(number % 10, 'th')}"
