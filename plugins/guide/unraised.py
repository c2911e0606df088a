"""Says which lines of a test ended without the error that ``pytest.raises`` waits for.

pytest names the error that is missing, and a short traceback shows the line of the ``with``; the
call that should have raised stands below it.
"""

from __future__ import annotations

import ast
import linecache
import textwrap
from typing import TYPE_CHECKING

import pytest

from plugins.tools.text import parse_python


if TYPE_CHECKING:
    from collections.abc import Sequence


# How pytest's message of a missing error begins.
MISSING = "DID NOT RAISE"


def name_the_call(found: pytest.ExceptionInfo[BaseException]) -> None:
    """Add to the message of a missing error the lines that should have raised it."""
    error = found.value
    if not isinstance(error, pytest.fail.Exception) or not str(error.msg).startswith(MISSING):
        return
    # Without pytest's own frames, which are hidden.
    place = found.traceback.filter(found)[-1]
    source = linecache.getlines(str(place.path))
    if block := block_at(source, place.lineno + 1):
        error.msg = f"{error.msg}; this ended without an error:\n{textwrap.indent(block, '    ')}"


def block_at(source: Sequence[str], number: int) -> str:
    """Return what stands in the ``with`` whose head has line `number`, counted from 1, or ""."""
    for node in ast.walk(parse_python("".join(source))):
        if isinstance(node, ast.With) and node.lineno <= number < node.body[0].lineno:
            first, last = node.body[0].lineno, node.body[-1].end_lineno
            return textwrap.dedent("".join(source[first - 1 : last])).rstrip("\n")
    return ""
