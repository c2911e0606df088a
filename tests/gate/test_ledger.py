"""The ledger of proofs: what makes an entry stale, what does not, and what is no proof."""

from __future__ import annotations

import ast
import json
import shutil
from dataclasses import asdict
from dataclasses import replace
from typing import TYPE_CHECKING
from typing import Any

import pytest

from plugins import ROOT
from tests.gate import checks
from tests.gate import ledger
from tests.gate import prove
from tests.gate.engine import DECIDES
from tests.gate.engine import HOME
from tests.gate.engine import SESSION
from tests.gate.engine import engine_digest
from tests.gate.engine import engine_files
from tests.gate.ledger import SHORT
from tests.gate.ledger import Proof
from tests.gate.ledger import differences
from tests.gate.ledger import is_aged
from tests.gate.ledger import proof_file
from tests.gate.ledger import proof_problems
from tests.gate.ledger import read_proof
from tests.gate.ledger import shortened
from tests.gate.ledger import unsound
from tests.gate.ledger import write_proof
from tests.gate.proof_key import content_of
from tests.gate.proof_key import key_of
from tests.gate.proof_key import text_of
from tests.gate.prove import CHECKS
from tests.gate.prove import Prover
from tests.gate.syntax import syntax_of
from tests.support.smallkata import EQUAL
from tests.support.smallkata import WRONG


if TYPE_CHECKING:
    from pathlib import Path

    from tests.gate.prove import Row
    from tests.support.smallkata import Small


COMMAND = "nox -s verify -- lecture01 k01_clamp --write"
TESTS = "test_k01_clamp.py"
GATE = ROOT / "tests/gate"


def prove_it(small: Small, times: int | None = None) -> Row:
    """Put the kata through the gate."""
    return Prover(small.checks, times=times).prove(small.kata)


def problems(small: Small) -> list[str]:
    """Return what is wrong with the entry of the kata."""
    return proof_problems(small.gate, small.kata)


def enter(small: Small, proof: Proof, **counts: dict[str, int]) -> None:
    """Write an entry with other counts by hand."""
    changed = {name: {**getattr(proof, name), **values} for name, values in counts.items()}
    write_proof(small.kata, Proof(**{**asdict(proof), **changed}))


def test_a_proof_says_what_was_run_and_found(small: Small, proof: Proof) -> None:
    """Its entry is a file of JSON that people can read, and it stands."""
    assert problems(small) == []
    assert proof.tests == {"all": 4, "red": 4, "given": 0, "skipped": 0}
    assert proof.wrong == {"listed": 3, "tried": 3, "rejected": 3}
    assert proof.right == {"tried": 0, "accepted": 0}
    assert proof.mutants == {
        "possible": 15,
        "unbuilt": 0,
        "tried": 13,
        "killed": 13,
        "equivalent": 2,
    }
    assert proof.repeats == {"run": 20, "passed": 20}
    assert set(proof.content) == {
        "[[kata]] in lecture.toml",
        "__init__.py",
        "equivalent mutants",
        "k01_clamp.py",
        "solutions/k01_clamp.py",
        TESTS,
        "torch",
        "wrong answers",
    }
    assert proof.engine == engine_digest()[:SHORT]
    text = proof_file(small.kata).read_text()
    assert json.loads(text) == asdict(proof)
    assert '\n  "tests": {\n' in text


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("k01_clamp.py", "raise NotImplementedError", "return low"),
        ("k01_clamp.py", "high: int", "high: float"),
        ("solutions/k01_clamp.py", "x <= low", "x < low"),
        ("solutions/k01_clamp.py", "raise ValueError", "raise TypeError"),
        (TESTS, "== 3", "== 4"),
        (TESTS, "def test_no_range", "def test_a_range"),
        (TESTS, 'match="low"', 'match="high"'),
        ("__init__.py", "overlay(__path__)", "__path__"),
    ],
)
def test_a_change_of_what_it_rests_on_makes_it_stale(
    small: Small, proof: Proof, name: str, old: str, new: str
) -> None:
    """The message names the file and the command."""
    file = small.course.katas / "lecture01" / name
    assert proof.content[name]
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new, 1))

    assert f"is stale, since these have changed: {name}" in problems(small)[0]
    assert problems(small)[0].endswith(COMMAND)


@pytest.mark.usefixtures("proof")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('by = "return x"', 'by = "return x + 1"'),
        ('replace = "return low"', 'replace = "low\\n    return high"'),
        ('"test_above_comes_the_high_end"', '"test_no_range"'),
        ("sorted((low, x, high))[1]", "sorted((low, x, high))[2]"),
        ("[[wrong]]", '[[wrong]]\ntorch = "<2"\ntorch_because = "it is"'),
    ],
)
def test_a_change_of_a_wrong_answer_makes_it_stale(small: Small, old: str, new: str) -> None:
    """Its edit, the test that rejects it, or the versions of torch where it is wrong."""
    change_answers(small, old, new)

    assert "is stale, since these have changed: wrong answers." in problems(small)[0]


@pytest.mark.usefixtures("proof")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("+    if (x < low):", "+    if (x > low):"),
        ('operator = "comparison"', 'operator = "constant"'),
        ('function = "clamp"\nop', 'function = "other"\nop'),
    ],
)
def test_a_change_of_an_equivalent_mutant_makes_it_stale(small: Small, old: str, new: str) -> None:
    """What names it decides."""
    change_answers(small, old, new)

    assert "is stale, since these have changed: equivalent mutants." in problems(small)[0]


def change_answers(small: Small, old: str, new: str) -> None:
    """Change the first place of the file of wrong answers that has this text."""
    text = WRONG + EQUAL
    assert old in text
    small.answers(text.replace(old, new, 1))


@pytest.mark.usefixtures("proof")
def test_prose_changes_no_proof(small: Small) -> None:
    """Neither comments, docstrings and messages nor the layout, of wrong answers either."""
    small.edit("k01_clamp.py", "Move a number", "Bring a number")
    small.edit("k01_clamp.py", "# TODO: compare with", "# TODO: look at")
    small.edit("solutions/k01_clamp.py", "must not be above high", "is above high")
    small.edit("solutions/k01_clamp.py", "if x <= low:", "if (x <= low):  # Both ends.")
    small.edit(
        TESTS, "assert clamp(2, 1, 3) == 2", "assert (\n        clamp(2, 1, 3) == 2\n    ), 'no'"
    )
    small.edit(TESTS, "becomes its low end", "becomes the low end")
    change_answers(small, "the low end is forgotten", "the lower end is forgotten")
    assert problems(small) == []

    wrong, equal = WRONG.replace("shortcut: sorts", "shortcut"), EQUAL.replace("where", "if")
    wrong = wrong.replace("return sorted", "# As ever.\nreturn (sorted").replace("[1]", "[1])")
    first, *others = wrong.strip().split("\n\n")
    small.answers("\n\n".join([*others, first, equal]))
    assert problems(small) == []

    # The edit is written anew, since the solution is, and makes the same of it.
    small.edit("solutions/k01_clamp.py", "return high if x", "return high  if x")
    small.answers((WRONG + EQUAL).replace("high if x", "high  if x", 1))
    assert problems(small) == []


@pytest.mark.usefixtures("proof")
def test_new_files_make_it_stale(small: Small) -> None:
    """An alternative solution, and a file that pytest reads for the whole lecture."""
    small.course.write("katas/lecture01/.meta/k01_clamp/right/k01_clamp.sorted.py", "")
    small.course.write("katas/lecture01/conftest.py", "")

    (problem,) = problems(small)
    assert "these have changed: conftest.py, right/k01_clamp.sorted.py." in problem


@pytest.mark.usefixtures("proof")
def test_files_of_the_lecture_that_it_does_not_need(small: Small) -> None:
    """Another kata's header, or its data."""
    small.course.write("katas/lecture01/csrc/shared.h", "")
    small.course.write("katas/lecture01/data/numbers.txt", "")
    assert problems(small) == []

    small.edit(TESTS, "assert clamp(9, 1, 3) == 3", "assert clamp(9, 1, 3) == 3, 'numbers.txt'")
    assert problems(small) == []
    small.edit(TESTS, "import pytest\n", "import pytest\n\nDATA = 'numbers.txt'\n")
    assert f"these have changed: data/numbers.txt, {TESTS}." in problems(small)[0]


@pytest.mark.usefixtures("proof")
def test_the_table_in_lecture_toml_counts_where_it_decides(small: Small) -> None:
    """What the kata needs does; title, hints, episodes, size and README do not."""
    small.edit("lecture.toml", "the first hint", "another hint")
    small.edit("lecture.toml", "The title of k01_clamp", "Another title")
    sized = 'kind = "lab"\nsize = "kata"\nminutes = 20\ncore = false'
    small.edit("lecture.toml", 'kind = "lab"', sized)
    small.course.write("katas/lecture01/README.md", "Words.")
    assert problems(small) == []

    small.edit("lecture.toml", "needs = []", 'needs = ["cxx"]')
    (problem,) = problems(small)
    assert "these have changed: [[kata]] in lecture.toml." in problem


@pytest.mark.usefixtures("proof")
def test_another_kata_does_not_count(small: Small) -> None:
    """A kata's proof stands while its lecture grows."""
    small.course.kata("k02_next", "def test_it(): pass")
    small.course.write("katas/lecture01/.meta/k02_next/wrong.toml", "")

    assert problems(small) == []


@pytest.mark.usefixtures("proof")
def test_line_ends_do_not_count(small: Small) -> None:
    """Git may have written those of Windows."""
    for name in ("k01_clamp.py", TESTS):
        file = small.course.katas / "lecture01" / name
        file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))

    assert problems(small) == []


def enter_anew(small: Small) -> Proof:
    """Enter the proof of the kata for what it rests on now."""
    found = content_of(small.gate, small.kata)
    known = read_proof(proof_file(small.kata))
    proof = replace(known, key=key_of(found), content=shortened(found))
    write_proof(small.kata, proof)
    assert problems(small) == []
    return proof


def change(small: Small, name: str, old: str, new: str) -> None:
    """Change one place of a file of the course."""
    file = small.course.path / name
    text = file.read_text()
    assert text.count(old) == 1
    file.write_text(text.replace(old, new))


COMPAT = """
import sys

TORCH = (2, 13)
NEW = TORCH >= (2, 15)
OTHER = sys.version


def old():
    return not NEW
"""
STALE_COMPAT = "these have changed: katas/compat.py."


@pytest.mark.usefixtures("proof")
@pytest.mark.parametrize(
    "imported",
    [
        "from katas import compat\nOLD = compat.old",
        "from katas import compat as versions\nOLD = versions.old()",
        "from katas.compat import old",
        "def late():\n    from katas.compat import old as before",
    ],
)
def test_it_rests_on_what_it_uses_of_compat(small: Small, imported: str) -> None:
    """A name, and what its statement mentions in turn; not another one."""
    small.course.write("katas/compat.py", COMPAT)
    small.edit(TESTS, "import pytest\n", f"import pytest\n{imported}\n")
    enter_anew(small)
    change(small, "katas/compat.py", "sys.version", "sys.path")
    change(small, "katas/compat.py", "import sys", '"""Words."""\n# Why.\nimport sys')
    assert problems(small) == []

    change(small, "katas/compat.py", "(2, 13)", "(2, 14)")
    assert STALE_COMPAT in problems(small)[0]


@pytest.mark.usefixtures("proof")
@pytest.mark.parametrize(
    "imported",
    ["import katas.compat", "from katas.compat import *", "from katas import compat\nC = compat"],
)
def test_it_may_use_all_of_compat(small: Small, imported: str) -> None:
    """It does where it cannot be told which names it uses."""
    small.course.write("katas/compat.py", COMPAT)
    small.edit(TESTS, "import pytest\n", f"import pytest\n{imported}\n")
    enter_anew(small)

    change(small, "katas/compat.py", "sys.version", "sys.path")
    assert STALE_COMPAT in problems(small)[0]


@pytest.mark.usefixtures("proof")
def test_a_kata_that_does_not_use_compat(small: Small) -> None:
    """Nothing there is its own, unless a run has opened it in another way."""
    small.course.write("katas/compat.py", COMPAT)
    assert problems(small) == []
    assert "katas/compat.py" not in content_of(small.gate, small.kata)
    assert content_of(small.gate, small.kata, ["katas/compat.py"])["katas/compat.py"]


@pytest.mark.usefixtures("proof")
@pytest.mark.parametrize("broken", ["from plugins.kit import (", "compat = ("])
def test_text_that_is_no_python(small: Small, broken: str) -> None:
    """It changes the key, and the run of the kata says what is wrong."""
    small.edit(TESTS, "import pytest\n", f"import pytest\n{broken}\n")

    assert f"these have changed: {TESTS}." in problems(small)[0]


@pytest.mark.usefixtures("proof")
def test_the_engine_is_in_no_key(small: Small) -> None:
    """Neither the plugins nor the kit that the kata's test imports, nor how answers are laid."""
    small.edit(TESTS, "import pytest\n", "import pytest\nfrom plugins.kit import same_shape\n")
    enter_anew(small)
    small.course.write("plugins/kit.py", "def same_shape():\n    return True\n")
    small.course.write("plugins/checks/shapes.py", "")
    small.course.write("katas/__init__.py", "def overlay(path):\n    return path\n")

    assert problems(small) == []


@pytest.mark.usefixtures("proof")
def test_a_pinned_torch_counts_by_its_minor_version(small: Small) -> None:
    """A proof with torch 2.13 is none for 2.14."""
    small.course.write("requirements.txt", "torch==2.13.0\n")
    (problem,) = problems(small)

    assert "these have changed: torch." in problem
    first = content_of(small.gate, small.kata)
    small.course.write("requirements.txt", "numpy==1\ntorch==2.13.1\n")
    assert first == content_of(small.gate, small.kata)


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let a copy of the engine decide, and return its folder."""
    for file in engine_files(HOME):
        copy = tmp_path / "engine" / file.relative_to(HOME)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, copy)
    digest = engine_digest.__wrapped__
    monkeypatch.setattr(ledger, "engine_digest", lambda: digest(tmp_path / "engine"))
    return tmp_path / "engine"


@pytest.mark.parametrize(
    "edit",
    [
        ("tests/gate/mutation.py", "SHARE = 0.95", "SHARE = 0.5"),
        ("tests/gate/file_trace.py", "def watch", "def not_watch"),
        ("tests/gate/cxxmutants.py", '"<": ("<=", ">=")', '"<": ("<=",)'),
        ("plugins/checks/aftermath.py", "def freed", "def not_freed"),
        ("plugins/cuda/csrc/order.h", "#pragma once", "#pragma once\nint x;"),
        ("katas/__init__.py", "KATAS_OVERLAY", "OVERLAY"),
        ("conftest.py", "VERDICT + SESSION", "VERDICT"),
    ],
)
def test_an_older_engine_has_made_it(
    small: Small, proof: Proof, engine: Path, edit: tuple[str, str, str]
) -> None:
    """The entry stands, and is known to be aged."""
    name, old, new = edit
    assert not is_aged(proof)
    text = (engine / name).read_text()
    assert old in text
    (engine / name).write_text(text.replace(old, new))

    assert is_aged(proof)
    assert problems(small) == []


def test_words_of_the_engine_age_nothing(proof: Proof, engine: Path) -> None:
    """A comment, a docstring and a message, nor what only a learner's session loads."""
    for name, old, new in (
        ("tests/gate/mutation.py", '"""Runs a kata\'s mutants', '# Why.\n"""Tries mutants'),
        ("tests/gate/overlay.py", "copy more of the line", "take more of the line"),
        ("plugins/cuda/csrc/order.h", "#pragma once", "// Why.\n#pragma  once"),
    ):
        text = (engine / name).read_text()
        assert old in text
        (engine / name).write_text(text.replace(old, new))
    (engine / "plugins/loop").mkdir()
    (engine / "plugins/loop/next.py").touch()

    assert not is_aged(proof)


# The modules of the gate that do not decide about a kata, and why.
EXEMPT = {
    "__init__": "it is empty",
    "accept": "it writes what solutions print, and the key has the tests",
    "blind": "it enters runs of people, which decide nothing",
    "canaries": "it runs canaries, which are no proofs",
    "conftest": "it is for the tests of the gate",
    "proof_key": "it makes the keys, and every run of tox compares them",
    "cxxsyntax": "the keys are made with it",
    "cxxtemplates": "it writes the files of a new kata, which are in its key",
    "brief_rules": "every run of tox checks them on every kata, in test_katas",
    "selection": "it chooses what to prove, and not how",
    "edits": "the keys are made with it",
    "engine": "it names those that decide",
    "parametrize": "it is for test_katas",
    "ledger": "every run of tox reads every entry with it",
    "parts": "it tells which canaries are due",
    "rules": "every run of tox checks them on every kata, in test_katas",
    "scaffold": "it writes the files of a new kata, which are in its key",
    "shared": "the keys are made with it",
    "sizes": "rules and lectures are checked with it, in test_katas",
    "sources": "it reads files for the rules, and every run of tox does with it",
    "syntax": "the keys are made with it",
    "table": "it prints what the entries say",
    "templates": "it writes the files of a new kata, which are in its key",
    "uses": "the keys are made with it",
    "verify": "it calls what decides; what it enters is in the entry",
    "wrongrules": "every run of tox checks them on every kata, in test_katas",
}


def test_the_parts_that_decide_are_chosen_among_all() -> None:
    """A new module of the gate is put into one of the two lists."""
    found = {path.stem for path in GATE.glob("*.py") if not path.stem.startswith("test_")}

    assert found - {*EXEMPT} == {*DECIDES}
    assert {*EXEMPT} <= found


def test_every_rule_is_checked_on_every_kata_by_tox() -> None:
    """So none has to be in a key, although a kata that breaks one gets no entry."""
    text = (GATE / "test_katas.py").read_text()
    tests = {node.name: node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}
    for test, decides in (
        ("test_a_kata_keeps_the_rule", "judge(kata, list(rule(kata)))"),
        ("test_wrong_answers_can_be_tried", "judge(kata, broken_answers("),
        ("test_its_proof_stands", "judge(kata, proof_problems("),
    ):
        assert decides in ast.unparse(tests[test])
    assert "parametrize('rule', RULES" in ast.unparse(tests["test_a_kata_keeps_the_rule"])
    # The environment without torch runs all tests without that mark.
    settings = (ROOT / "tox.ini").read_text()
    assert 'pytest -W error tests -m "not torch"' in settings
    assert "pytestmark" not in text


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("loop/next.py", "that is not solved.", "that you have not solved."),
        ("guide/failures.py", "def ", "def other_"),
        ("progress/page.py", "def ", "def other_"),
    ],
)
def test_nothing_of_a_learners_session_counts(
    small: Small, proof: Proof, name: str, old: str, new: str
) -> None:
    """A message of --next, or the words of a failure, can be changed without a proof."""
    text = (ROOT / "plugins" / name).read_text()
    assert old in text
    small.course.write(f"plugins/{name}", text)
    before = content_of(small.gate, small.kata)
    assert problems(small) == []

    small.course.write(f"plugins/{name}", text.replace(old, new))
    assert problems(small) == []
    assert key_of(before) == proof.key == key_of(content_of(small.gate, small.kata))


def test_what_decides_imports_nothing_of_a_learners_session() -> None:
    """So a change there cannot change a verdict."""
    for file in engine_files(ROOT):
        for wing in SESSION:
            assert f"from plugins.{wing}" not in file.read_text(), file


def test_syntax_is_the_same_in_another_layout() -> None:
    """Comments, docstrings, brackets and empty lines are no syntax; text and numbers are."""
    text = 'def f(a):\n    """Say."""\n    return a + 1\n'

    assert syntax_of(text) == syntax_of('# Why.\ndef f(a):\n    """Do."""\n\n    return (a + 1)\n')
    assert syntax_of(text) != syntax_of('def f(a):\n    """Say."""\n    return a + 2\n')
    assert syntax_of("x = 'a'") != syntax_of("x = 'b'")


@pytest.mark.parametrize(
    ("counts", "says"),
    [
        ({"tests": {"red": 3}}, "a test is neither red nor given nor skipped"),
        ({"tests": {"red": 0, "given": 4}}, "no test was red"),
        ({"wrong": {"listed": 9}}, "it lists 9 wrong answers, the kata has 3"),
        ({"wrong": {"rejected": 2}}, "a wrong answer was not rejected"),
        ({"wrong": {"tried": 0, "rejected": 0}}, "not one wrong answer was tried"),
        ({"right": {"tried": 1, "accepted": 1}}, "it tried 1 right answers, the kata has 0"),
        ({"mutants": {"killed": 12}}, "too few mutants were killed"),
        ({"mutants": {"killed": 14}}, "too few mutants were killed"),
        ({"mutants": {"tried": 3, "killed": 3}}, "not all mutants were tried"),
        ({"mutants": {"tried": 0, "killed": 0}}, "not one mutant was tried"),
        (
            {"mutants": {"tried": 10, "killed": 10, "equivalent": 5}},
            "too many mutants are listed as equivalent",
        ),
        ({"repeats": {"run": 1, "passed": 1}}, "it was repeated 1 times, expected 5"),
        ({"repeats": {"passed": 19}}, "a repeat did not pass"),
        ({"wrong": {"tried": 1, "rejected": 1}}, "it tried 1 wrong answers, expected 3"),
        ({"mutants": {"tried": 14, "killed": 14}}, "more mutants were tried than there are"),
        ({"mutants": {"unbuilt": 5}}, "more mutants were tried than there are"),
    ],
)
def test_an_entry_whose_counts_are_no_proof(
    small: Small, proof: Proof, counts: dict[str, dict[str, int]], says: str
) -> None:
    """An entry written by hand must have counted better."""
    enter(small, proof, **counts)

    assert any(f"{says}: {COMMAND}" in problem for problem in problems(small))


def test_a_forged_entry_is_found_when_it_is_proved_again(small: Small, proof: Proof) -> None:
    """Its counts are sound and its key is right: only running the kata shows that they are not."""
    enter(
        small,
        proof,
        tests={"all": 9, "red": 9},
        mutants={"possible": 40, "tried": 38, "killed": 38},
    )
    assert problems(small) == []

    found = differences(read_proof(proof_file(small.kata)), proof)
    assert "the entry says tests: all 9, but it is 4" in found
    assert "the entry says mutants: possible 40, but it is 15" in found


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"torch": "1.0"}, "it was made with torch 1.0, expected "),
        ({"proved": "banana"}, "it was proved on banana, which is no day until today"),
        ({"proved": "2026-02-30"}, "it was proved on 2026-02-30, which is no day"),
        ({"proved": "20260201"}, "it was proved on 20260201, which is no day"),
        ({"proved": "2099-01-01"}, "it was proved on 2099-01-01, which is no day until today"),
        ({"proved": 3}, "proved must be text"),
        ({"torch": 2.13}, "torch must be text"),
        ({"seconds": "x"}, "seconds must be a number from 0 to 21600"),
        ({"seconds": 99999}, "seconds must be a number from 0 to 21600"),
        ({"seconds": -1}, "seconds must be a number from 0 to 21600"),
        ({"content": {"torch": 3}}, "content must be digests by name"),
        ({"blind": 3}, "blind must be a list of runs"),
        ({"blind": ["x"]}, "blind must be a list of runs"),
        (
            {"blind": [{"date": "2026-11-23", "tests": 4, "passed": 5, "text": ""}]},
            "blind must be a list",
        ),
        (
            {"blind": [{"date": "2099-11-23", "tests": 4, "passed": 4, "text": ""}]},
            "blind must be a list",
        ),
        ({"blind": [{"date": "2026-11-23", "tests": 4}]}, "blind must be a list of runs"),
    ],
)
def test_a_field_that_cannot_be(
    small: Small, proof: Proof, fields: dict[str, Any], says: str
) -> None:
    """Neither the day nor the version is taken on trust."""
    write_proof(small.kata, replace(proof, **fields))

    (problem,) = problems(small)
    assert says in problem


def test_a_kata_in_cxx_tries_a_sample(small: Small, proof: Proof) -> None:
    """Thirty, or all that build."""
    kata = replace(small.kata, csrc=("csrc/k01_clamp.cpp",))

    def lines(**counts: int) -> list[str]:
        tried = {**proof.mutants, "possible": 80, "killed": counts["tried"], **counts}
        return unsound(small.gate, kata, replace(proof, mutants=tried))

    assert lines(tried=30) == []
    assert lines(tried=29) == ["not all mutants were tried"]
    assert lines(tried=1) == ["not all mutants were tried"]
    assert lines(tried=12, unbuilt=66) == []
    assert lines(tried=11, unbuilt=66) == ["not all mutants were tried"]


@pytest.mark.torch
def test_a_wrong_answer_for_another_torch_need_not_be_tried(small: Small, proof: Proof) -> None:
    """The pinned version decides."""
    small.course.write("requirements.txt", "torch==2.13.0\n")
    small.answers(
        WRONG.replace(
            'because = "the low end is forgotten"\n',
            'because = "the low end is forgotten"\ntorch = "<2.13"\ntorch_because = "it is"\n',
        )
    )
    two = {"listed": 3, "tried": 2, "rejected": 2}
    pinned = replace(proof, torch="2.13")

    assert unsound(small.gate, small.kata, replace(pinned, wrong=two)) == []
    (line,) = unsound(small.gate, small.kata, pinned)
    assert line == "it tried 3 wrong answers, expected 2"


def test_what_a_run_of_the_same_machine_would_find(proof: Proof) -> None:
    """Tests and tried mutants are those of the run, unless a GPU makes a difference."""

    def found(entry: Proof, **gpu: bool) -> list[str]:
        return differences(entry, proof, **gpu)

    tests = replace(proof, tests={"all": 4, "red": 1, "given": 0, "skipped": 3})
    assert found(tests) == ["the entry says tests: skipped 3, but without a GPU it is 0"]
    assert found(tests, gpu=True) == []
    given = replace(proof, tests={"all": 4, "red": 3, "given": 1, "skipped": 0})
    assert found(given) == [
        "the entry says tests: given 1, but it is 0",
        "the entry says tests: red 3, but it is 4",
    ]
    mutants = replace(proof, mutants={**proof.mutants, "tried": 1, "killed": 1, "unbuilt": 12})
    assert found(mutants) == [
        "the entry says mutants: tried 1, but it is 13",
        "the entry says mutants: unbuilt 12, but it is 0",
    ]
    wrong = replace(proof, wrong={"listed": 3, "tried": 1, "rejected": 1})
    assert found(wrong)[-1] == "the entry says wrong: tried 1, but it is 3"
    # A faster machine, or a build that was there already, fits more of them into the same time.
    repeats = replace(proof, repeats={"run": 5, "passed": 5})
    assert found(repeats) == []
    slow = replace(proof, seconds=9999)
    assert found(slow) == [f"the entry says 9999 seconds, but it took {proof.seconds}"]
    assert differences(replace(proof, seconds=3), replace(proof, seconds=9999))
    assert differences(replace(proof, seconds=3), replace(proof, seconds=70)) == []


def test_an_entry_that_counts_more_kills(proof: Proof) -> None:
    """Of the same mutants, more were killed than are."""
    forged = replace(proof, mutants={**proof.mutants, "killed": 13})
    found = replace(proof, mutants={**proof.mutants, "killed": 12})

    assert ["the entry says 13 mutants killed, but it is 12"] == differences(forged, found)
    assert [] == differences(found, forged)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "cannot be read"),
        ("[]", "cannot be read"),
        ("{}", "cannot be read"),
    ],
)
@pytest.mark.usefixtures("proof")
def test_an_entry_that_cannot_be_read(small: Small, text: str, says: str) -> None:
    """A merge conflict, say."""
    proof_file(small.kata).write_text(text)

    (problem,) = problems(small)
    assert says in problem
    assert COMMAND in problem


@pytest.mark.parametrize("count", [-1, True, 2.5, "3", None])
def test_a_count_that_is_none(small: Small, proof: Proof, count: object) -> None:
    """Counts are numbers from 0."""
    enter(small, proof, tests={"all": count})  # type: ignore[dict-item]

    (problem,) = problems(small)
    assert "tests must count all, given, red, skipped" in problem


def test_the_entry_of_another_kata(small: Small, proof: Proof) -> None:
    """A copied entry is red, with its own name in it or with the other's."""
    small.course.kata("k02_next", "def test_it(): pass")
    other = small.gate.katas[1]
    write_proof(other, proof)
    (problem,) = proof_problems(small.gate, other)
    assert "k02_next/proof.json is the proof of lecture01/k01_clamp" in problem

    write_proof(other, replace(proof, kata=other.id))
    assert "is stale" in proof_problems(small.gate, other)[0]


def test_an_entry_with_a_key_of_its_own(small: Small, proof: Proof) -> None:
    """The content is right, the key is not."""
    write_proof(small.kata, replace(proof, key="0" * 64))

    (problem,) = problems(small)
    assert "these have changed: the key itself." in problem


def test_a_key_without_its_content(small: Small, proof: Proof) -> None:
    """A stale entry with a new key: the digests of the content are compared as well."""
    small.edit(TESTS, "== 3", "== 3.0")
    key = key_of(content_of(small.gate, small.kata))
    write_proof(small.kata, replace(proof, key=key))

    assert any("its content" in problem for problem in problems(small))


@pytest.mark.usefixtures("proof")
def test_a_deleted_entry(small: Small) -> None:
    """It is missing by name."""
    proof_file(small.kata).unlink()

    assert problems(small) == [
        f"lecture01/k01_clamp has no proof (katas/lecture01/.meta/k01_clamp/proof.json): {COMMAND}"
    ]


READS = {
    "open": 'open("notes.txt").read()',
    "pathlib": 'pathlib.Path("notes.txt").read_bytes()',
    "absolute": 'pathlib.Path(__file__).parents[2].joinpath("notes.txt").read_text()',
    "descriptor": 'os.close(os.open("notes.txt", os.O_RDONLY))',
    "numpy": 'numpy.fromfile("notes.txt", dtype="uint8")',
    "program": 'subprocess.run(["cat", "notes.txt"], check=True)',
    "fork": 'os.waitpid(os.fork() or (open("notes.txt"), os._exit(0)), 0)',
}


@pytest.mark.parametrize("way", READS)
def test_a_file_on_which_the_key_does_not_rest(small: Small, way: str) -> None:
    """A test that reads a file of the repository from elsewhere is no proof."""
    small.course.write("notes.txt", "3")
    imports = "import os, pathlib, subprocess\n"
    imports += "import numpy\n" if way == "numpy" else ""
    small.edit(TESTS, "import pytest\n", f"{imports}import pytest\n")
    small.edit(
        TESTS, "    assert clamp(2, 1, 3) == 2", f"    {READS[way]}\n    assert clamp(2, 1, 3) == 2"
    )
    row = Prover(small.checks, only=("solved",)).prove(small.kata)

    (problem,) = [line for check, line in row.problems if check == "files"]
    assert problem.startswith("a run opened notes.txt, on which the key of the proof does not rest")


def test_a_module_of_another_kata(small: Small) -> None:
    """Imported, it is found even where Python reads the cached bytecode alone."""
    small.course.kata("k02_next", "def test_it(): pass", stub="HIGH = 3\n", solution="HIGH = 3\n")
    small.edit(
        TESTS, "import pytest\n", "import pytest\nfrom katas.lecture01.k02_next import HIGH\n"
    )

    for _ in range(2):
        row = Prover(small.checks, only=("solved",)).prove(small.kata)
        opened = [line.split()[3] for check, line in row.problems if check == "files"]
        assert opened == ["katas/lecture01/solutions/k02_next.py,"]


@pytest.mark.usefixtures("proof")
def test_a_file_of_the_lecture_may_be_read(small: Small) -> None:
    """The key rests on files that belong to no kata."""
    small.course.write("katas/lecture01/data.txt", "3")
    small.edit(TESTS, "import pytest\n", "import pytest\nfrom pathlib import Path\n")
    read = 'Path(__file__).with_name("data.txt").read_text()'
    small.edit(
        TESTS, "    assert clamp(2, 1, 3) == 2", f"    {read}\n    assert clamp(2, 1, 3) == 2"
    )
    row = Prover(small.checks, only=("solved",)).prove(small.kata)

    assert [line for check, line in row.problems if check == "files"] == []


def test_some_checks_are_no_proof(small: Small) -> None:
    """A run with --only or --quick finds problems and proves nothing."""
    for prover in (Prover(small.checks, only=("unsolved",)), Prover(small.checks, full=False)):
        row = prover.prove(small.kata)
        assert row.problems == []
        assert row.proof is None
        assert row.no_proof == "not all checks were run"


@pytest.mark.usefixtures("once")
def test_what_was_skipped_is_not_proved(small: Small) -> None:
    """Neither a kata of which this machine can run nothing, nor one that lacks what it needs."""
    small.edit("lecture.toml", "needs = []", 'needs = ["gpu"]')
    name = "def test_no_range"
    small.edit(TESTS, name, f"@pytest.mark.skip(reason='gpu: no GPU')\n{name}")
    row = prove_it(small)
    assert (row.proof, row.no_proof) == (None, "gpu: no GPU")

    small.edit(TESTS, "import pytest\n", 'import pytest\npytestmark = pytest.mark.skip("no GPU")\n')
    row = prove_it(small)
    assert (row.proof, row.no_proof) == (None, "no GPU")


MORE = """def test_more(device):
    \"\"\"It runs on some device.\"\"\"
    clamp(2, 1, 3)


def test_no_range():"""


def add_a_skipped_test(small: Small, reason: str, variant: str) -> None:
    """Add a test that is skipped for this reason in its one variant."""
    skip = f"pytest.param(0, id={variant!r}, marks=pytest.mark.skip({reason!r}))"
    mark = f"@pytest.mark.parametrize('device', [{skip}])\n"
    small.edit(TESTS, "def test_no_range():", f"{mark}{MORE}")


@pytest.mark.parametrize(
    ("reason", "variant", "lacks"),
    [
        ("nvcc: nvcc is not installed", "cpu", True),
        ("triton: Triton is not installed", "float32-cpu", True),
        ("cuda: this PyTorch finds no GPU", "cuda", False),
        ("triton: kernels are interpreted here", "cuda-float32", False),
        ("nccl: this PyTorch finds no GPU", "2", False),
        ("exp is a scalar loop without AVX2", "cpu", False),
    ],
)
def test_what_can_be_installed(small: Small, reason: str, variant: str, *, lacks: bool) -> None:
    """Only a GPU may be missing, or what no name stands for."""
    add_a_skipped_test(small, reason, variant)

    assert small.checks.lacks_a_tool(small.kata) == (reason if lacks else "")


@pytest.mark.usefixtures("once")
def test_a_proof_needs_what_can_be_installed(small: Small) -> None:
    """Whatever the kata's table needs."""
    add_a_skipped_test(small, "nvcc: nvcc is not installed", "cpu")
    row = prove_it(small)

    assert row.problems == []
    assert (row.proof, row.no_proof) == (None, "nvcc: nvcc is not installed")


@pytest.mark.usefixtures("once")
@pytest.mark.parametrize(("torch", "proved"), [("<2", True), ("", False)])
def test_a_wrong_answer_that_was_not_tried(
    small: Small, monkeypatch: pytest.MonkeyPatch, torch: str, *, proved: bool
) -> None:
    """It is no proof, unless this torch makes the answer right."""
    monkeypatch.setattr(checks, "version", lambda _: "2.13.0")
    add_a_skipped_test(small, "no such machine", "cpu")
    rejected_by = "test_no_range" if torch else "test_more"
    more = f'torch = "{torch}"\ntorch_because = "it is"\n' if torch else ""
    odd = f'[[wrong]]\nbecause = "odd"\nrejected_by = "{rejected_by}"\nfile = "k01_clamp.py"\n'
    edit = 'replace = "return low"\nby = "return high"\n'
    small.answers(f"{WRONG}{odd}{more}{edit}{EQUAL}")
    row = prove_it(small)

    assert row.problems == []
    assert row.counts["wrong"] == {"listed": 4, "tried": 3, "rejected": 3}
    says = "" if proved else "the wrong answer 'odd' was not tried: no such machine"
    assert (row.proof is not None, row.no_proof) == (proved, says)


def test_fewer_repeats_are_no_proof(small: Small) -> None:
    """A kata as fast as this one is repeated twenty times."""
    row = prove_it(small, times=5)

    assert row.problems == []
    assert (row.proof, row.no_proof) == (None, "it was repeated 5 times, expected 20")


def test_a_kata_with_a_problem_is_not_proved(small: Small) -> None:
    """Whichever check found it."""
    small.edit("k01_clamp.py", "    raise NotImplementedError", "    return 2")

    assert prove_it(small).proof is None


@pytest.mark.usefixtures("once")
def test_proofs_are_made_with_the_pinned_torch(
    small: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another version finds problems, and enters nothing."""
    small.course.write("requirements.txt", "torch==2.13.0\n")
    monkeypatch.setattr(prove, "version", lambda _name: "2.14.1+cpu")
    row = prove_it(small)
    assert row.proof is None
    assert row.no_proof == "proofs are made with torch 2.13, this is 2.14.1+cpu"

    monkeypatch.setattr(prove, "version", lambda _name: "2.13.1+cpu")
    proof = prove_it(small).proof
    assert proof
    assert proof.torch == "2.13"


@pytest.mark.usefixtures("once")
def test_files_that_change_meanwhile(small: Small) -> None:
    """The proof would be of neither text."""

    def edit(check: str, done: int, wanted: int) -> None:
        if check == "repeats" and done == wanted:
            file = small.course.katas / "lecture01" / TESTS
            file.write_text(file.read_text() + "\nCHANGED = 1\n")

    row = Prover(small.checks, say=edit).prove(small.kata)

    assert row.problems == []
    assert (row.proof, row.no_proof) == (None, "its files have changed meanwhile")


@pytest.mark.usefixtures("once")
def test_blind_runs_are_kept_while_stub_and_tests_are_the_same(small: Small, proof: Proof) -> None:
    """They say how people fared with this stub and these tests, whatever the solution is."""
    text = text_of(small.kata)[:SHORT]
    run = {"date": "2026-11-23", "tests": 4, "passed": 4, "text": text}
    write_proof(small.kata, replace(proof, blind=[run]))
    small.answers(f"{WRONG}{EQUAL}\n")
    again = prove_it(small).proof
    assert again
    assert again.blind == [run]

    write_proof(small.kata, replace(proof, blind=[run]))
    small.edit(TESTS, "stays.", "stays, always.")
    again = prove_it(small).proof
    assert again
    assert again.blind == []


def test_every_step_is_a_check() -> None:
    """``verify --only`` knows them by these names."""
    assert CHECKS == ("unsolved", "solved", "wrong", "right", "mutants", "flakes")
    assert (ROOT / "tests/gate").is_dir()
