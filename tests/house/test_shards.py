"""Parts of the project's own tests: each unit in one of them, of about the same time."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugins import ROOT
from tests.shards import part_of
from tests.shards import read_times
from tests.shards import shards


if TYPE_CHECKING:
    from collections.abc import Callable

    Run = Callable[..., pytest.RunResult]


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
"""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a function that runs a small project with some options."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(
        test_a="def test_1(): pass\ndef test_2(): pass",
        test_b="def test_3(): pass",
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
    """Whichever times are known, and in any order of units."""
    units = [*times, *more]
    found = shards(units, times, count)

    assert count == len(found)
    assert sorted(set(units)) == sorted(unit for part in found for unit in part)
    assert found == shards(reversed(units), times, count)


def test_the_longest_stands_alone() -> None:
    """A unit without a known time counts as average."""
    times = {"a": 100.0, "b": 30.0, "c": 50.0}

    assert [{"a"}, {"b", "c"}] == shards("abc", times, 2)
    # 60 s: less than the longest, more than the others.
    assert [{"a"}, {"x"}, {"b", "c"}] == shards("abcx", times, 3)


@pytest.mark.parametrize("text", ["0/2", "3/2", "2", "a/b", "1/0", ""])
def test_a_part_is_one_of_so_many(text: str) -> None:
    """Any other text is refused."""
    with pytest.raises(pytest.UsageError, match=r"--shard wants a part such as 2/4"):
        part_of(text)


def test_the_parts_are_the_whole(project: Run) -> None:
    """No test runs twice, and none is left out."""
    seen = []
    for number in (1, 2, 3):
        lines = project(f"--shard={number}/3").outlines
        seen += [line.split()[0] for line in lines if " PASSED" in line]

    assert 3 == len(seen) == len(set(seen))


def test_the_longest_comes_first(project: Run, pytester: pytest.Pytester) -> None:
    """A module stays together, and one without a time comes before all, since it may be long."""
    file = pytester.path / "times.json"
    file.write_text('{"test_a.py": 1.0, "test_b.py": 2.0}')
    pytester.makepyfile(test_c="def test_4(): pass")

    lines = [line.split()[0] for line in project().outlines if " PASSED" in line]

    order = ["test_c.py::test_4", "test_b.py::test_3", "test_a.py::test_1", "test_a.py::test_2"]
    assert order == lines


def test_times_are_those_of_modules_that_exist() -> None:
    """What was renamed or deleted would make the parts unequal without a word."""
    assert [name for name in read_times() if not (ROOT / name).is_file()] == []


def test_times_are_stored(project: Run, pytester: pytest.Pytester) -> None:
    """By unit, also from workers; the times of other units stay."""
    file = pytester.path / "times.json"
    file.write_text('{"test_old.py": 3.5}')
    project("--store-times", "-n", "1")

    times = json.loads(file.read_text())
    units = ["test_a.py", "test_b.py", "test_old.py"]
    assert (units, 3.5) == (list(times), times["test_old.py"])
