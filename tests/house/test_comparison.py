"""The comparison with other courses: its claims about this one name tests, about others sources."""

from __future__ import annotations

import ast
import re

import pytest

from plugins import ROOT


TEXT = (ROOT / "docs/comparison.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("| ").split(" | ")]
    for line in TEXT.splitlines()
    if line.startswith("| ") and "---" not in line
]
SOURCE = re.compile(r"https://github\.com/[\w-]+/[\w-]+/blob/[0-9a-f]{40}/\S+")


@pytest.mark.parametrize("row", ROWS[1:], ids=lambda row: row[0])
def test_each_row_names_the_test_that_proves_ours(row: list[str]) -> None:
    """It exists, in the file that is named."""
    file, _, name = row[-1].strip("`").partition("::")
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    tests = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]

    assert len(ROWS[0]) == len(row)
    assert name in tests


def test_what_is_said_of_others_names_its_source() -> None:
    """Each source is a file at a commit, and every source is used."""
    sources = dict(re.findall(r"^\[([\w-]+)\]: (\S+)$", TEXT, re.MULTILINE))
    used = set(re.findall(r"\]\[([\w-]+)\]", TEXT))

    assert used == set(sources)
    assert [] == [link for link in sources.values() if not SOURCE.fullmatch(link)]
    for row in ROWS[1:]:
        assert [] == [cell for cell in row[1:4] if cell != "-" and "][" not in cell]
