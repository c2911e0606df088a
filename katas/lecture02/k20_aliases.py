"""Which operators return a view, and which write? Ask the registry, then catch one that lies.

    print(torch.ops.aten.add_.Tensor._schema)
    # aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)

The letters are alias annotations. An argument marked ``(a!)`` is written to. One marked ``(a)`` may
be returned, as itself or as a view; one marked ``(a -> *)`` is returned in a list. Autograd,
functionalization and torch.compile believe these annotations. Are they true?

1. `effects`: what the schema of an overload says; ATen has about 3000 of them.
2. `observe`: what happens when you run one. A write leaves two traces: the version counter moves,
   and values change. Each misses a case that the other finds.

About 18 lines; `survey` is given. Then find out what ``torch.ops.aten.native_batch_norm`` does to
its running statistics in training, and what its schema says.

Begin with ``schema.arguments[0].alias_info``: None, or an object with `is_write`.
Afterwards look a few operators up in PyTorch's ``aten/src/ATen/native/native_functions.yaml``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True)
class Effects:
    """The names of the arguments that are written to, and of those that are returned."""

    writes: frozenset[str]
    views: frozenset[str]


def schema_of(name: str) -> Any:
    """Return the schema of an overload, such as "aten::add_.Tensor" or "aten::relu". Given."""
    operator, _, overload = name.partition(".")
    return torch._C._get_schema(operator, overload)  # noqa: SLF001 - the only access


def effects(name: str) -> Effects:
    """Return which arguments an operator writes to, and may return, according to its schema.

    An argument that is annotated but not written to may be returned.
    """
    # TODO: the annotations are in the schema's arguments.
    raise NotImplementedError("effects")


def survey() -> dict[str, Effects]:
    """Return the effects of every operator in the namespace aten. Given."""
    names = torch._C._dispatch_get_all_op_names()  # noqa: SLF001 - the only access
    return {name: effects(name) for name in names if name.startswith("aten::")}


def observe(operator: torch._ops.OpOverload, *arguments: Any, **named: Any) -> Effects:
    """Run an overload, such as ``torch.ops.aten.add_.Tensor``, and return what it did.

    `writes`: the version counter moved, or the values changed (no value is NaN). `views`: not
    written to, and a result shares the argument's storage. The result is a tensor, or a tuple or
    list; ignore its items that are not tensors. Arguments that are not tensors have no effects;
    tensors are not empty and share no storage.
    """
    # TODO: what do you need to remember before you run it? (operator._schema has the names.)
    raise NotImplementedError("observe")
