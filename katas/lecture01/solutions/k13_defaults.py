"""Bind a call to a schema: fill in the defaults, then take them out again."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING
from typing import Any


if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Sequence

    import torch
    from torch._ops import OpOverload


@dataclass(frozen=True)
class Argument:
    """An argument of a schema. Given.

    Without `has_default` it is required; with `by_name` it comes after the * of the schema.
    """

    name: str
    has_default: bool
    default: Any
    by_name: bool


def schema_of(operator: OpOverload) -> list[Argument]:
    """Return the arguments of an operator: ``torch.ops.aten.topk.default``. Given."""
    return [
        Argument(each.name, each.has_default_value(), each.default_value, each.kwarg_only)
        for each in operator._schema.arguments  # noqa: SLF001
    ]


def is_default(value: Any, argument: Argument) -> bool:
    """Return whether a value is the default of its argument: 1.0 is not 1. Given."""
    same_type = type(value) is type(argument.default)
    return argument.has_default and same_type and bool(value == argument.default)


def fill(
    schema: Sequence[Argument], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a dict from argument name to value, in the order of the schema.

    Positional values go to the arguments that are not `by_name`, from the left. Check one thing
    only: if an argument without a default is missing, raise a TypeError with its name. If a default
    is a list, return a new copy for each call.
    """
    positional = [each.name for each in schema if not each.by_name]
    given = dict(zip(positional, args, strict=False)) | dict(kwargs)
    values = {}
    for each in schema:
        if each.name in given:
            values[each.name] = given[each.name]
        elif each.has_default:
            values[each.name] = copy(each.default)
        else:
            raise TypeError(each.name)
    return values


def trim(
    schema: Sequence[Argument], values: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the shortest args and kwargs for these values, as a mode gets them.

    Pass arguments that are not `by_name` by position, without the trailing defaults. Pass those
    that are `by_name` by name, unless the value is the default.
    """
    positional = [each for each in schema if not each.by_name]
    while positional and is_default(values[positional[-1].name], positional[-1]):
        positional.pop()
    args = tuple(values[each.name] for each in positional)
    return args, {
        each.name: values[each.name]
        for each in schema
        if each.by_name and not is_default(values[each.name], each)
    }


def describe(values: Mapping[str, torch.Tensor | object]) -> str:
    """Return one line for a failure message. Given."""
    return ", ".join(
        f"{name}={'tensor' if hasattr(value, 'shape') else repr(value)}"
        for name, value in values.items()
    )
