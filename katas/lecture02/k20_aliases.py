"""Which operators return a view, and which write? Ask the registry, then catch one that lies.

    print(torch.ops.aten.add_.Tensor._schema)
    # aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)

The letters are alias annotations. ``(a!)`` is written to. ``(a)`` without the mark may come back as
a view, or as itself; ``(a -> *)`` comes back in a list. Autograd, functionalization and
torch.compile believe them. Are they true?

1. `effects`: what a schema says, for each of ATen's overloads, about 3000.
2. `observe`: what happens when you run one. Two traces of a write: the version counter moves, and
   values change. Each has a case that the other misses.

About 18 lines; `survey` is given. Then find out what ``torch.ops.aten.native_batch_norm`` does to
its running statistics in training, and what its schema says.

Begin with ``schema.arguments[0].alias_info``: None, or something with `is_write`.
Afterwards look a few operators up in PyTorch's ``aten/src/ATen/native/native_functions.yaml``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True)
class Effects:
    """The names of the arguments that are written to, and of those that come back."""

    writes: frozenset[str]
    views: frozenset[str]


def schema_of(name: str) -> Any:
    """Return the schema of "aten::add_.Tensor", or of "aten::relu", whose overload is "". Given."""
    operator, _, overload = name.partition(".")
    return torch._C._get_schema(operator, overload)  # noqa: SLF001 - the only door


def effects(name: str) -> Effects:
    """Return the names of the arguments that an operator writes to, and of those that come back.

    So its schema says; what is annotated and not written to may come back.
    """
    # TODO: the annotations are in the schema's arguments.
    raise NotImplementedError("effects")


def survey() -> dict[str, Effects]:
    """Return the effects of every operator of the namespace aten. Given."""
    names = torch._C._dispatch_get_all_op_names()  # noqa: SLF001 - the only door
    return {name: effects(name) for name in names if name.startswith("aten::")}


def observe(operator: torch._ops.OpOverload, *arguments: Any, **named: Any) -> Effects:
    """Run an overload, such as ``torch.ops.aten.add_.Tensor``, and return what it did.

    `writes`: the version moved, or the values, which hold no NaN, are others than before. `views`:
    not written to, and in one storage with a result. Results are a tensor, or a tuple or list, in
    which other objects are left aside. Arguments that are no tensors have no effects; tensors are
    not empty and share no storage.
    """
    # TODO: what do you need to remember before you run it? (operator._schema has the names.)
    raise NotImplementedError("observe")
