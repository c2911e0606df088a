"""Add an operator to a framework, end to end."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Callable

    from katas.lecture28.repository import Run


def source(*functions: Callable[..., object]) -> str:
    """Return the source of functions, to be appended to tinytorch/kernels.py. Given."""
    return "".join(f"\n\n{inspect.getsource(function)}" for function in functions)


def schema() -> str:
    """Return lerp's entry for native_functions.yaml, ending in a newline.

    Its kernels have the names of the functions below.
    """
    return """
- func: lerp(Tensor self, Tensor end, Tensor weight) -> Tensor
  dispatch:
    CPU: lerp_cpu
    Meta: lerp_meta
"""


def lerp_cpu(self: list[float], end: list[float], weight: list[float]) -> list[float]:
    """Interpolate from each element of `self` to that of `end`, by `weight`.

    Raise ValueError if the sizes differ. Return torch.lerp's values for finite elements whose
    difference does not overflow: a weight of 0 gives exactly self, a weight of 1 exactly end.
    """
    return [
        a + w * (b - a) if abs(w) < 0.5 else b - (b - a) * (1 - w)
        for a, b, w in zip(self, end, weight, strict=True)
    ]


def lerp_meta(self: int, end: int, weight: int) -> int:
    """Return the result's size from the inputs' sizes; refuse sizes that differ."""
    if not self == end == weight:
        raise ValueError(f"sizes {self}, {end} and {weight}")
    return self


def derivative() -> str:
    """Return the entry for derivatives.yaml, ending in a newline.

    A formula is an expression of `grad`, the inputs and tinytorch's operators. Operators take
    lists: mul cannot multiply by 2.0.
    """
    return """
- name: lerp(Tensor self, Tensor end, Tensor weight) -> Tensor
  self: add(grad, neg(mul(grad, weight)))
  end: mul(grad, weight)
  weight: mul(grad, add(end, neg(self)))
"""


def info() -> str:
    """Return the statement for test/opinfo.py, ``op_db.append(...)``, ending in a newline.

    Choose samples that catch a kernel that swaps two inputs, ignores an input, clamps the weight,
    reads only the first element, or fails without elements.
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
    """Return the text to append to each of five files, by path. docs/ops.md gets a section."""
    return {
        "tinytorch/native_functions.yaml": schema(),
        "tinytorch/kernels.py": source(lerp_cpu, lerp_meta),
        "tinytorch/derivatives.yaml": derivative(),
        "test/opinfo.py": info(),
        "docs/ops.md": "\n## lerp\n\nGoes from each element to that of end, by a share.\n",
    }


def contribute(run: Run) -> None:
    """Commit everything as "Add lerp" on a new branch "lerp", and push it to ``origin``.

    The clone is on ``main``. ``run("git status")`` runs one command; ``run.read(path)``,
    ``run.write(path, text)`` and ``run.replace(path, old, new)`` are for files. CI counts the
    operators in docs/ops.md.
    """
    run("git switch -c lerp")
    for path, text in places().items():
        run.write(path, run.read(path) + text)
    run.replace("docs/ops.md", "has 5 operators", "has 6 operators")
    run.replace("README.md", "five operators", "six operators")
    run('git commit -a -m "Add lerp"')
    run("git push origin lerp")
