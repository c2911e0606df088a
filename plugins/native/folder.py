"""The folder of builds: ``.katas/build`` under the root, or the one that ``KATAS_BUILD`` names."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path


VARIABLE = "KATAS_BUILD"
# A library takes about a megabyte, and each version of a source has one.
MEGABYTES = 500
DAYS = 30
# It can be written to, but the loader maps no library of it: "failed to map segment".
NOEXEC = "is mounted noexec, so nothing in it can be loaded"


def build_folder(root: Path) -> tuple[Path, str]:
    """Return a writable folder for builds, and a warning if it is not the one asked for.

    Raises
    ------
    OSError
        If there is none.
    """
    asked = Path(os.environ.get(VARIABLE) or root / ".katas/build").absolute()
    if (reason := _make_writable(asked)) is None:
        return asked, ""
    other = Path(tempfile.gettempdir()) / f"katas-build-{os.getuid()}"
    again = _make_writable(other)
    if again is None and other.stat().st_uid != os.getuid():
        # Libraries are loaded from here, and everybody can write to the folder above it.
        again = "belongs to another user"
    if again:
        raise OSError(
            f"{asked} {reason}, and {other} {again}: name a folder for builds by {VARIABLE}"
        )
    return other, f"C++ katas are built in {other}: {asked} {reason}"


def _make_writable(folder: Path) -> str | None:
    """Make `folder` and a file in it; return why that fails, or why nothing there can be loaded."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return NOEXEC if os.statvfs(folder).f_flag & os.ST_NOEXEC else None
    except OSError as error:
        return f"cannot be written to ({error.strerror or error})"


def prune(folder: Path, megabytes: float = MEGABYTES, days: float = DAYS) -> None:
    """Remove the libraries and headers that were used longest ago."""
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
