"""Parts of the project's own tests: each unit in one of them, of about the same time."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.shards import part_of
from tests.shards import shards
from tests.shards import unit_of


if TYPE_CHECKING:
    from collections.abc import Callable

    Run = Callable[..., pytest.RunResult]


ROOT = Path(__file__).parents[1]
CONFTEST = """
import pathlib
import pytest
from tests import shards

shards.TIMES = pathlib.Path(__file__).with_name("times.json")

def pytest_addoption(parser):
    shards.add_options(parser)

def pytest_configure(config):
    if config.getoption("store_times"):
        config.pluginmanager.register(shards.Times())

def pytest_collection_modifyitems(config, items):
    shards.select(config, items)

def pytest_xdist_make_scheduler(config, log):
    return shards.Parts(config, log) if config.getoption("dist") == "loadgroup" else None
"""
GATE = """
import pytest

KATAS = ["lecture01/k01_a", "lecture01/k02_b"]

@pytest.mark.parametrize("kata", KATAS)
def test_gate(kata): pass

@pytest.mark.parametrize("answer", [f"{kata}-1-a-reason" for kata in KATAS])
def test_wrong(answer): pass

@pytest.mark.parametrize("answer", [f"{kata}.cpp" for kata in KATAS])
def test_right(answer): pass

@pytest.mark.parametrize("lecture", ["lecture01"])
def test_flakes(lecture): pass
"""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return how to run a small project with these options."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(
        test_a="def test_1(): pass\ndef test_2(): pass",
        test_b="def test_3(): pass",
        test_gate=GATE,
        test_texts=GATE,
    )

    def run(*options: str) -> pytest.RunResult:
        return pytester.runpytest_subprocess("-v", "-p", "no:cacheprovider", *options)

    return run


@given(
    times=st.dictionaries(st.text("abc", max_size=3), st.floats(0, 100)),
    more=st.sets(st.text("abcd", max_size=3)),
    count=st.integers(1, 5),
)
def test_each_unit_is_in_one_part(times: dict[str, float], more: set[str], count: int) -> None:
    """Whatever is known of them, and in whatever order they come."""
    units = [*times, *more]
    found = shards(units, times, count)

    assert count == len(found)
    assert sorted(set(units)) == sorted(unit for part in found for unit in part)
    assert found == shards(reversed(units), times, count)


def test_the_longest_stands_alone() -> None:
    """And one that is not known is an average one."""
    times = {"a": 100.0, "b": 30.0, "c": 50.0}

    assert [{"a"}, {"b", "c"}] == shards("abc", times, 2)
    # 60 s: less than the longest, more than the others.
    assert [{"a"}, {"x"}, {"b", "c"}] == shards("abcx", times, 3)


@pytest.mark.parametrize("text", ["0/2", "3/2", "2", "a/b", "1/0", ""])
def test_a_part_is_one_of_so_many(text: str) -> None:
    """Any other is refused."""
    with pytest.raises(pytest.UsageError, match=r"--shard wants a part such as 2/4"):
        part_of(text)


def test_the_parts_are_the_whole(project: Run) -> None:
    """No test runs twice, and none is left out; of the gate alone katas and lectures are units."""
    seen = []
    for number in (1, 2, 3):
        lines = project(f"--shard={number}/3").outlines
        seen += [line.split()[0] for line in lines if " PASSED" in line]

    assert 17 == len(seen) == len(set(seen))


def test_workers_take_parts(project: Run) -> None:
    """Each unit stays with one worker, which takes its tests in their order."""
    text = project("-n", "2", "--dist", "loadgroup").stdout.str()
    ran = re.findall(r"^\[(gw\d)\].* PASSED (\S+)", text, re.MULTILINE)
    workers: dict[str, set[str]] = {}
    for worker, test in ran:
        workers.setdefault(unit_of(test), set()).add(worker)

    assert 17 == len(ran)
    assert [1] * 6 == [len(names) for names in workers.values()]
    assert {"gw0", "gw1"} == set.union(*workers.values())
    for each in ("gw0", "gw1"):
        tests = [test for worker, test in ran if worker == each]
        modules = [test.partition("::")[0] for test in tests]
        assert sorted(modules) == modules


@pytest.mark.parametrize(
    ("test", "unit"),
    [
        ("tests/test_gate_solved.py::test_it[lecture02/k01_strides]", "lecture02/k01_strides"),
        ("tests/test_gate_wrong.py::test_it[lecture09/k05_a_b-2-no-mask]", "lecture09/k05_a_b"),
        ("tests/test_gate_right.py::test_it[lecture04/k05_a.library.py]", "lecture04/k05_a"),
        ("tests/test_gate_flakes.py::test_it[lecture10]", "lecture10"),
        ("tests/test_gate_itself.py::test_it", "tests/test_gate_itself.py"),
        ("tests/test_katas.py::test_it[lecture02/k01_strides]", "tests/test_katas.py"),
    ],
)
def test_a_test_belongs_to_its_module_or_kata(test: str, unit: str) -> None:
    """Of the gate alone it is the kata, or the lecture."""
    assert unit == unit_of(test)


def test_times_are_stored(project: Run, pytester: pytest.Pytester) -> None:
    """By unit, also from workers; what is known of others stays."""
    file = pytester.path / "times.json"
    file.write_text('{"test_old.py": 3.5}')
    project("--store-times", "-n", "1")

    times = json.loads(file.read_text())
    units = ["lecture01", "lecture01/k01_a", "lecture01/k02_b", "test_a.py", "test_b.py"]
    units += ["test_old.py", "test_texts.py"]
    assert (units, 3.5) == (list(times), times["test_old.py"])
