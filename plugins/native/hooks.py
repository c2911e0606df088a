"""The hook by which the CUDA side takes part in the fixture ``extension``, without an import."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest


if TYPE_CHECKING:
    from pathlib import Path

    from plugins.native.extension import Extension


@pytest.hookspec(firstresult=True)
def pytest_kata_cuda_extension(
    extension: Extension,
    kernels: Path,
    config: pytest.Config,
    loaded: bool,  # noqa: FBT001 - pluggy passes no keyword-only arguments
) -> Extension | None:
    """Return the value of the fixture ``extension`` for a kata with a CUDA source.

    ``plugins.native.plugin`` calls it after the build: `extension` has the library of the operator,
    `kernels` is the library of its kernels for the CPU. If `extension` has a problem, both may be
    missing. `loaded` is false for the fixture ``unloaded``.

    It is internal to the course, and not for packages; ``plugins.kernels.simt`` implements it.
    """
