"""Tests of k12_graph_trees: each unit of memory has an owner, which is tracked."""

from __future__ import annotations

from hypothesis import example
from hypothesis import given
from hypothesis import strategies as st

from katas.lecture07.k12_graph_trees import Tree
from katas.lecture07.k12_graph_trees import place


NONE: frozenset[str] = frozenset()


def test_above_what_is_alive() -> None:
    """The question in the brief has two answers."""
    yours = [place(3, [(0, 4)]), place(3, [])]
    assert yours == [(4, 7), (0, 3)], f"yours {yours}, expected (4, 7), and (0, 3) if a is dead"


@example(2, [(0, 3), (5, 9)])
@example(3, [(5, 9), (0, 3)])
@example(2, [(2, 3)])
@given(st.integers(1, 4), st.lists(st.integers(0, 12).map(lambda i: (i, i + 1)), unique=True))
def test_the_lowest_gap(size: int, taken: list[tuple[int, int]]) -> None:
    """The oracle tries every start from 0 up."""
    used = {unit for low, high in taken for unit in range(low, high)}
    start = next(s for s in range(99) if not used & set(range(s, s + size)))
    before = list(taken)
    yours = place(size, taken)
    assert yours == (start, start + size), (
        f"size {size}, taken {taken}: yours {yours}, expected {(start, start + size)}"
    )
    assert before == taken, "your code changed the list `taken`"


def test_an_iteration_is_replayed() -> None:
    """The first iteration is recorded; the second takes the same path, and is replayed."""
    tree, found = Tree(), []
    for _ in range(2):
        tree.restart()
        found += [tree.run("A", {"a": 4}, NONE), tree.run("B", {"b": 3}, frozenset("a"))]
    assert found == [False, False, True, True], (
        f"replayed: yours {found}, expected only the second iteration"
    )
    assert tree.recorded == 2, f"recordings: yours {tree.recorded}, expected 2"
    assert tree.current.places == {"a": (0, 4), "b": (4, 7)}, (
        f"yours {tree.current.places}, expected a, then b"
    )


def test_another_liveness_is_another_recording() -> None:
    """If a is dead, B may use its place; if a is alive, the old recording is used."""
    tree, found, places = Tree(), [], []
    for alive in (frozenset("a"), NONE, frozenset("a"), NONE):
        tree.restart()
        tree.run("A", {"a": 4}, NONE)
        found.append(tree.run("B", {"b": 3}, alive))
        places.append(tree.current.places)
    assert found == [False, False, True, True], (
        f"B replayed: yours {found}, expected a replay from the third run on"
    )
    assert places[0] == places[2] == {"a": (0, 4), "b": (4, 7)}, (
        f"if `a` is alive: yours {places[0]}, then {places[2]}, expected b after a"
    )
    assert places[1] == places[3] == {"b": (0, 3)}, (
        f"if `a` is dead: yours {places[1]}, then {places[3]}, expected b at 0"
    )


def test_branches_share_memory() -> None:
    """Only one of B and C follows A, so both use the same place."""
    tree, ends = Tree(), {}
    for name, size in (("B", 3), ("C", 5)):
        tree.restart()
        tree.run("A", {"a": 4}, NONE)
        tree.run(name, {name: size}, frozenset("a"))
        ends[name] = tree.current.places[name]
    assert ends == {"B": (4, 7), "C": (4, 9)}, (
        f"yours {ends}, expected both to start at 4: branches share memory"
    )


def test_the_way_matters() -> None:
    """A graph is recorded again after a different one, even if nothing is alive."""
    tree = Tree()
    assert not tree.run("A", {"a": 4}, NONE)
    assert not tree.run("A", {"a": 4}, NONE), (
        "your tree replayed A after A, but only A after the root had been recorded"
    )
    tree.restart()
    assert tree.run("A", {"a": 4}, NONE), "after a restart, the first A was not replayed"
    assert tree.run("A", {"a": 4}, NONE), "after a restart, the second A was not replayed"
    assert tree.recorded == 2, f"recordings: yours {tree.recorded}, expected 2"


def test_a_grandparent_is_alive() -> None:
    """The place of its result is remembered, and a gap below it is used."""
    tree = Tree()
    tree.run("A", {"a": 4, "x": 2}, NONE)
    tree.run("B", {"b": 1}, frozenset("x"))
    tree.run("C", {"c": 3, "d": 2}, frozenset("x"))
    expected = {"x": (4, 6), "c": (0, 3), "d": (6, 8)}
    assert tree.current.places == expected, f"yours {tree.current.places}, expected {expected}"


def test_results_are_placed_in_their_order() -> None:
    """Results are not placed by size or by name."""
    tree = Tree()
    tree.run("A", {"y": 1, "b": 3, "x": 2}, NONE)
    expected = {"y": (0, 1), "b": (1, 4), "x": (4, 6)}
    assert tree.current.places == expected, (
        f"yours {tree.current.places}, expected {expected}: in the order of `results`"
    )


def test_which_results_are_alive() -> None:
    """A recording fits the live results it was made for: one made while a was held overwrites b."""
    tree, found = Tree(), []
    for alive in ("a", "b", "a"):
        tree.restart()
        tree.run("A", {"a": 1, "b": 1}, NONE)
        found.append(tree.run("B", {"c": 1}, frozenset(alive)))
    assert found == [False, False, True], (
        f"B replayed: yours {found}, expected a replay only in the third run: a is alive, then b, "
        "then a again"
    )


def test_three_things_find_a_recording() -> None:
    """Sizes do not identify a recording: they are part of what was recorded."""
    tree, found = Tree(), []
    for size in (4, 9):
        tree.restart()
        found.append(tree.run("A", {"a": size}, NONE))
    assert found == [False, True], f"replayed: yours {found}, expected only the second time"
    assert tree.current.places == {"a": (0, 4)}, (
        f"yours {tree.current.places}, expected the recorded (0, 4)"
    )


@given(
    st.lists(
        st.lists(
            st.tuples(st.sampled_from("AB"), st.integers(1, 3), st.sets(st.integers(0, 3))),
            max_size=5,
        ),
        max_size=5,
    )
)
def test_what_is_alive_survives(iterations: list[list[tuple[str, int, set[int]]]]) -> None:
    """No graph overwrites a result that is held, and a known path is never recorded again."""
    tree, known = Tree(), set()
    for steps in iterations:
        tree.restart()
        path: tuple = ()
        held: dict[str, tuple[int, int]] = {}
        for number, (name, count, keep) in enumerate(steps):
            alive = frozenset(each for i, each in enumerate(sorted(held)) if i in keep)
            results = {f"{number}{name}{i}": i + 1 for i in range(count)}
            name_and_count = f"{name}{count}"
            path += ((name_and_count, alive),)
            replayed = tree.run(name_and_count, results, alive)
            assert replayed == (path in known), (
                f"your tree {'replays' if replayed else 'records'} the path {path}; expected a "
                "replay only of a path that was recorded before"
            )
            known.add(path)
            places = tree.current.places
            for each in alive:
                assert places.get(each) == held[each], (
                    f"{each} is alive, but its place changed or is missing"
                )
            units = [unit for low, high in places.values() for unit in range(low, high)]
            assert len(units) == len(set(units)), f"two results share memory: {places}"
            assert set(places) == alive | set(results), (
                f"yours has places for {set(places)}, expected {alive | set(results)}"
            )
            held = dict(places)
    assert tree.recorded == len(known), f"recordings: yours {tree.recorded}, expected {len(known)}"
