"""``compiled``: compiles the kernels of a Triton kata for a GPU, on a machine without one.

The interpreter accepts much that the compiler refuses, and the compiled kernel is a lesson of its
own. This module is also the program of a second process, which makes the learner's calls and
replaces each launch by the compilation that it would start on a GPU: same arguments, same
specialization. It must be another process, without ``TRITON_INTERPRET``: Triton decides when it
is imported whether it interprets. Triton's own package brings ``ptxas``, and no more is needed.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import asdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

import pytest

from plugins.course.session import course_root
from plugins.cuda.triton import VARIABLE
from plugins.tools import private


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Mapping
    from types import ModuleType


# Timeout of the compiling process, in seconds.
SECONDS = 100
INSTRUCTION = re.compile(r"^\s*(?:@!?%\w+ )?([a-z][\w.:]*)", re.MULTILINE)
# Triton's name for the compiler of NVIDIA's GPUs, which is no device of this machine; Hopper; the
# threads of a warp.
TARGET = ("cuda", 90, 32)


@dataclass(frozen=True)
class Compiled:
    """The compiled kernel of one call, or the error of the compiler or of the call."""

    launches: int = 0
    kernel: str = ""
    ptx: str = ""
    ttgir: str = ""
    warps: int = 0
    shared: int = 0
    error: str = ""

    def instructions(self, start: str) -> list[str]:
        """Return the PTX instructions that begin with `start`, in order: ``ld.global.v4.b32``."""
        return [name for name in INSTRUCTION.findall(self.ptx) if name.startswith(start)]

    def lines(self, start: str) -> list[str]:
        """Return the lines of PTX with these instructions: predicates and operands too."""
        lines = [line.strip() for line in self.ptx.splitlines()]
        return [
            line
            for line in lines
            if (found := INSTRUCTION.match(line)) and found[1].startswith(start)
        ]


cache_key = pytest.StashKey[dict[tuple[str, ...], dict[str, Compiled]]]()


@pytest.fixture
def compiled(pytestconfig: pytest.Config) -> Callable[[ModuleType, Mapping[str, str]], Any]:
    """Return a function that maps a kata and calls of it, by name, to the one kernel of each.

    A call is Python, such as ``kata.glu(torch.empty(64, 256))``. One process makes all calls, once
    in a session: give it the same calls in every test.
    """

    def compile_ahead(kata: ModuleType, calls: Mapping[str, str]) -> dict[str, Compiled]:
        cache = pytestconfig.stash.setdefault(cache_key, {})
        key = (kata.__name__, *calls.values())
        if key not in cache:
            cache[key] = compile_in_child(kata.__name__, dict(calls), course_root(pytestconfig))
        return cache[key]

    return compile_ahead


def compile_in_child(kata: str, calls: dict[str, str], root: Path) -> dict[str, Compiled]:
    """Make `calls` in a process that compiles, and return the kernel of each.

    Raises
    ------
    AssertionError
        If the process ends without a result; the message is the end of its output.
    """
    with tempfile.TemporaryDirectory(prefix="katas-triton-") as folder:
        environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
        # A cache of its own, not the one in the home directory or in the learner's variable.
        environment |= {"TRITON_CACHE_DIR": folder, "PYTHONPATH": os.pathsep.join(sys.path)}
        result = Path(folder, "result.json")
        command = [sys.executable, "-m", __spec__.name, kata, json.dumps(calls), str(result)]
        done = subprocess.run(  # noqa: S603 - this file
            command,
            cwd=root,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )
        if not result.exists():
            raise AssertionError(f"the compiler ended without an answer:\n{done.stderr[-3000:]}")
        found = json.loads(result.read_text(encoding="utf-8"))
    return {name: Compiled(**values) for name, values in found.items()}


class Target:
    """Stands in for the driver of a GPU: answers the questions of a compilation."""

    def get_current_target(self) -> Any:
        """Return which GPU to compile for."""
        return private.triton_target(*TARGET)

    def get_current_device(self) -> int:
        """Return the number of a GPU."""
        return 0

    def get_current_stream(self, device: int) -> int:
        """Return the default stream."""
        return device


def main(kata: str, calls: dict[str, str], result: Path) -> None:
    """Make the calls and write the kernel of each to `result`."""
    import torch  # noqa: PLC0415 - importing a plugin imports no torch

    kernels: list[Any] = []
    owner, method = private.triton_compiled_launch()
    run = getattr(owner, method)

    def warm_up(self: Any, *args: Any, **kwargs: Any) -> None:
        kernels.append(run(self, *args, **{**kwargs, "warmup": True}))

    private.use_triton_driver(Target())
    setattr(owner, method, warm_up)
    names = {"kata": importlib.import_module(kata), "torch": torch}
    found = {}
    for name, call in calls.items():
        kernels.clear()
        try:
            eval(call, names)  # noqa: S307 - from the test module
        except Exception as error:  # noqa: BLE001 - the learner's or the compiler's
            found[name] = Compiled(error=f"{type(error).__name__}: {error}")
        else:
            found[name] = describe_launches(kernels)
    texts = {name: asdict(each) for name, each in found.items()}
    result.write_text(json.dumps(texts), encoding="utf-8")


def describe_launches(kernels: list[Any]) -> Compiled:
    """Return the last of a call's launches, and how many there were."""
    if not kernels:
        return Compiled(error="no kernel was launched")
    last = kernels[-1]
    about = last.metadata
    text = {name: str(last.asm[name]) for name in ("ptx", "ttgir")}
    return Compiled(len(kernels), about.name, **text, warps=about.num_warps, shared=about.shared)


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]), Path(sys.argv[3]))
