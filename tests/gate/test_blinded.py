"""A part of the engine that has gone blind is found by its canaries.

Parts are blinded in a copy of the engine, all at once, and the command that an author runs after
an edit is run there, for one canary of each and one test: so this says as well that the canaries
of tests/canaries.json are worth something.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from functools import partial
from typing import TYPE_CHECKING

import pytest

from tests.gate.answers import Wrong
from tests.gate.canaries import REJECTS
from tests.gate.canaries import Record
from tests.gate.canaries import Seen
from tests.gate.canaries import read_record
from tests.gate.canaries import unseen
from tests.gate.canaries import write_record
from tests.gate.cases import read_gate
from tests.gate.engine import HOME
from tests.gate.overlay import edited
from tests.gate.parts import parts_of
from tests.gate.selection import seconds_of


if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


pytestmark = [pytest.mark.torch, pytest.mark.slow]
COPIED = (
    *("plugins", "tests/gate", "tests/__init__.py", "tests/shards.py", "conftest.py"),
    *("pyproject.toml", "requirements.txt", "katas/__init__.py", "katas/compat.py"),
)
COLLECTED = """
ranks = sorted(outcomes, key=lambda outcome: outcome.rank)
values = [None if outcome.failed else unpack(outcome.value) for outcome in ranks]
return RankResults(values, [outcome.calls for outcome in ranks], "")
"""
# Of a part a function behind it, and its body once it is blind.
FUNCTIONS = {
    "kit: forbids": ("forbids", "yield reimported(exercise)"),
    "kit: unchanged": ("unchanged", "yield"),
    "kit: freed": ("freed", "make()"),
    "kit: graph_text": ("graph_text", "return 'graph'"),
    "fixture: world": ("collect_results", COLLECTED),
    "the gate: mutants of Python": ("python_mutants", "return []"),
}
# Of a fault what the simulator says in C++, and then.
EXPRESSIONS = {
    "race": {"{ return mark.thread && ": "{ return false && "},
    "out of bounds": {
        "        outside(address, bytes,": "        return;\n        outside(address, bytes,",
        "> region->high) outside(": "> region->high) return;\n    if (false) outside(",
    },
    "uninitialised read": {
        "*region, part)) unwritten_read(": "*region, part) && false) unwritten_read("
    },
}
BLIND = (*FUNCTIONS, *(f"the simulator: {fault}" for fault in EXPRESSIONS))


def bring(name: str, root: Path) -> None:
    """Copy a file or a folder of the repository."""
    source, target = HOME / name, root / name
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(source, target, ignore=ignored, dirs_exist_ok=True)
    else:
        shutil.copy(source, target)


def blind(root: Path, pattern: str, text: str, edit: Callable[[str], str]) -> None:
    """Edit the one file of these that has this text once."""
    texts = {path: path.read_text(encoding="utf-8") for path in root.glob(pattern)}
    (path,) = (path for path, each in texts.items() if text in each)
    assert 1 == texts[path].count(text)
    path.write_text(edit(texts[path]), encoding="utf-8")


def canary(record: Record, part: str) -> dict[str, dict[str, str]]:
    """Return the cheapest canary of a part, and a test in which it rejects, if there is one."""
    katas = record.parts[part].katas
    tests = [
        (does != REJECTS, record.seconds[kata], kata, test)
        for kata, tests in katas.items()
        for test, does in tests.items()
    ]
    if not tests:
        times = {kata.id: seconds_of(kata) for kata in read_gate(HOME).katas}
        return {min(katas, key=times.__getitem__): {}}
    _, _, kata, test = min(tests)
    return {kata: {test: katas[kata][test]}}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, str, list[str]]:
    """Blind the parts in a copy, and return what the command says, and what is not seen then."""
    root = tmp_path_factory.mktemp("blind")
    for name in COPIED:
        bring(name, root)
    # What is built is shared with the repository.
    (HOME / ".katas/build").mkdir(parents=True, exist_ok=True)
    (root / ".katas").symlink_to(HOME / ".katas")
    record = read_record(read_gate(HOME))
    sighted = parts_of(root)
    for name, body in FUNCTIONS.values():
        answer = Wrong("", "", "", function=name, body=body)
        blind(root, "*/**/*.py", f"\ndef {name}(", partial(edited, wrong=answer))
    for edits in EXPRESSIONS.values():
        for old, new in edits.items():
            blind(root, "plugins/*/csrc/*", old, partial(re.sub, re.escape(old), new))
    parts = parts_of(root)
    assert {*BLIND} <= {name for name in parts if parts[name] != sighted[name]}
    # Others are blinded as well, and would ask for their own.
    seen = {name: Seen(part.digest, {}) for name, part in parts.items()}
    seen |= {part: Seen("sighted", canary(record, part)) for part in BLIND}
    katas = {kata for part in seen.values() for kata in part.katas}
    for lecture in {kata.partition("/")[0] for kata in katas}:
        bring(f"katas/{lecture}", root)
    gate = read_gate(root)
    write_record(gate, Record(seen, dict.fromkeys(katas, 1)))
    done = subprocess.run(
        [sys.executable, "-m", "tests.gate.verify", "--canaries", "--write", "--jobs", "2"],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )
    text = done.stdout + done.stderr
    return done.returncode, text, unseen(read_record(gate), parts_of(root))


@pytest.mark.parametrize("part", BLIND)
def test_a_blind_part_is_found(run: tuple[int, str, list[str]], part: str) -> None:
    """Its canary is red, and that is recorded: it is not seen."""
    status, text, not_seen = run

    assert 1 == status, text
    assert part in not_seen
    said = [line for line in text.splitlines() if line.startswith(f"PROBLEM  {part}: lecture")]
    assert [] != said, text
    # What every graph is compared with is another text for the solution too. On a busy machine the
    # run may end before its last test, which is said first.
    fails = any("fails with the solution" in line for line in said)
    assert fails is (part == "kit: graph_text"), text
