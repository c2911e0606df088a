"""Add an operator to a framework, end to end.

``torch.lerp`` can be called, called in place, differentiated, traced and tested. Most of that code
is generated around a kernel, from a YAML entry, three formulas and an OpInfo. Write these for
tinytorch, whose tensors are lists of floats:

    native_functions.yaml  --codegen-->  ops.lerp, ops.lerp_meta  <--  lerp_cpu, lerp_meta
    derivatives.yaml       --codegen-->  ops.lerp_backward
    test/opinfo.py         ---------->   samples for test/run.py

1. `schema`: the entry, with the arguments of PyTorch's ``lerp.Tensor``, and two kernels.
2. `lerp_cpu` and `lerp_meta`: the values, and only the size.
3. `derivative`: a formula for each input.
4. `info`: an OpInfo with samples that reveal faulty kernels.
5. `places` and `contribute`: one commit, on your fork.

Begin with ``upstream/``, next to this file: follow mul through five files. In kernels.py it occurs
twice, as a kernel and as a meta function, so there are six places.

Real life differs: PyTorch's kernels and formulas are C++.
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
    """Return the source of functions, to be appended to tinytorch/kernels.py. Given."""
    return "".join(f"\n\n{inspect.getsource(function)}" for function in functions)


def schema() -> str:
    """Return lerp's entry for native_functions.yaml, ending in a newline.

    Its kernels have the names of the functions below.
    """
    # TODO: func, dispatch.
    raise NotImplementedError("schema")


def lerp_cpu(self: list[float], end: list[float], weight: list[float]) -> list[float]:
    """Interpolate from each element of `self` to that of `end`, by `weight`.

    Raise ValueError if the sizes differ. Return torch.lerp's values for finite elements whose
    difference does not overflow: a weight of 0 gives exactly self, a weight of 1 exactly end.
    """
    # TODO: self + weight * (end - self) is exact at one end; which formula is at the other?
    raise NotImplementedError("lerp_cpu")


def lerp_meta(self: int, end: int, weight: int) -> int:
    """Return the result's size from the inputs' sizes; refuse sizes that differ."""
    # TODO: raise ValueError, as in the kernel.
    raise NotImplementedError("lerp_meta")


def derivative() -> str:
    """Return the entry for derivatives.yaml, ending in a newline.

    A formula is an expression of `grad`, the inputs and tinytorch's operators. Operators take
    lists: mul cannot multiply by 2.0.
    """
    # TODO: name, self, end, weight. The slope with respect to self is 1 - weight.
    raise NotImplementedError("derivative")


def info() -> str:
    """Return the statement for test/opinfo.py, ``op_db.append(...)``, ending in a newline.

    Choose samples that catch a kernel that swaps two inputs, ignores an input, clamps the weight,
    reads only the first element, or fails without elements.
    """
    # TODO: lerp of three floats; two or three samples, of three lists each.
    raise NotImplementedError("info")


def places() -> dict[str, str]:
    """Return the text to append to each of five files, by path. docs/ops.md gets a section."""
    # TODO: the functions above provide four of them.
    raise NotImplementedError("places")


def contribute(run: Run) -> None:
    """Commit everything as "Add lerp" on a new branch "lerp", and push it to ``origin``.

    The clone is on ``main``. ``run("git status")`` runs one command; ``run.read(path)``,
    ``run.write(path, text)`` and ``run.replace(path, old, new)`` edit files. CI counts the
    operators in docs/ops.md; README.md also states their number, which CI does not check.
    """
    # TODO: a branch, five files, two numbers, a commit, a push.
    raise NotImplementedError("contribute")
