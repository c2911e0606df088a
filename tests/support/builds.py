"""The build folder of this checkout, in which the project's own tests build too."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from plugins import ROOT
from plugins.cuda.language import CUDA
from plugins.native.compile import compile_headers
from plugins.native.recipe import Recipe
from plugins.native.tiers import tiers
from plugins.native.toolchain import ToolchainError
from plugins.native.toolchain import find_toolchain


if TYPE_CHECKING:
    from pathlib import Path


# A library is named by all that went into it, so one that is there is as good as a new one.
BUILDS = ROOT / ".katas/build"


def share_headers(folder: Path, *names: str) -> Path:
    """Make a build folder that has these tiers' headers compiled, and no library."""
    folder.mkdir()
    BUILDS.mkdir(parents=True, exist_ok=True)
    # Without a compiler a test is skipped, or about that.
    with suppress(ToolchainError):
        toolchain = find_toolchain()
        every = {**tiers(), CUDA.tier.name: CUDA.tier}
        for name in names:
            recipe = Recipe(toolchain, every[name])
            compile_headers(recipe, BUILDS)
            (folder / recipe.name).symlink_to(BUILDS / recipe.name)
    return folder
