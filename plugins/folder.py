"""Where builds are kept: ``.katas/build`` under the root, or the folder ``KATAS_BUILD`` names."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path


VARIABLE = "KATAS_BUILD"
# A library holds about a megabyte, and there is one for every version of a source.
MEGABYTES = 500
DAYS = 30


def build_folder(root: Path) -> tuple[Path, str]:
    """Return a folder that can be written to, and a warning if it is not the one asked for.

    Raises
    ------
    OSError
        If there is none.
    """
    asked = Path(os.environ.get(VARIABLE) or root / ".katas/build").absolute()
    if (reason := _make(asked)) is None:
        return asked, ""
    other = Path(tempfile.gettempdir()) / f"katas-build-{os.getuid()}"
    again = _make(other)
    if again is None and other.stat().st_uid != os.getuid():
        # Libraries are loaded from here: in a place for all, only from one's own folder.
        again = "it belongs to somebody else"
    if again:
        raise OSError(f"neither {asked} ({reason}) nor {other} ({again}) can hold builds")
    return other, f"C++ katas are built in {other}: {asked} cannot be written to ({reason})"


def _make(folder: Path) -> str | None:
    """Make `folder` and a file in it; return why that fails."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return None
    except OSError as error:
        return error.strerror or str(error)


def prune(folder: Path, megabytes: float = MEGABYTES, days: float = DAYS) -> None:
    """Remove the libraries that were used longest ago, and headers that nobody uses any more."""
    with suppress(FileNotFoundError):  # another process prunes too
        built = [*folder.glob("*.so"), *folder.glob("*.failed")]
        kept = 0
        for file in sorted(built, key=lambda file: -file.stat().st_mtime):
            kept += file.stat().st_size
            if kept > megabytes * 1e6:
                file.unlink()
        for ready in folder.glob("*/ready"):
            if time.time() - ready.stat().st_mtime > days * 86400:
                shutil.rmtree(ready.parent, ignore_errors=True)
