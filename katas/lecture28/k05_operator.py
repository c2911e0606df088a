"""Add an operator to a framework, end to end.

``torch.lerp`` can be called, called in place, differentiated, traced and tested. Most of that
is generated, from an entry of YAML, three formulas and an OpInfo, around a kernel. Write these for
tinytorch, whose tensors are lists of floats:

    native_functions.yaml  --codegen-->  ops.lerp, ops.lerp_meta  <--  lerp_cpu, lerp_meta
    derivatives.yaml       --codegen-->  ops.lerp_backward
    test/opinfo.py         ---------->   what test/run.py tries them with

1. `schema`: the entry, with the arguments of PyTorch's ``lerp.Tensor``, and two kernels.
2. `lerp_cpu` and `lerp_meta`: the values, and the size alone.
3. `derivative`: a formula for each input.
4. `info`: an OpInfo with samples in which the faults of others are seen.
5. `places` and `contribute`: one commit, on your fork.

Begin with ``upstream/``, beside this file: follow mul through five files. In kernels.py it stands
twice, as a kernel and as a meta function, so there are six places.

Real life differs: a kernel of PyTorch is C++, and so is a formula.
Afterwards look lerp up in ``aten/src/ATen/native/Lerp.h`` and ``tools/autograd/derivatives.yaml``,
on your disk in ``torch/include/ATen/native`` and ``torchgen/packaged/autograd``.
"""

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
    # TODO: func, dispatch.
    raise NotImplementedError("schema")


def lerp_cpu(self: list[float], end: list[float], weight: list[float]) -> list[float]:
    """Go from each element to that of `end`, by a share.

    Sizes that differ are a ValueError. The values are torch.lerp's, for finite elements whose
    difference does not overflow: a weight of 0 gives self, and one of 1 gives end, exactly.
    """
    # TODO: self + weight * (end - self) keeps one end; which formula keeps the other?
    raise NotImplementedError("lerp_cpu")


def lerp_meta(self: int, end: int, weight: int) -> int:
    """Return the size of the result, by the sizes of the inputs; those that differ are refused."""
    # TODO: a ValueError, as in the kernel.
    raise NotImplementedError("lerp_meta")


def derivative() -> str:
    """Return the entry for derivatives.yaml, which ends in a new line.

    A formula is an expression of `grad`, the inputs and tinytorch's operators. These take lists:
    mul does not multiply with 2.0.
    """
    # TODO: name, self, end, weight. The slope in self is 1 - weight.
    raise NotImplementedError("derivative")


def info() -> str:
    """Return the statement for test/opinfo.py, which ends in a new line: ``op_db.append(...)``.

    Choose its samples well. Think of a kernel that swaps two inputs, ignores one, clamps the
    weight, looks at the first element alone, or cannot do without one.
    """
    # TODO: what lerp makes of three floats; two or three samples, of three lists each.
    raise NotImplementedError("info")


def places() -> dict[str, str]:
    """Return what is appended to each of five files, by path. docs/ops.md gets a section."""
    # TODO: the functions above have four of them.
    raise NotImplementedError("places")


def contribute(run: Run) -> None:
    """Put all of it into one commit, "Add lerp", on a new branch "lerp"; push it to ``origin``.

    The clone is on ``main``. ``run("git status")`` runs one command; ``run.read(path)``,
    ``run.write(path, text)`` and ``run.replace(path, old, new)`` are for files. CI counts the
    operators in docs/ops.md; README.md says how many there are, too, and nobody counts.
    """
    # TODO: a branch, five files, two numbers, a commit, a push.
    raise NotImplementedError("contribute")
