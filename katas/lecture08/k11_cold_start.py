"""Perf: the first answer of a package, with nothing imported beyond ``import torch``.

A service that scales to zero pays for its imports at every start. Modules in a fresh process, with
torch 2.13:

    after import torch                                1,120
    after torch.export.load and an answer             2,040    with SymPy and Dynamo
    after _inductor.aoti_load_package and an answer   2,190    with more of Inductor, too

An AOTInductor package holds a compiled library. What loads and runs it is written in C++, and
``import torch`` has put that into memory already.

1. `imported`: count honestly, in a fresh Python. This process has imported too much.
2. `load`: the same answers as the compiled model, and no import. About 9 lines in all.

Begin in ``torch/_inductor/package/package.py``, in site-packages: which object does the work at
the end of ``load_package``?
Afterwards read ``torch/csrc/inductor/aoti_package/model_package_loader.h``, in ``torch/include``.

Real life differs: ``torch._C`` is private and may change. For outputs that are not a flat
list, read ``get_call_spec``.
"""

from __future__ import annotations

import subprocess  # noqa: F401 - your answer starts a process
import sys  # noqa: F401 - your answer names the running Python
from typing import TYPE_CHECKING

import torch  # noqa: TC002 - your answer has the loader from it


if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# Given: model_name, run_single_threaded, num_runners, device_index, as Python's loader has them.
DEFAULTS = ("model", False, 1, -1)


def imported(program: str) -> set[str]:
    """Return the modules that `program` imports beyond those of ``import torch``.

    `program` is Python source and runs in a process of its own. It may print. A module
    counts as ``sys.modules`` names it.

    Raises
    ------
    subprocess.CalledProcessError
        If the program fails.
    """
    # TODO: import torch, look, run the program, look again.
    raise NotImplementedError("imported")


def load(path: Path) -> Callable[..., list[torch.Tensor]]:
    """Load a package once, and return a function from its inputs to the list of its outputs.

    The file may be gone when the function is called.
    """
    # TODO: one object of torch._C, and a method of it.
    raise NotImplementedError("load")
