"""A kata is decided everywhere, or its table says what it needs, and it is not called solved.

Where nothing optional is installed some tests are skipped. A wrong answer that only such a test
rejects would pass there: so each one listed is rejected by a test that runs everywhere, or by one
that needs what the kata's table names. Read as text, without torch.
"""

from __future__ import annotations

import tomllib
from functools import cache
from typing import TYPE_CHECKING

import pytest

from plugins import ROOT
from plugins.course.lectures import read_course
from plugins.progress.standing import Results
from plugins.progress.standing import TestOutcome
from tests.support.conditions import SKIP
from tests.support.conditions import conditions_of


if TYPE_CHECKING:
    from plugins.course.model import Kata


# What the README asks everyone for: a C++ compiler and Python's headers, and what PyTorch's builds
# for Linux and macOS have. Every other backend is optional, one that is new too.
EVERYWHERE = {"cxx", "gloo", "inductor", SKIP}
# Tests that reject a wrong answer, and are skipped for what a machine is: nothing can be installed
# for that, and the kata is not called solved there either.
OF_THE_MACHINE = {
    ("lecture04/k15_vectorized", "test_vectors_are_faster"): "AVX2",
    ("lecture06/k08_grow", "test_a_worker_that_reads_grows_by_next_to_nothing"): "Linux",
    ("lecture06/k10_tokens", "test_a_batch_reads_no_more_than_its_windows"): "Linux",
    ("lecture06/k10_tokens", "test_the_memory_is_the_file"): "Linux",
    ("lecture09/k02_bias_gelu", "test_forward_takes_one_pass"): "Linux",
    ("lecture09/k02_bias_gelu", "test_backward_takes_one_pass"): "Linux",
}
KATAS = {kata.id: kata for kata in read_course(sorted((ROOT / "katas").glob("lecture*/"))).katas}


@cache
def conditions(kata: Kata) -> dict[str, set[str]]:
    """Return what each test of the kata needs."""
    return conditions_of(kata.test.read_text(encoding="utf-8"))


def optional(kata: Kata) -> set[str]:
    """Return what the kata cannot be decided without, of what is optional."""
    return {*kata.needs} - EVERYWHERE


@pytest.mark.parametrize("name", KATAS)
def test_a_wrong_answer_is_rejected_with_nothing_optional(name: str) -> None:
    """Or the kata's table says what is needed; no test that is called extra rejects one."""
    kata, problems = KATAS[name], []
    needs = conditions(kata)
    file = kata.meta / "wrong.toml"
    for wrong in tomllib.loads(file.read_text(encoding="utf-8"))["wrong"]:
        test = wrong["rejected_by"].partition("[")[0]
        lacking = needs[test] - EVERYWHERE - {*kata.needs}
        if lacking:
            problems.append(f"{wrong['because']!r} waits for {sorted(lacking)} in {test}")
        if SKIP in needs[test] and (name, test) not in OF_THE_MACHINE:
            problems.append(f"{wrong['because']!r} is rejected by {test}, which may be skipped")
        if test in kata.extra:
            problems.append(f"{wrong['because']!r} is rejected by {test}, which is called extra")

    assert [] == problems


@pytest.mark.parametrize("name", KATAS)
def test_a_kata_is_solved_or_undecided_with_nothing_optional(name: str) -> None:
    """It is solved where all that can run passes, unless its table says that it needs more."""
    kata = KATAS[name]
    tests = {
        test: TestOutcome("skipped", f"{min(missing)}: it is not installed")
        if (missing := needs - EVERYWHERE)
        else TestOutcome("passed")
        for test, needs in conditions(kata).items()
    }
    state = Results("content", tests, len(tests), kata.extra).state

    assert state == ("unavailable" if optional(kata) else "solved"), (
        f"{name}: tests that may be skipped are named in its table: as extra, if they decide "
        f"nothing, or what they need in needs; skipped: {sorted(kata.extra)}"
    )


@pytest.mark.parametrize("name", [name for name, kata in KATAS.items() if kata.extra])
def test_what_is_extra_may_be_skipped(name: str) -> None:
    """It is a test of the kata, and not one that runs everywhere."""
    needs = conditions(KATAS[name])

    for test in KATAS[name].extra:
        assert needs[test] - (EVERYWHERE - {SKIP}), f"{test} runs everywhere"


def test_few_katas_need_what_is_optional() -> None:
    """The others can be solved with a compiler alone; ONNX is a format that needs its packages."""
    found = {name: sorted(optional(kata)) for name, kata in KATAS.items() if optional(kata)}

    assert found == {
        "lecture08/k12_component": ["torchx"],
        "lecture09/k14_triton_mask": ["triton"],
        "lecture09/k15_triton_softmax": ["triton"],
        "lecture09/k16_triton_matmul": ["triton"],
        "lecture09/k17_build": ["cmake", "ninja"],
        "lecture15/k13_ship": ["executorch"],
        "lecture15/k15_runner": ["executorch"],
        "lecture16/k02_became": ["onnxruntime"],
        "lecture16/k03_interpreter": ["onnxruntime"],
        "lecture16/k04_batches": ["onnxruntime"],
        "lecture16/k05_sizes": ["onnxruntime"],
        "lecture16/k06_translation": ["onnxruntime"],
        "lecture16/k07_rewrite": ["onnxruntime"],
        "lecture16/k08_binding": ["onnxruntime"],
        "lecture16/k09_lies": ["onnxruntime"],
        "lecture16/k12_ship": ["onnxruntime"],
        "lecture16/k14_calibrate": ["onnxruntime"],
        "lecture18/k06_scheduler": ["torchx"],
        "lecture18/k14_nightly": ["torchx"],
        "lecture26/k13_cartpole_learns": ["torchrl"],
    }


def test_what_the_machine_decides_is_up_to_date() -> None:
    """Each test that is listed rejects a wrong answer, and may be skipped."""
    for name, test in OF_THE_MACHINE:
        kata = KATAS[name]
        text = (kata.meta / "wrong.toml").read_text(encoding="utf-8")

        assert SKIP in conditions(kata)[test]
        assert f'rejected_by = "{test}' in text


MODULE = """
import pytest

pytestmark = pytest.mark.backend("cxx")
tool = pytest.mark.backend("tool", "other")

@pytest.fixture
def fixture(): return helper()

def helper():
    if sys.platform != "linux":
        pytest.skip("Linux")
    return helper

@tool
def test_marked(): pass

def test_fixture(fixture): pass

@pytest.mark.parametrize("x", [1, pytest.param(2, marks=pytest.mark.skipif(True, reason="no"))])
def test_param(x): pass

def test_plain(): pass
"""


def test_what_a_test_needs_is_read_from_its_text() -> None:
    """Its marks, also by a name; fixtures, and what they call; marks of a parameter."""
    assert conditions_of(MODULE) == {
        "test_marked": {"cxx", "tool", "other"},
        "test_fixture": {"cxx", SKIP},
        "test_param": {"cxx", SKIP},
        "test_plain": {"cxx"},
    }
    auto = MODULE.replace("@pytest.fixture", "@pytest.fixture(autouse=True)")
    assert all(SKIP in needs for needs in conditions_of(auto).values())
