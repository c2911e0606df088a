"""Which operators return a view, and which write? Ask the registry, then catch one that lies."""

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
    noted = [argument for argument in schema_of(name).arguments if argument.alias_info]
    return Effects(
        writes=frozenset(argument.name for argument in noted if argument.alias_info.is_write),
        views=frozenset(argument.name for argument in noted if not argument.alias_info.is_write),
    )


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
    names = [argument.name for argument in operator._schema.arguments]  # noqa: SLF001
    given = {**dict(zip(names, arguments, strict=False)), **named}
    tensors = {name: value for name, value in given.items() if isinstance(value, torch.Tensor)}
    before = {name: (tensor._version, tensor.clone()) for name, tensor in tensors.items()}  # noqa: SLF001
    results = operator(*arguments, **named)
    if not isinstance(results, (tuple, list)):
        results = [results]
    storages = {_storage(result) for result in results if isinstance(result, torch.Tensor)}
    # The counter misses writes that a kernel does not report; the values miss a write of the old
    # value.
    writes = frozenset(
        name
        for name, tensor in tensors.items()
        if tensor._version != before[name][0] or not torch.equal(tensor, before[name][1])  # noqa: SLF001
    )
    shared = frozenset(name for name, tensor in tensors.items() if _storage(tensor) in storages)
    return Effects(writes, shared - writes)


def _storage(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()
