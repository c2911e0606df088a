"""Names the modules of ``plugins/`` that no test has imported: ``python -m tests.measured``.

coverage would find them by itself if it knew the folder as a source; but then each process that
it measures looks for them, which takes a sixth of the time of the tests.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Iterable


HOME = Path(__file__).parents[1]


def unmeasured(measured: Iterable[str], home: Path = HOME) -> list[str]:
    """Return the modules that are not among the files of a measurement, by their paths."""
    found = {Path(name).resolve() for name in measured}
    files = sorted((home / "plugins").rglob("*.py"))
    return [file.relative_to(home).as_posix() for file in files if file.resolve() not in found]


def main() -> int:
    """Name what ``.coverage`` lacks; return 1 if that is anything."""
    # Which mypy's environment lacks.
    data = importlib.import_module("coverage").CoverageData()
    data.read()
    names = unmeasured(data.measured_files())
    sys.stdout.write("".join(f"{name}: imported by no test\n" for name in names))
    return int(bool(names))


if __name__ == "__main__":
    sys.exit(main())
