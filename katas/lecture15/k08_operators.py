"""List the operators that a model needs, by running it.

The app is built with the kernels on a list. Nobody writes that list by hand: `nn.Linear` calls
``aten::addmm``, and for a 1-D input ``aten::view`` as well. So run the model with a witness:

    with Recorder() as recorder, torch.no_grad():
        model(torch.randn(2, 3))
    recorder.needs          # {"aten::addmm": {"float32"}, "aten::t": {"float32"}}

A witness knows only what it saw. Months later, the phone lacks the kernel for a branch not taken,
a dtype not seen, a Dropout skipped in eval mode. So merge several runs.

1. `Recorder.__torch_dispatch__`: record the operator and the dtypes of the tensors it reads.
2. `merged`: the needs of several runs or models, as one.
3. `missing`: a model's needs that are not on a list.

Begin with ``print(func, func.name())``: a list uses the names of the schema. About 16 lines.
Afterwards read `combine_selective_builders` in ``torchgen/selective_build/selector.py``, in
site-packages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


if TYPE_CHECKING:
    from collections.abc import Mapping

    # Names of operators, and names of dtypes.
    Needs = Mapping[str, set[str]]


# Given: do not change.
def as_yaml(needs: Needs) -> str:
    """Return the list in the form that torchgen reads; here kernels are named like operators."""
    lines = ["operators:"]
    for name in sorted(needs):
        lines += [f"  {name}:", "    is_root_operator: Yes", "    is_used_for_training: No"]
        lines += ["    include_all_overloads: No"]
    lines.append("kernel_metadata:")
    lines += [f"  {name}: [{', '.join(sorted(needs[name]))}]" for name in sorted(needs)]
    return "\n".join(lines) + "\n"


# The exercise.
class Recorder(TorchDispatchMode):
    """Records what runs while the mode is active."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call, unused-ignore]
        self.needs: dict[str, set[str]] = {}

    def __torch_dispatch__(
        self,
        func: torch._ops.OpOverload,
        types: tuple[type, ...],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Return what `func` returns, and add the operator to `needs`.

        A key looks like ``aten::add.Tensor``, a dtype like ``float32``. Tensors may be in lists and
        keywords too; `tree_leaves` finds them. An operator that reads no tensor is added
        without dtypes.
        """
        # TODO: record it, then call func.
        raise NotImplementedError("Recorder")


def merged(*several: Needs) -> dict[str, set[str]]:
    """Return the combined needs; leave the arguments as they are."""
    # TODO: operators, and the dtypes of each.
    raise NotImplementedError("merged")


def missing(needs: Needs, listed: Needs) -> list[str]:
    """Return what is needed and not listed, sorted: "aten::relu float16", or only "aten::rand".

    If the operator is not listed at all, give only its name, without dtypes.
    """
    # TODO: two cases for each operator.
    raise NotImplementedError("missing")
