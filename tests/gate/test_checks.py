"""The gate's own tests: katas that are wrong on purpose, and its verdict on each."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest

from plugins import ROOT
from tests.gate.answers import answers_file
from tests.gate.cases import read_gate
from tests.gate.mutation import mutate
from tests.gate.mutation import shown
from tests.gate.protocol import Run
from tests.gate.repeats import repeats
from tests.gate.rules import broken_rules
from tests.gate.wrongrules import broken_answers
from tests.support.smallkata import EQUAL
from tests.support.smallkata import SOLUTION
from tests.support.smallkata import STUB
from tests.support.smallkata import WRONG


if TYPE_CHECKING:
    from tests.conftest import MiniCourse
    from tests.gate.runner import Runner
    from tests.support.smallkata import Small


def test_a_good_kata_passes(small: Small) -> None:
    """The kata that the other tests spoil passes every check."""
    checks, kata = small.checks, small.kata
    mutation = mutate(checks, kata, full=True)

    assert broken_rules(kata) == []
    assert broken_answers(checks.gate, kata) == []
    assert checks.unsolved(kata) == []
    assert checks.solved(kata) == []
    assert checks.wrong(kata, checks.answers(kata).wrong) == [[], [], []]
    assert mutation.problems == ()
    assert mutation.killed == mutation.tried > 10
    assert repeats(checks, kata, 3) == []


def test_a_check_stores_nothing_about_the_learner(small: Small) -> None:
    """The gate loads only what a verdict needs: its failures are not the learner's."""
    shutil.copy(ROOT / "conftest.py", small.course.path / "conftest.py")

    assert small.checks.unsolved(small.kata) == []
    assert not (small.course.path / ".katas/progress").exists()


def test_a_check_loads_no_plugin_of_a_learners_session(small: Small) -> None:
    """Neither the crash guard, the progress, nor --watch can change a proof."""
    text = (ROOT / "conftest.py").read_text(encoding="utf-8")
    small.course.write(
        "conftest.py",
        f"""{text}

def pytest_collection_finish(session):
    loaded = [name for name, _ in session.config.pluginmanager.list_name_plugin()]
    others = [name for name in loaded if name in SESSION]
    if others:
        raise RuntimeError(f"loaded: {{others}}")
""",
    )

    assert small.checks.solved(small.kata) == []


def test_tests_that_are_too_weak(small: Small) -> None:
    """Survivors fail the kata, each with its diff and the table that would list it."""
    small.edit("test_k01_clamp.py", "assert clamp(9, 1, 3) == 3", "assert clamp(9, 1, 3) > 0")
    small.edit("test_k01_clamp.py", "assert clamp(0, 1, 3) == 1", "assert clamp(0, 1, 3) < 9")

    (problem,) = mutate(small.checks, small.kata, full=True).problems

    assert "mutants killed, expected 95%: strengthen the tests" in problem
    assert "-    if x <= low:\n+    if False:" in problem
    assert "[[equivalent]]" in problem


def test_a_stub_that_passes(small: Small) -> None:
    """A test that passes before the kata is solved is named, with the ways out."""
    small.edit("k01_clamp.py", "    raise NotImplementedError", "    return 2")

    (problem,) = small.checks.unsolved(small.kata)

    assert problem.startswith("test_inside_nothing_changes passes before the kata is solved")
    assert "NotImplementedError is a RuntimeError" in problem


def test_a_stub_that_does_not_import(small: Small) -> None:
    """An ImportError is a broken kata, not a red one."""
    small.edit("test_k01_clamp.py", "import clamp\n", "import clump\n")

    (problem,) = small.checks.unsolved(small.kata)

    assert problem.startswith("the test module could not be collected")
    assert "ImportError: cannot import name 'clump'" in problem


def test_a_stub_that_fails_by_an_import_in_the_test(small: Small) -> None:
    """Inside a test, too, an ImportError is not the failure of an unsolved kata."""
    small.edit("k01_clamp.py", "    raise NotImplementedError", "    import nothing_so_named")

    problems = small.checks.unsolved(small.kata)

    assert len(problems) == 4
    assert "fails with ModuleNotFoundError, expected NotImplementedError or an" in problems[0]


@pytest.mark.parametrize(
    ("decorator", "says"),
    [
        (
            "@pytest.mark.skip(reason='later')",
            "is skipped: only a test with a device or a backend may skip",
        ),
        ("@pytest.mark.usefixtures('absent')", "fails in its setup, expected in the test itself"),
        ("@pytest.mark.given", "is marked given, so it must pass"),
    ],
)
def test_a_test_that_is_not_red_in_its_call(small: Small, decorator: str, says: str) -> None:
    """Skips, failing fixtures and failing given tests have different messages."""
    name = "def test_above_comes_the_high_end"
    small.edit("test_k01_clamp.py", name, f"{decorator}\n{name}")

    (problem,) = small.checks.unsolved(small.kata)

    assert says in problem


def test_a_missing_hint(small: Small) -> None:
    """Two hints are refused where the lecture is read, with the number that is expected."""
    small.edit("lecture.toml", '"the second hint", ', "")

    (error,) = read_gate(small.course.path).course.errors

    assert "kata k01_clamp: hints: expected 3 strings, found 2" in error


def test_a_hint_that_gives_the_answer_away(small: Small) -> None:
    """A hint with a line of the solution in it is no hint."""
    hint = json.dumps("write return high if x >= high else x and be done")
    small.edit("lecture.toml", '"the third hint"', hint)

    assert broken_rules(small.kata) == [
        "hint 3 holds a line of the solution: return high if x >= high else x"
    ]


def test_a_wrong_answer_that_another_test_rejects(small: Small) -> None:
    """The message names the test that came first, and the remedies."""
    small.answers(WRONG.replace('"test_above_comes_the_high_end"', '"test_no_range"'))
    checks = small.checks

    _, (problem,), _ = checks.wrong(small.kata, checks.answers(small.kata).wrong)

    assert problem.startswith(
        "test_above_comes_the_high_end rejects it first, expected test_no_range: narrow the "
        "earlier test, move the named one up, or name test_above_comes_the_high_end"
    )


def test_a_wrong_answer_that_nothing_rejects(small: Small) -> None:
    """An accepted wrong answer asks for a stronger test."""
    small.answers(WRONG.replace('by = "return x"', 'by = "return min(low, high)"'))
    checks = small.checks

    first, *_ = checks.wrong(small.kata, checks.answers(small.kata).wrong)

    assert len(first) == 1
    assert first[0].startswith("no test rejects it: strengthen test_below_comes_the_low_end")


def test_a_wrong_answer_whose_test_cannot_run_here(small: Small) -> None:
    """It cannot be judged; the reason is that of the test."""
    name = "def test_no_range"
    small.edit("test_k01_clamp.py", name, f"@pytest.mark.skip(reason='no GPU')\n{name}")
    checks, kata = small.checks, small.kata

    assert "no GPU" in checks.absent(kata, "test_no_range")
    assert checks.absent(kata, "test_inside_nothing_changes") == ""
    assert checks.absent(kata) == ""


@pytest.mark.torch
@pytest.mark.parametrize(("versions", "reason"), [("<2", "this needs torch<2, but "), (">=2", "")])
def test_a_wrong_answer_that_another_torch_makes_right(
    small: Small, versions: str, reason: str
) -> None:
    """It is left out with that torch, and the reason given; the others are not."""
    named = 'because = "the low end is forgotten"\n'
    said = f'torch = "{versions}"\ntorch_because = "Python does it there"\n'
    small.answers(WRONG.replace(named, named + said) + EQUAL)
    checks, kata = small.checks, small.kata
    first, second, _ = checks.answers(kata).wrong
    found = checks.left_out(kata, first)

    assert found.startswith(reason)
    assert bool(reason) is ("Python does it there" in found)
    assert checks.left_out(kata, second) == ""


def test_mutants_wait_for_what_the_kata_needs(small: Small) -> None:
    """Where all variants of a test are skipped for that reason, and not only those of a device."""
    name = "def test_no_range"
    small.edit("test_k01_clamp.py", name, f"@pytest.mark.skip(reason='gpu: no GPU')\n{name}")
    assert small.checks.lacks(small.kata) == ""
    small.edit("lecture.toml", "needs = []", 'needs = ["gpu"]')
    assert small.checks.lacks(small.kata) == "gpu: no GPU"
    small.edit(
        "test_k01_clamp.py",
        f"@pytest.mark.skip(reason='gpu: no GPU')\n{name}():",
        f"@pytest.mark.parametrize('n', [pytest.param(1, marks=pytest.mark.skip('gpu: no')), 2])\n"
        f"{name}(n):",
    )
    assert small.checks.lacks(small.kata) == ""


@pytest.mark.parametrize(
    ("by", "says"),
    [
        ("return lo", "fails with NameError, a mistake in the edit: fix it"),
        ("return (", "does not import, so no test can reject it: fix the edit"),
        (
            "while True: pass",
            "must fail with an assertion, but test_below_comes_the_low_end did not",
        ),
        ("__import__('os').abort()", "crashed the process (SIGABRT)"),
    ],
)
def test_a_wrong_answer_that_is_none(small: Small, by: str, says: str) -> None:
    """Typing errors, endless loops and crashes are not misconceptions that a test rejects."""
    small.answers(WRONG.replace('by = "return x"', f'by = "{by}"'))
    checks = small.checks

    (problem,) = checks.wrong(small.kata, checks.answers(small.kata).wrong[:1])[0]

    assert says in problem


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"return low"', '"return lower"', "found 0 times in solutions/k01_clamp.py, expected"),
        ('"return low"', '"return"', "found 3 times in solutions/k01_clamp.py, expected once"),
        ('function = "clamp"', 'function = "clip"', "function 'clip' is found 0 times"),
        ('"test_no_range"', '"test_no_test"', "rejected_by: expected a test of the kata"),
        ("shortcut = true", "shortcut = false", "expected one [[wrong]] with shortcut = true"),
        ('because = "shortcut: sorts"', "", "because: expected a string, found nothing"),
        ('by = "return x"', "bye = 1", "bye: expected one of because, body, breaks, by, file"),
        ("shortcut: sorts", "TODO: a slip", "wrong 3: because still says TODO"),
        ('"return x"', '"TODO"', "wrong 1: by still says TODO"),
        ("\n[[wrong]]", f"{EQUAL}\n[[wrong]]".replace("x is low", "TODO"), "equivalent 1: reason"),
    ],
)
def test_answers_that_cannot_be_tried(small: Small, old: str, new: str, says: str) -> None:
    """A file of wrong answers that does not fit its kata is refused before anything runs."""
    small.answers(WRONG.replace(old, new, 1))

    (problem,) = broken_answers(small.checks.gate, small.kata)

    assert says in problem
    assert "k01_clamp/wrong.toml" in problem


def test_too_few_wrong_answers(small: Small) -> None:
    """Two wrong answers are one too few, and none at all say which file to write."""
    small.answers(WRONG.partition("\n\n")[2])
    (few,) = broken_answers(small.checks.gate, small.kata)
    file = answers_file(small.kata)
    file.unlink()
    (none,) = broken_answers(small.checks.gate, small.kata)

    assert "expected at least 3 [[wrong]] answers, found 2" in few
    assert "k01_clamp/wrong.toml: file: expected a readable UTF-8 file" in none


def test_right_answers_written_otherwise(small: Small) -> None:
    """A different solution is accepted, one that is wrong is not."""
    other = SOLUTION.replace("    if x <= low:\n        return low\n", "    x = max(x, low)\n")
    good = small.course.write("katas/lecture01/.meta/k01_clamp/right/k01_clamp.py", "")
    good.write_text(other)
    bad = small.course.write(
        "katas/lecture01/.meta/k01_clamp/right/k01_clamp.worse/k01_clamp.py", ""
    )
    bad.write_text(SOLUTION.replace("return low", "return x"))

    gate = read_gate(small.course.path)

    assert gate.right(small.kata) == [good, bad.parent]
    assert small.checks.right(small.kata, good) == []
    (problem,) = small.checks.right(small.kata, bad.parent)
    assert problem.startswith("test_below_comes_the_low_end fails with the solution")


def test_a_listed_mutant_that_is_killed(small: Small) -> None:
    """An entry for a mutant that the tests notice is out of date."""
    first, _, second = EQUAL.partition("\n\n")
    entry = first.replace("+    if (x < low):", "+    if (x > low):")
    small.answers(WRONG + second + entry)

    problem = mutate(small.checks, small.kata, full=True).problems[0]

    assert problem.endswith("is listed as equivalent but killed: delete the entry")


def test_a_listed_mutant_that_is_none(small: Small) -> None:
    """An entry that no longer fits the solution is out of date as well."""
    small.answers(WRONG + EQUAL.replace("-    if x <= low:", "-    if x <= bottom:"))

    problems = mutate(small.checks, small.kata, full=True).problems

    assert "is not a mutant of the current solution: copy it again or delete it" in problems[0]


def test_a_survivor_can_be_pasted_into_the_list(small: Small) -> None:
    """A survivor is shown as the entry that lists it, without the reason."""
    small.answers(WRONG)
    survivors = mutate(small.checks, small.kata, full=True).survivors
    entries = [shown(mutant).replace('""', '"because"') for mutant in survivors]
    assert len(entries) == 2

    small.answers("\n".join([WRONG, *(entry for entry in entries)]).replace("function = ''", ""))

    assert mutate(small.checks, small.kata, full=True).problems == ()


def test_a_mutant_that_never_ends_is_killed(small: Small) -> None:
    """It runs out of processor time, which other load on the machine cannot cause."""
    body = "    while x > high:\n        x = high\n    return max(x, low)\n"
    start = SOLUTION.index("    if x <= low")
    solution = small.course.katas / "lecture01" / "solutions" / "k01_clamp.py"
    solution.write_text(SOLUTION[:start] + body)
    small.answers(WRONG)

    mutation = mutate(small.checks, small.kata, full=True)

    assert [mutant.diff for mutant in mutation.survivors] == []


def test_a_flake(small: Small) -> None:
    """A test that depends on earlier tests fails in some order, and the message has the seed."""
    small.edit("test_k01_clamp.py", "def test_inside", "SEEN = []\n\n\ndef test_inside")
    small.edit("test_k01_clamp.py", "assert clamp(2, 1, 3) == 2", "SEEN.append(1)")
    small.edit("test_k01_clamp.py", "assert clamp(9, 1, 3) == 3", "assert SEEN")

    lines = repeats(small.checks, small.kata, 6)

    assert 0 < len(lines) < 6
    assert "seed " in lines[0]
    assert "test_above_comes_the_high_end" in lines[0]


@pytest.mark.torch
def test_what_takes_long_to_import_is_imported_once(course: MiniCourse, runner: Runner) -> None:
    """A module that one run had to import is already loaded in the next."""
    course.plugins("plugins.course.session", "plugins.course.solutions", "plugins.course.seeds")
    test = """
import sys

def test_it():
    was_there = "torch._dynamo" in sys.modules
    import torch._dynamo
    assert was_there
"""
    course.kata("k01_late", test, stub=STUB, solution=SOLUTION)
    run = Run(root=str(course.path), tests=("katas/lecture01/test_k01_late.py",))

    assert ["failed", "passed"] == [runner.one(run).tests[0].outcome for _ in range(2)]
