"""Two processes, the one without the program, and a closure with a name."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# Given: model_name, run_single_threaded, num_runners, device_index, as load_package sets them.
DEFAULTS = ("model", False, 1, -1)


def modules(program: str) -> set[str]:
    """Return all modules of a process that runs `program`."""
    text = f"import torch\n{program}\nimport json, sys\nprint('\\n' + json.dumps([*sys.modules]))"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def imported(program: str) -> set[str]:
    """Return the modules that `program` imports beyond those of ``import torch``."""
    return modules(program) - modules("")


def load(path: Path) -> Callable[..., list[torch.Tensor]]:
    """Load a package once, and return a function that maps its inputs to a list of outputs."""
    loader = torch._C._aoti.AOTIModelPackageLoader(str(path), *DEFAULTS)  # noqa: SLF001 - the kata's point

    def run(*inputs: torch.Tensor) -> list[torch.Tensor]:
        return loader.boxed_run([*inputs])

    return run
