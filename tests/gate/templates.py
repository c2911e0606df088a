"""Templates of a new kata; `tests.gate.scaffold` fills in ``<name>`` and the like."""

from __future__ import annotations


PACKAGE = '''"""Lecture {number}: TODO."""

from __future__ import annotations

from katas import overlay


__path__ = overlay(__path__)
'''

LECTURE = """title = "TODO"

[syllabus]
a = "TODO: the first line of the lecture's syllabus"
"""

README = """# Lecture {number}: TODO

## Katas

"""

ENTRY = "<place>. `<name>`<told>: TODO: what it is about, in a line."

TABLE = """
[[kata]]
name = "<name>"
title = "<title>"
learned = "TODO: one true sentence of what a solver has now seen"
kind = "<kind>"
<effort>syllabus = ["<item>"]
episodes = [
  { slug = "TODO", why = "TODO: why this episode explains this kata" },
]
upstream = ["TODO: path in PyTorch's repository, colon, symbol"]
hints = [
  "TODO: a nudge",
  "TODO: more",
  "TODO: nearly there, but no line of the solution",
]
<native>"""

STUB = '''"""<title>.

TODO: the brief. What to build; shapes, dtypes, units; what to raise, by type; what is out of
scope; about how many lines. In PyTorch: TODO path (``symbol``).
"""

from __future__ import annotations


def <word>(n: int) -> int:
    """TODO: say what it returns."""
    # TODO: say where to begin.
    raise NotImplementedError("<word>")
'''

SOLUTION = '''"""<title>."""

from __future__ import annotations


def <word>(n: int) -> int:
    """TODO: say what it returns."""
    raise NotImplementedError("TODO: the solution")
'''

TEST = '''"""<title>: TODO what the tests teach, the smallest case first."""

from __future__ import annotations

from <package>.<name> import <word>


def test_the_smallest_case() -> None:
    """TODO: state the expected behaviour, as a rule."""
    found = <word>(1)

    assert found == 1, f"<word>(1) is {found}, expected 1: TODO why it matters"
'''

WRONG = """[[wrong]]
because = "TODO: a misconception, in a phrase that a learner would recognise"
rejected_by = "test_the_smallest_case"
file = "<file>"
replace = '''TODO: text of the solution, found exactly once'''
by = '''TODO'''

[[wrong]]
because = "TODO: a slip: an off-by-one, a case that is left out, an input that is written to"
rejected_by = "test_the_smallest_case"
file = "<file>"
replace = '''TODO: text of the solution, found exactly once'''
by = '''TODO'''

[[wrong]]
because = "TODO: shortcut: calls the library function"
shortcut = true
rejected_by = "test_the_smallest_case"
file = "<file>"
replace = '''TODO: text of the solution, found exactly once'''
by = '''TODO'''
"""

NEXT = """
Now replace every TODO, in this order: the brief, the tests, the solution, the wrong answers.
`nox -s verify -- {lecture} {number}` lists what is missing; docs/authoring.md says what is needed.
{told}"""
