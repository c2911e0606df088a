"""Counts how many rows of a prediction are right. Which are wrong, their failures say.

A prediction is a table that the learner fills in on paper, and each row is a parameter of a test.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from plugins.course.notes import devices_of


if TYPE_CHECKING:
    from collections.abc import Collection

    import pytest

    from plugins.course.model import Kata


# The kind of the katas in which something is predicted.
KIND = "problem"


def rows_of(item: pytest.Item, kata: Kata) -> tuple[str, ...]:
    """Return the tests of all rows of the table that a test is a row of, in their order.

    Not all katas of the kind have a table. Where there is one, its rows are the parameters of each
    test that has any and is not given. Of rows that run on several devices, those on this test's.
    """
    if kata.kind != KIND:
        return ()
    tables: dict[str, dict[str, pytest.Item]] = defaultdict(dict)
    for each in item.session.items:
        test, bracket, row = each.nodeid.partition("[")
        if bracket and each.path == item.path and not each.get_closest_marker("given"):
            tables[test][row] = each
    own = tables[item.nodeid.partition("[")[0]]
    if any(rows.keys() != own.keys() for rows in tables.values()):
        return ()
    devices = devices_of(item)
    return tuple(each.nodeid for each in own.values() if devices_of(each) == devices)


def count_right(rows: Collection[str], passed: Collection[str]) -> str:
    """Return ``4 of 6 rows are right``, where all rows have run."""
    right = sum(row in passed for row in rows)
    return f"{right} of {len(rows)} rows {'is' if right == 1 else 'are'} right"
