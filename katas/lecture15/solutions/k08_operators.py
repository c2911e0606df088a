"""List the operators that a model needs, by running it."""

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
        kwargs = kwargs or {}
        dtypes = self.needs.setdefault(func.name(), set())
        for each in tree_leaves((args, kwargs)):
            if isinstance(each, torch.Tensor):
                dtypes.add(str(each.dtype).removeprefix("torch."))
        return func(*args, **kwargs)


def merged(*several: Needs) -> dict[str, set[str]]:
    """Return the combined needs; leave the arguments as they are."""
    found: dict[str, set[str]] = {}
    for needs in several:
        for name, dtypes in needs.items():
            found[name] = found.get(name, set()) | dtypes
    return found


def missing(needs: Needs, listed: Needs) -> list[str]:
    """Return what is needed and not listed, sorted: "aten::relu float16", or only "aten::rand".

    If the operator is not listed at all, give only its name, without dtypes.
    """
    lines = [name for name in needs if name not in listed]
    for name, dtypes in needs.items():
        if name in listed:
            lines += [f"{name} {dtype}" for dtype in dtypes - listed[name]]
    return sorted(lines)
