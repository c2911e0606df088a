"""Add an operator to a framework, end to end: lerp as a weighted mean."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Callable

    from katas.lecture28.repository import Run


def source(*functions: Callable[..., object]) -> str:
    """Return the text of functions, as it is appended to tinytorch/kernels.py. Given."""
    return "".join(f"\n\n{inspect.getsource(function)}" for function in functions)


def schema() -> str:
    """Return the entry of lerp for native_functions.yaml, which ends in a new line.

    Its kernels have the names of the functions below.
    """
    return """
- func: lerp(Tensor self, Tensor end, Tensor weight) -> Tensor
  dispatch:
    CPU: lerp_cpu
    Meta: lerp_meta
"""


def lerp_cpu(self: list[float], end: list[float], weight: list[float]) -> list[float]:
    """Go from each element to that of `end`, by a share.

    Sizes that differ are a ValueError. The values are torch.lerp's, for finite elements whose
    difference does not overflow: a weight of 0 gives self, and one of 1 gives end, exactly.
    """
    return [a * (1 - w) + b * w for a, b, w in zip(self, end, weight, strict=True)]


def lerp_meta(self: int, end: int, weight: int) -> int:
    """Return the size of the result, by the sizes of the inputs; those that differ are refused."""
    if not self == end == weight:
        raise ValueError(f"sizes {self}, {end} and {weight}")
    return self


def derivative() -> str:
    """Return the entry for derivatives.yaml, which ends in a new line.

    A formula is an expression of `grad`, the inputs and tinytorch's operators. These take lists:
    mul does not multiply with 2.0.
    """
    return """
- name: lerp(Tensor self, Tensor end, Tensor weight) -> Tensor
  self: add(grad, neg(mul(grad, weight)))
  end: mul(grad, weight)
  weight: mul(grad, add(end, neg(self)))
"""


def info() -> str:
    """Return the statement for test/opinfo.py, which ends in a new line: ``op_db.append(...)``.

    Choose its samples well. Think of a kernel that swaps two inputs, ignores one, clamps the
    weight, looks at the first element alone, or cannot do without one.
    """
    return """
op_db.append(
    OpInfo(
        "lerp",
        lambda a, b, w: a + w * (b - a),
        (([1.5, -2.0, 0.25], [0.5, 4.0, -3.0], [0.25, 1.5, -0.5]), ([], [], [])),
    )
)
"""


def places() -> dict[str, str]:
    """Return what is appended to each of five files, by path. docs/ops.md gets a section."""
    return {
        "tinytorch/native_functions.yaml": schema(),
        "tinytorch/kernels.py": source(lerp_cpu, lerp_meta),
        "tinytorch/derivatives.yaml": derivative(),
        "test/opinfo.py": info(),
        "docs/ops.md": "\n## lerp\n\nGoes from each element to that of end, by a share.\n",
    }


def contribute(run: Run) -> None:
    """Put all of it into one commit, "Add lerp", on a new branch "lerp"; push it to ``origin``.

    The clone is on ``main``. ``run("git status")`` runs one command; ``run.read(path)``,
    ``run.write(path, text)`` and ``run.replace(path, old, new)`` are for files. CI counts the
    operators in docs/ops.md; README.md says how many there are, too, and nobody counts.
    """
    run("git switch -c lerp")
    for path, text in places().items():
        run.write(path, run.read(path) + text)
    for path, old, new in (("docs/ops.md", "5", "6"), ("README.md", "five", "six")):
        run.replace(path, f"{old} operators", f"{new} operators")
    run('git commit -a -m "Add lerp"')
    run("git push origin lerp")
