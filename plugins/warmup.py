"""The process in which `plugins.ahead` compiles: it makes the learner's calls and launches nothing.

Every launch is replaced by the compilation that it would start on a GPU. This process must not
interpret, which is decided when Triton is imported, so it is a process of its own.
"""

from __future__ import annotations

import importlib
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from plugins.ahead import Compiled


# Hopper, and the threads of a warp.
TARGET = ("cuda", 90, 32)


class Target:
    """Stands in for the driver of a GPU: what a compilation asks about it."""

    def get_current_target(self) -> Any:
        """Return which GPU to compile for."""
        from triton.backends.compiler import GPUTarget  # noqa: PLC0415 - may be missing

        return GPUTarget(*TARGET)

    def get_current_device(self) -> int:
        """Return the number of a GPU."""
        return 0

    def get_current_stream(self, device: int) -> int:
        """Return the default stream."""
        return device


def main(kata: str, calls: dict[str, str], result: Path) -> None:
    """Make the calls and write what the compiler made of each."""
    import torch  # noqa: PLC0415 - importing a plugin imports no torch
    from triton.runtime.driver import driver  # noqa: PLC0415 - may be missing
    from triton.runtime.jit import JITFunction  # noqa: PLC0415 - may be missing

    kernels: list[Any] = []
    run = JITFunction.run

    def warm_up(self: Any, *args: Any, **kwargs: Any) -> None:
        kernels.append(run(self, *args, **{**kwargs, "warmup": True}))

    driver.set_active(Target())
    JITFunction.run = warm_up
    names = {"kata": importlib.import_module(kata), "torch": torch}
    found = {}
    for name, call in calls.items():
        kernels.clear()
        try:
            eval(call, names)  # noqa: S307 - from the test module
        except Exception as error:  # noqa: BLE001 - the learner's or the compiler's
            found[name] = Compiled(error=f"{type(error).__name__}: {error}")
        else:
            found[name] = described(kernels)
    texts = {name: asdict(each) for name, each in found.items()}
    result.write_text(json.dumps(texts), encoding="utf-8")


def described(kernels: list[Any]) -> Compiled:
    """Return the last launch of a call, and how many there were."""
    if not kernels:
        return Compiled(error="no kernel was launched")
    last = kernels[-1]
    known = last.metadata
    text = {name: str(last.asm[name]) for name in ("ptx", "ttgir")}
    return Compiled(len(kernels), known.name, **text, warps=known.num_warps, shared=known.shared)


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]), Path(sys.argv[3]))
