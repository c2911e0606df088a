"""Perf: the first answer from a package, without any import beyond ``import torch``."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# Given: model_name, run_single_threaded, num_runners, device_index, as load_package sets them.
DEFAULTS = ("model", False, 1, -1)


def imported(program: str) -> set[str]:
    """Return the modules that `program` imports beyond those of ``import torch``."""
    before = "import sys, torch\nbefore = set(sys.modules)\n"
    after = "\nprint()\nprint(*set(sys.modules) - before)\n"
    command = [sys.executable, "-c", before + program + after]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603 - the caller's
    return set(done.stdout.splitlines()[-1].split())


def load(path: Path) -> Callable[..., list[torch.Tensor]]:
    """Load a package once, and return a function that maps its inputs to a list of outputs."""
    loader = torch._C._aoti.AOTIModelPackageLoader(str(path), *DEFAULTS)  # noqa: SLF001 - the kata's point
    return lambda *inputs: loader.run(list(inputs))
