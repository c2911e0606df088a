"""``compiled``: compiles the kernels of a Triton kata for a GPU, on a machine without one.

The interpreter takes much that the compiler refuses, and what a kernel becomes is a lesson of its
own. A process without ``TRITON_INTERPRET`` makes the learner's calls, with every launch replaced
by the compilation that it would start on a GPU: same arguments, same specialization. It needs
nothing but Triton's own package, which brings ``ptxas``.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

import pytest

from plugins.triton import VARIABLE


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Mapping
    from types import ModuleType


SECONDS = 100
INSTRUCTION = re.compile(r"^\s*(?:@!?%\w+ )?([a-z][\w.:]*)", re.MULTILINE)

cache_key = pytest.StashKey[dict[tuple[str, ...], dict[str, "Compiled"]]]()


@dataclass(frozen=True)
class Compiled:
    """What one call launched, compiled; or what the compiler, or the call, said instead."""

    launches: int = 0
    kernel: str = ""
    ptx: str = ""
    ttgir: str = ""
    warps: int = 0
    shared: int = 0
    error: str = ""

    def instructions(self, start: str) -> list[str]:
        """Return the PTX instructions that begin so, in order: ``ld.global.v4.b32``."""
        return [name for name in INSTRUCTION.findall(self.ptx) if name.startswith(start)]

    def lines(self, start: str) -> list[str]:
        """Return the lines of PTX with these instructions: predicates and operands too."""
        lines = [line.strip() for line in self.ptx.splitlines()]
        return [
            line
            for line in lines
            if (found := INSTRUCTION.match(line)) and found[1].startswith(start)
        ]


@pytest.fixture
def compiled(pytestconfig: pytest.Config) -> Callable[[ModuleType, Mapping[str, str]], Any]:
    """Return a function from a kata and calls of it, by name, to the one kernel of each.

    A call is Python, such as ``kata.glu(torch.empty(64, 256))``. All calls are made in one
    process, once in a session: give it the same calls in every test.
    """

    def compile_ahead(kata: ModuleType, calls: Mapping[str, str]) -> dict[str, Compiled]:
        known = pytestconfig.stash.setdefault(cache_key, {})
        key = (kata.__name__, *calls.values())
        if key not in known:
            known[key] = in_child(kata.__name__, dict(calls), pytestconfig.rootpath)
        return known[key]

    return compile_ahead


def in_child(kata: str, calls: dict[str, str], root: Path) -> dict[str, Compiled]:
    """Compile in a process that does not interpret."""
    with tempfile.TemporaryDirectory(prefix="katas-triton-") as folder:
        environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
        # Neither what is cached in the home directory nor what other variables ask for.
        environment |= {"TRITON_CACHE_DIR": folder, "PYTHONPATH": os.pathsep.join(sys.path)}
        result = Path(folder, "result.json")
        command = [sys.executable, "-m", "plugins.warmup", kata, json.dumps(calls), str(result)]
        done = subprocess.run(  # noqa: S603 - this file
            command,
            cwd=root,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )
        if not result.exists():
            raise AssertionError(f"the compiler ended without an answer:\n{done.stderr[-3000:]}")
        found = json.loads(result.read_text(encoding="utf-8"))
    return {name: Compiled(**values) for name, values in found.items()}
