"""Which operators return a view, and which write? Ask the registry, then check that it tells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True)
class Effects:
    """The names of the arguments that are written to, and of those that come back."""

    writes: frozenset[str]
    views: frozenset[str]


def effects(name: str) -> Effects:
    """Return what the schema of the operator `name` says about its arguments."""
    operator, _, overload = name.partition(".")
    schema = torch._C._get_schema(operator, overload)  # noqa: SLF001 - the only door
    noted = [argument for argument in schema.arguments if argument.alias_info]
    return Effects(
        writes=frozenset(argument.name for argument in noted if argument.alias_info.is_write),
        views=frozenset(argument.name for argument in noted if not argument.alias_info.is_write),
    )


def survey() -> dict[str, Effects]:
    """Return the effects of every operator of the namespace aten."""
    names = torch._C._dispatch_get_all_op_names()  # noqa: SLF001 - the only door
    return {name: effects(name) for name in names if name.startswith("aten::")}


def observe(operator: torch._ops.OpOverload, *arguments: Any, **named: Any) -> Effects:
    """Run `operator` and return what it did to its arguments."""
    names = [argument.name for argument in operator._schema.arguments]  # noqa: SLF001
    given = {**dict(zip(names, arguments, strict=False)), **named}
    tensors = {name: value for name, value in given.items() if isinstance(value, torch.Tensor)}
    before = {name: (tensor._version, tensor.clone()) for name, tensor in tensors.items()}  # noqa: SLF001
    results = operator(*arguments, **named)
    if not isinstance(results, (tuple, list)):
        results = [results]
    storages = {_storage(result) for result in results if isinstance(result, torch.Tensor)}
    # The counter misses writes that a kernel makes behind its back; the values miss writes of
    # what was there already.
    writes = frozenset(
        name
        for name, tensor in tensors.items()
        if tensor._version != before[name][0] or not torch.equal(tensor, before[name][1])  # noqa: SLF001
    )
    shared = frozenset(name for name, tensor in tensors.items() if _storage(tensor) in storages)
    return Effects(writes, shared - writes)


def _storage(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()
