"""Perf: the first answer from a package, without any import beyond ``import torch``.

A service that scales to zero pays for its imports at every start. Modules in a fresh process, with
torch 2.13:

    after import torch                                1,120
    after torch.export.load and an answer             2,040    with SymPy and Dynamo
    after _inductor.aoti_load_package and an answer   2,190    with more of Inductor, too

An AOTInductor package holds a compiled library. The code that loads and runs it is written in C++,
and ``import torch`` has already loaded that code.

1. `imported`: count in a fresh Python. This process has already imported too much.
2. `load`: the same answers as the compiled model, without imports. About 9 lines in all.

Begin in ``torch/_inductor/package/package.py``, in site-packages: which object does the work at
the end of ``load_package``?
Afterwards read ``torch/csrc/inductor/aoti_package/model_package_loader.h``, in ``torch/include``.

Real life differs: ``torch._C`` is private and may change. For outputs that are not a flat
list, read ``get_call_spec``.
"""

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
    """Return the modules that `program` imports beyond those of ``import torch``.

    `program` is Python source; run it in a process of its own. It may print. Use the modules' names
    in ``sys.modules``.

    Raises
    ------
    subprocess.CalledProcessError
        If the program fails.
    """
    # TODO: import torch, list the modules, run the program, list them again.
    raise NotImplementedError("imported")


def load(path: Path) -> Callable[..., list[torch.Tensor]]:
    """Load a package once, and return a function that maps its inputs to a list of outputs.

    The file may be deleted before the function is called.
    """
    # TODO: use one object of torch._C, and one of its methods.
    raise NotImplementedError("load")
