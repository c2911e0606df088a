"""A failure as pytest shows it in short, and the exercises that it speaks of."""

from __future__ import annotations

from plugins.guide.failure import Failure
from plugins.guide.reading import Reading
from plugins.guide.traceback import read_lines


# What makes a failure of a kata data, and shows it at the end of a session.
PLUGINS = (
    "plugins.course.session",
    "plugins.guide.episodes",
    "plugins.guide.failures",
    "plugins.guide.summary",
)
TRACEBACK = """\
katas/lecture01/test_k01.py:12: in test_it
    assert twice(1) == 2
           ^^^^^^^^
katas/lecture01/k01.py:7: in twice
    return torch.add(n)
/usr/lib/torch/functional.py:3: in add
    return inner(n)
/usr/lib/torch/inner.py:4: in inner
    raise TypeError("two arguments")
E   TypeError: two arguments
E
E   and a second line"""
EXERCISE = '''"""Twice as much.

More, with a # TODO that is none of the code: the brief may speak of it.
"""

def twice(n):
    return torch.add(n)

def half(n):
    # TODO: halve it
    raise NotImplementedError("half")

def third(n):
    raise NotImplementedError("third")
'''.replace("# TODO that", "#TODO that")
CPP = """\
// tier: small
//
// An operator of your own.

Tensor twice(const Tensor& self) {
  // TODO: a loop
  TORCH_CHECK_NOT_IMPLEMENTED(false, "twice");
}
"""
PATH = "katas/lecture01/k01.py"
OWN = [PATH, "katas/lecture01/test_k01.py"]
READING = Reading("lecture01/k01", "T", (), (), "")


def failure_in(text: str, more: int = 0) -> Failure:
    """Return the failure that a short traceback shows."""
    frames, message = read_lines(text.splitlines())
    return Failure("test", "fails", "", READING, None, (*frames,), (*message,), more)
