"""Builds one source, as a run of pytest would: ``python build.py FOLDER SOURCE``."""

from __future__ import annotations

import sys
from pathlib import Path

from plugins.native.builder import Builder
from plugins.native.builder import BuildError
from plugins.native.sources import read_unit
from plugins.native.toolchain import find_toolchain


if __name__ == "__main__":
    folder, source = map(Path, sys.argv[1:])
    unit = read_unit("lecture01_k01", [source], source.parent, source.parent)
    try:
        Builder(find_toolchain(), folder).build(unit)
    except BuildError as error:
        sys.exit(f"does not compile: {error}")
