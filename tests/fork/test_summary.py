"""The summary of what was practised: what Markdown shows is what was written."""

from __future__ import annotations

from pathlib import Path

import pytest

from plugins.junitresults import Result
from plugins.layout import EpisodeRef
from plugins.layout import Kata
from plugins.layout import Upstream
from plugins.practicesummary import Practised
from plugins.practicesummary import code
from plugins.practicesummary import summary
from plugins.reading import Pointer


KATA = Kata(
    "lecture01",
    "k01_first",
    "A *title* of @someone",
    "lab",
    ("a",),
    (EpisodeRef("strides", "why"),),
    (Upstream("a.h", "b"),),
    ("a", "b", "c"),
    (),
    (),
    (),
    Path("katas/lecture01"),
)


def table(*results: Result, episodes: tuple[Pointer, ...] = ()) -> list[str]:
    """Return the rows of the table for these results."""
    place = ("katas/lecture01/k01_first.py", 7)
    practised = [Practised(KATA, each, "test_k01.py", place, episodes) for each in results]
    text = summary(practised, "upstream/main", [])
    return [line for line in text.splitlines() if line.startswith("| `")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("plain", "`plain`"),
        ("@someone <b>#7</b>", "`@someone <b>#7</b>`"),
        ("a `b` c", "`` a `b` c ``"),
        ("a ``b", "``` a ``b ```"),
        ("two\nlines\x1b[31m", "`two lines`"),
        ("a|b", r"`a\|b`"),
        (r"a\|b", r"`a\ \|b`"),
        (r"a\\|b", r"`a\\ \|b`"),
    ],
)
def test_code_holds_whatever_a_message_says(text: str, expected: str) -> None:
    """It ends neither the code nor the cell, and stays on one line."""
    assert expected == code(text)


def test_a_long_message_is_cut() -> None:
    """The log has all of it."""
    assert f"`{'x' * 160} ...`" == code("x" * 1000)


def test_each_verdict_has_its_next_step() -> None:
    """Compare, edit, or nothing."""
    solved, fails, away, ended = table(
        Result("solved"),
        Result("fails", "test_it", "\nAssertionError: no | bar\nmore", ""),
        Result("cannot run here", message="no CUDA"),
        Result("did not run"),
    )

    assert solved.endswith("| solved |  |  | compare: `pytest test_k01.py --solution` |")
    assert r"| **fails** | `test_it`: `AssertionError: no \| bar` |" in fails
    assert "edit `katas/lecture01/k01_first.py:7`, then `pytest test_k01.py -x`" in fails
    assert fails.endswith("a hint: `pytest test_k01.py --hint` |")
    assert "| **cannot run here** | `no CUDA` |  | nothing: it counts neither way |" in away
    assert ended.endswith("| see what pytest says: `pytest test_k01.py -x` |")
    assert solved.startswith("| `lecture01/k01_first` A &#42;title&#42; of &#64;someone |")


def test_an_episode_is_one_link() -> None:
    """Nothing in its address ends it."""
    (row,) = table(Result("solved"), episodes=(Pointer("#1 A](x)", "https://a.b/>|c<"),))

    assert "| [&#35;1 A&#93;&#40;x&#41;](<https://a.b/%3E%7Cc%3C>) |" in row


def test_one_is_one_kata_and_notes_come_last() -> None:
    """As a list."""
    practised = [Practised(KATA, Result("solved"), "t.py", ("k.py", 1))]
    text = summary(practised, "upstream/main", ["the first", "the second"])

    assert text.startswith("## Practice: 1 of 1 claimed kata solved\n")
    assert text.endswith("\n\n- the first\n- the second\n")
