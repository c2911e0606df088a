"""The engine: all that runs and judges katas and is no kata's own.

No proof rests on it. An entry records the digest of the engine that made it (`engine_digest`), so
that an entry of an older engine is known, and proved anew when there is time.
"""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from pathlib import Path

from tests.gate.cxxsyntax import cxx_syntax_of
from tests.gate.shared import CXX
from tests.gate.syntax import deciding


HOME = Path(__file__).parents[2]
# The modules of this folder that decide whether a kata passes.
DECIDES = (
    *("answers", "cases", "checks", "cxxmutants", "forks", "mutant", "mutation", "file_trace"),
    *("outcome", "overlay", "protocol", "prove", "pyedits", "pymutants", "pyoperators"),
    *("recorder", "repeats", "runner", "server"),
)
# The wings of plugins/ of which a run of the gate loads nothing (VERDICT in the root conftest.py).
SESSION = {"feed", "fork", "guide", "loop", "progress"}
SINGLE = ("conftest.py", "katas/__init__.py", "plugins/__init__.py", "plugins/kit.py")


def engine_files(root: Path) -> list[Path]:
    """Return the files of the engine."""
    found = [root / name for name in SINGLE]
    found += [root / "tests/gate" / f"{name}.py" for name in DECIDES]
    for wing in sorted(path for path in (root / "plugins").glob("*/") if path.name not in SESSION):
        found += [path for path in sorted(wing.rglob("*")) if path.suffix in {".py", *CXX}]
    return [path for path in found if path.is_file()]


@cache
def engine_digest(root: Path = HOME) -> str:
    """Return the digest of what decides in all of the engine: words and layout change nothing."""
    lines = []
    for path in engine_files(root):
        text = path.read_text(encoding="utf-8")
        syntax = deciding(text) if path.suffix == ".py" else cxx_syntax_of(text)
        lines.append(f"{path.relative_to(root).as_posix()} {syntax}")
    return sha256("\n".join(lines).encode()).hexdigest()
