"""Tests of k08_shards: proven bounds, brute force, and the imports of PyTorch itself."""

from __future__ import annotations

import ast
import copy
import random
import sys
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch
from expecttest import assert_expected_inline
from hypothesis import example
from hypothesis import given
from hypothesis import strategies as st

from katas.lecture28.k08_shards import affected
from katas.lecture28.k08_shards import lower_bound
from katas.lecture28.k08_shards import shards


if TYPE_CHECKING:
    from collections.abc import Iterator


Graph = dict[str, set[str]]
HAND = {"a": 90.0, "b": 20.0, "c": 80.0, "d": 10.0, "e": 70.0, "f": 30.0}


def makespan(times: dict[str, float], rows: list[list[str]]) -> float:
    """Return the total time of the fullest shard."""
    return max(sum(times[name] for name in row) for row in rows)


def best(times: dict[str, float], count: int) -> float:
    """Return the best makespan, by trying every plan."""
    plans = product(range(count), repeat=len(times))
    sums = (
        max(
            sum(time for time, place in zip(times.values(), plan, strict=True) if place == shard)
            for shard in range(count)
        )
        for plan in plans
    )
    return min(sums)


def many(seed: int, size: int = 300) -> dict[str, float]:
    """Return the times of test files: most are short, a few take minutes."""
    dice = random.Random(seed)  # noqa: S311 - no secret
    return {f"test_{number:03}": dice.lognormvariate(2, 1.5) for number in range(size)}


def dealt(times: dict[str, float], count: int) -> list[list[str]]:
    """Return the naive plan: deal files like cards."""
    return [[*times][shard::count] for shard in range(count)]


def planned(times: dict[str, float], count: int) -> list[list[str]]:
    """Return your plan, if it runs each test once and does not change the times."""
    __tracebackhide__ = True
    before = copy.deepcopy(times)
    rows = shards(times, count)
    assert times == before, f"your code changes the times: {times}, expected {before}"
    assert len(rows) == count, f"your plan has {len(rows)} shards, expected {count}"
    run = sorted(name for row in rows for name in row)
    assert run == sorted(times), f"your code runs {run}, expected {sorted(times)}: each test once"
    return rows


def test_a_bound_for_each_plan() -> None:
    """The bound is the total divided by the number of shards, or the longest test if larger."""
    for times, count, expected in (
        (HAND, 2, 150.0),
        (HAND, 10, 90.0),
        ({"a": 1.5}, 1, 1.5),
        ({"a": 1.0, "b": 1.0, "c": 1.0}, 2, 1.5),
        ({}, 3, 0.0),
    ):
        yours = lower_bound(times, count)
        assert yours == expected, f"{times} in {count}: yours {yours}, expected {expected}"


def test_one_shard() -> None:
    """A single shard has all tests, longest first."""
    yours = planned({"a": 1.0, "b": 3.0, "c": 2.0}, 1)
    assert yours == [["b", "c", "a"]], f"yours {yours}, expected [['b', 'c', 'a']]"


def test_the_picture() -> None:
    """Tests of 90, 80, 70, 30, 20 and 10 seconds each go to the emptiest shard."""
    yours = planned(HAND, 2)
    expected = [["a", "f", "b", "d"], ["c", "e"]]
    assert yours == expected, (
        f"yours {yours} takes {makespan(HAND, yours)} s, expected {expected}, which takes 150 s"
    )


def test_more_shards_than_tests() -> None:
    """A job without tests gets an empty shard."""
    yours = planned({"a": 1.0, "b": 2.0}, 4)
    assert yours == [["b"], ["a"], [], []], f"yours {yours}, expected [['b'], ['a'], [], []]"


def test_the_same_plan_on_each_machine() -> None:
    """Jobs may read the times in different orders; if their plans differ, a test is skipped."""
    names = [f"test_{number}" for number in range(12)]
    plans = []
    for seed in range(6):
        random.Random(seed).shuffle(names)  # noqa: S311 - no secret
        plans.append(planned({name: float(int(name[5:]) // 6) + 1 for name in names}, 3))
    differ = [plan for plan in plans if plan != plans[0]]
    assert not differ, (
        f"two machines, two plans: yours {plans[0]} and {differ[0]}; expected equal plans, since"
        " each"
        " job runs its own shard of its own plan"
    )


def test_the_plan_is_the_greedy_one() -> None:
    """Order equal times by name, equal sums by shard; no other plan is right, even a better one."""
    for seconds, count, expected in (
        ({"c": 1.0, "a": 1.0, "b": 1.0}, 2, [["a", "c"], ["b"]]),
        ({"a": 0.0, "b": 0.0}, 2, [["a", "b"], []]),
        ({"a": 0.5, "b": 0.25, "c": 0.125}, 2, [["a"], ["b", "c"]]),
        ({"a": 3.0, "b": 2.0, "c": 2.0}, 2, [["a"], ["b", "c"]]),
        ({"a": 3.0, "b": 3.0, "c": 2.0, "d": 2.0, "e": 2.0}, 2, [["a", "c", "e"], ["b", "d"]]),
    ):
        yours = planned(seconds, count)
        assert yours == expected, (
            f"{seconds} in {count}: yours {yours}, expected {expected}: longest first, then by"
            " name, each to the first of the emptiest shards"
        )


TIMES = st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.0, 2.0**0.5, 7.25]), max_size=7)


@example([3.0, 3.0, 2.0, 2.0, 2.0], 2)
@given(TIMES, st.integers(1, 3))
def test_close_to_the_best_plan(values: list[float], count: int) -> None:
    """Longest first takes at most 4/3 - 1/(3 count) times the best plan's time: Graham, 1969."""
    times = {f"t{number}": value for number, value in enumerate(values)}
    rows = planned(times, count)
    limit = float(Fraction(4, 3) - Fraction(1, 3 * count)) * best(times, count)
    yours = makespan(times, rows)
    assert yours <= limit + 1e-9, (
        f"{times} in {count} shards: your plan takes {yours}, expected at most {limit}: 4/3 - 1/(3"
        f" count) times the best plan. Your rows: {rows}"
    )
    bound = lower_bound(times, count)
    assert bound <= best(times, count) + 1e-9, (
        f"{times}: your bound is {bound}, but a plan takes {best(times, count)}"
    )


@pytest.mark.parametrize("count", [2, 5, 10])
def test_hundreds_of_tests(count: int, capsys: pytest.CaptureFixture[str]) -> None:
    """If tests are dealt like cards, the last job is late; your plan is within 2 % of the bound."""
    times = many(count)
    yours = makespan(times, planned(times, count))
    naive, bound = makespan(times, dealt(times, count)), lower_bound(times, count)
    bar = 1.02 * max(sum(times.values()) / count, *times.values())
    with capsys.disabled():
        sys.stdout.write(f"\n{count} shards, the last is done after: ")
        sys.stdout.write(f"like cards {naive:.0f} s, yours {yours:.0f}, bound {bound:.0f} ")
    assert yours <= bar, (
        f"{count} shards: your plan takes {yours:.1f} s, expected at most {bar:.1f} s (2 % above"
        f" the bound); like cards it is {naive:.1f} s"
    )


SMALL: Graph = {
    "lib/core.py": set(),
    "lib/ops.py": {"lib/core.py"},
    "lib/nn.py": {"lib/ops.py"},
    "lib/io.py": set(),
    "test/test_ops.py": {"lib/ops.py"},
    "test/test_nn.py": {"lib/nn.py", "test/common.py"},
    "test/test_io.py": {"lib/io.py"},
    "test/common.py": set(),
    "testing/tool.py": {"lib/io.py"},
    "lib/test/data.py": {"lib/io.py"},
}


def compare(changed: set[str], imports: Graph, why: str) -> None:
    """Compare with a walk from each test through its imports."""
    __tracebackhide__ = True
    before = copy.deepcopy((changed, imports))
    yours = affected(changed, imports)
    assert (changed, imports) == before, "your code changes its arguments"

    def needs(file: str, seen: set[str]) -> set[str]:
        if file not in seen:
            seen.add(file)
            for each in imports.get(file, ()):
                needs(each, seen)
        return seen

    everything = bool(changed - imports.keys())
    tests = sorted(file for file in imports if file.startswith("test/"))
    expected = [test for test in tests if everything or needs(test, set()) & changed]
    assert yours == expected, f"changed {changed}\nyours {yours}\nexpected {expected}: {why}"


def test_what_imports_it() -> None:
    """A test is affected by direct and indirect imports, and by a change of its own."""
    compare({"lib/io.py"}, SMALL, "test_io imports it")
    compare({"lib/core.py"}, SMALL, "test_nn needs nn, nn needs ops, ops needs core")
    compare({"test/test_io.py"}, SMALL, "a test that was edited runs")
    compare({"lib/nn.py", "lib/io.py"}, SMALL, "both changes count")
    compare(set(), SMALL, "nothing has changed")


def test_a_file_that_is_in_no_import() -> None:
    """Every test may read such a file: a workflow, a build file, a new header."""
    compare({".github/workflows/ci.yaml"}, SMALL, "a workflow can break each test")
    compare({".github/workflows/ci.yaml", "lib/io.py"}, SMALL, "so it can beside another change")
    native = {**SMALL, "lib/io.py": {"lib/native.so"}}
    compare({"lib/native.so"}, native, "it is imported, and no key: who builds it is not known")


class Sorted(set[str]):
    """A set that iterates in sorted order."""

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(super().__iter__()))


def test_a_cycle() -> None:
    """Two files that import each other are affected together, and the search ends."""
    graph: Graph = {"a.py": {"b.py"}, "b.py": {"a.py"}, "test/t.py": {"b.py"}, "test/u.py": set()}
    compare({"a.py"}, graph, "t needs b, and b needs a")
    graph["a.py"] = Sorted({"b.py", "c.py"})
    graph |= {"c.py": set(), "test/s.py": {"a.py"}}
    compare(
        {"c.py"},
        graph,
        "t needs b, b needs a, a needs c; what is known of b while a search"
        " from a has not ended is not the last word",
    )


FILES = ("a.py", "b.py", "c.py", "test/d.py", "test/e.py", "test/f.py")


@given(
    st.fixed_dictionaries({file: st.sets(st.sampled_from(FILES), max_size=2) for file in FILES}),
    st.sets(st.sampled_from(FILES), max_size=2),
)
def test_any_imports(imports: Graph, changed: set[str]) -> None:
    """For any import graph, your result is that of a walk through it."""
    compare(changed, imports, "follow the imports backwards, as far as they go")


def test_the_imports_of_pytorch() -> None:
    """With one test per file of torch.distributions, find those that new constraints affect."""
    folder = Path(torch.__file__).parent / "distributions"
    graph: Graph = {}
    for path in folder.glob("*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        used = {
            str(node.module).rpartition(".")[2]
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            and str(node.module).startswith("torch.distributions.")
        }
        graph[path.stem] = used
    graph = {file: used & graph.keys() for file, used in graph.items() if file != "__init__"}
    tests = {f"test/{file}": {file} for file in graph}
    compare({"constraints"}, {**graph, **tests}, "nearly all distributions import it")
    compare({"gumbel"}, {**graph, **tests}, "few import it")


def test_a_plan_as_text() -> None:
    """Print a plan for twelve files in three shards."""
    times = many(3, 12)
    rows = planned(times, 3)
    text = "\n".join(f"{sum(times[name] for name in row):6.2f} {' '.join(row)}" for row in rows)

    assert_expected_inline(
        text,
        """\
102.51 test_006
 88.36 test_011 test_008 test_005 test_002 test_010 test_003 test_001
 87.12 test_004 test_009 test_007 test_000""",
    )
