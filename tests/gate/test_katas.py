"""Every kata's files follow the rules, checked by their text alone: no torch, no run."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.gate.ledger import proof_problems
from tests.gate.parametrize import gate_of
from tests.gate.parametrize import judge
from tests.gate.parametrize import per_kata
from tests.gate.parametrize import per_lecture
from tests.gate.rules import RULES
from tests.gate.rules import has_its_files
from tests.gate.sizes import broken_lecture_rules
from tests.gate.sources import strays
from tests.gate.wrongrules import broken_answers


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterator

    from plugins.course.model import Kata
    from plugins.course.model import Lecture


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrize the tests with every kata or every lecture."""
    if "kata" in metafunc.fixturenames:
        per_kata(metafunc)
    if "lecture" in metafunc.fixturenames:
        per_lecture(metafunc)


@pytest.mark.parametrize("rule", RULES, ids=[rule.__name__.replace("_", "-") for rule in RULES])
def test_a_kata_keeps_the_rule(kata: Kata, rule: Callable[[Kata], Iterator[str]]) -> None:
    """The kata's files keep the rule of this name, which is in tests/gate/rules.py."""
    if rule is not has_its_files and list(has_its_files(kata)):
        pytest.fail(f"{kata.id} lacks files", pytrace=False)
    judge(kata, list(rule(kata)))


def test_wrong_answers_can_be_tried(pytestconfig: pytest.Config, kata: Kata) -> None:
    """Three wrong answers, one a shortcut; each edit fits the solution and names a test."""
    judge(kata, broken_answers(gate_of(pytestconfig), kata))


def test_its_proof_stands(pytestconfig: pytest.Config, kata: Kata) -> None:
    """Its entry is that of these files."""
    judge(kata, proof_problems(gate_of(pytestconfig), kata))


def test_every_lecture_can_be_read(pytestconfig: pytest.Config) -> None:
    """No lecture.toml is broken."""
    assert gate_of(pytestconfig).course.errors == ()


def test_a_course_is_its_lectures(pytestconfig: pytest.Config) -> None:
    """No file beside them is read by several katas: it would be in no key of a proof."""
    folder = gate_of(pytestconfig).root / "katas"
    found = {path.name for path in folder.iterdir() if path.name != "__pycache__"}
    others = {name for name in found if not re.fullmatch(r"lecture\d\d", name)}

    assert others == {"__init__.py", "compat.py", "paths.toml"}


def test_a_lecture_holds_nothing_else(lecture: Lecture) -> None:
    """A lecture's folder holds its katas and nothing that belongs to none of them."""
    assert strays(lecture.folder, lecture.katas) == []


def test_a_lecture_climbs_by_sizes(lecture: Lecture) -> None:
    """A lecture that states sizes opens with a spark, and its core path fits into a day."""
    assert broken_lecture_rules(lecture) == []


def test_the_readme_lists_the_katas_in_order(lecture: Lecture) -> None:
    """A lecture's README names every kata, first mentions in the order in which to solve them."""
    text = (lecture.folder / "README.md").read_text(encoding="utf-8")
    # A kata of another lecture is written with its lecture: lecture02/k01_bytes.
    mentioned = dict.fromkeys(re.findall(r"(?<![\w/])k\d\d_[a-z0-9_]+", text))

    assert [kata.name for kata in lecture.katas] == list(mentioned)


def test_the_readme_states_the_sizes(lecture: Lecture) -> None:
    """A table of katas in a README has the sizes and minutes of lecture.toml."""
    text = (lecture.folder / "README.md").read_text(encoding="utf-8")
    stated = re.findall(r"^\| `(k\d\d_\w+)` \| (\w+) \| (\d+)(, optional)? \|", text, re.MULTILINE)
    sizes = {
        kata.name: (kata.name, kata.size, str(kata.minutes), "" if kata.core else ", optional")
        for kata in lecture.katas
    }

    assert stated == [sizes[name] for name, *_ in stated]
    assert len(stated) in {0, len(sizes)}


def test_every_line_of_the_syllabus_has_katas(lecture: Lecture) -> None:
    """Each syllabus line of a lecture is taught by at least two of its katas."""
    count = Counter(key for kata in lecture.katas for key in kata.syllabus)
    few = {key: count[key] for key in lecture.syllabus if count[key] < 2}

    assert few == {}
