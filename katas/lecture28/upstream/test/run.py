"""Build tinytorch and test each operator: python test/run.py."""

from __future__ import annotations

import importlib
import math
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any


if TYPE_CHECKING:
    from collections.abc import Iterator


ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tools"), str(ROOT / "test")]
sys.dont_write_bytecode = True
STEP = 1e-6


def problems_of(name: str, ops: Any, info: Any) -> Iterator[str]:
    """Yield what is wrong with an operator."""
    op: Any = getattr(ops, name, None)
    meta: Any = getattr(ops, f"{name}_meta", None)
    backward: Any = getattr(ops, f"{name}_backward", None)
    if op is None or meta is None:
        yield "native_functions.yaml gives it no kernel for CPU and Meta"
        return
    if info.supports_autograd and backward is None:
        yield "derivatives.yaml has no formula for it"
        return
    if len(info.samples) == 0:
        yield "its OpInfo has no samples"
    for sample in info.samples:
        expected = [info.reference(*each) for each in zip(*sample, strict=True)]
        result = op(*sample)
        if not close(expected, result):
            yield f"{name}{sample} is {result}, expected {expected}"
        if meta(*map(len, sample)) != len(result):
            yield f"its meta function gives another size than its kernel for {sample}"
        if info.supports_autograd:
            grads = backward([1.0] * len(result), *sample)
            for (key, grad), place in zip(grads.items(), range(len(sample)), strict=True):
                slopes = slope(info.reference, sample, place)
                if not close(slopes, grad):
                    yield f"its derivative in {key} for {sample} is {grad}, expected {slopes}"


def slope(reference: Any, sample: tuple[list[float], ...], place: int) -> list[float]:
    """Return the derivative in the input at this place, by differences."""
    moved = [
        [x + sign * STEP * (number == place) for x in xs]
        for sign in (1, -1)
        for number, xs in enumerate(sample)
    ]
    up, down = (
        [reference(*each) for each in zip(*half, strict=True)]
        for half in (moved[: len(sample)], moved[len(sample) :])
    )
    return [(a - b) / (2 * STEP) for a, b in zip(up, down, strict=True)]


def close(expected: list[float], found: list[float]) -> bool:
    """Whether two lists agree."""
    return len(expected) == len(found) and all(
        math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-6) for a, b in zip(expected, found, strict=True)
    )


def main() -> int:
    """Print the first problem of each operator; return 1 if there is one."""
    codegen = importlib.import_module("codegen")
    (ROOT / "tinytorch/ops.py").write_text(codegen.generate(), "utf-8")
    ops = importlib.import_module("tinytorch.ops")
    infos = {info.name: info for info in importlib.import_module("opinfo").op_db}
    names = codegen.read("native_functions.yaml").keys()
    docs = (ROOT / "docs/ops.md").read_text("utf-8")
    sections = re.findall(r"^## (\w+)$", docs, re.MULTILINE)
    found = [f"{name}: it has an OpInfo, and no schema" for name in infos.keys() - names]
    found += [f"{name}: docs/ops.md has no section for it" for name in names - {*sections}]
    count = re.search(r"has (\d+) operators?", docs)
    if count is None or int(count[1]) != len(names):
        said = count[1] if count else "no"
        found.append(f"docs/ops.md: it counts {said} operators, and there are {len(names)}")
    for name in names:
        lines = problems_of(name, ops, infos[name]) if name in infos else ["it has no OpInfo"]
        found += [f"{name}: {line}" for line in [*lines][:1]]
    sys.stdout.write("\n".join(found or [f"{len(names)} operators pass"]) + "\n")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
