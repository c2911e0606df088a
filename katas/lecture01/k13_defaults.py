"""Bind a call to a schema: fill in the defaults, then take them out again.

``torch.add(x, y, alpha=1)`` arrives at a mode (k01) without alpha, ``torch.add(x, y, alpha=2)``
arrives with it. A schema says what an operator takes; a call is bound to it in two ways:

    topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True)

    call           topk(x, k=2, sorted=False)
    fill           self=x  k=2  dim=-1  largest=True  sorted=False         for a kernel
    trim           (x, 2, -1, True, False), {}                             for a mode

A serialized program holds the short form: if an operator gets a new argument with a default, old
programs stay valid. Write `fill` and `trim`, about 18 lines.

Begin on paper: why do -1 and True stay in the last line? What would stay with ``largest=False``
instead of ``sorted=False``?
Afterwards open ``torch/csrc/autograd/python_variable.cpp`` in PyTorch's repository
(``parseIValuesToPyArgsKwargs``).
"""

from __future__ import annotations

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
    # TODO: about nine lines.
    raise NotImplementedError("fill")


def trim(
    schema: Sequence[Argument], values: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the shortest args and kwargs for these values, as a mode gets them.

    Pass arguments that are not `by_name` by position, without the trailing defaults. Pass those
    that are `by_name` by name, unless the value is the default.
    """
    # TODO: about nine lines; is_default compares.
    raise NotImplementedError("trim")


def describe(values: Mapping[str, torch.Tensor | object]) -> str:
    """Return one line for a failure message. Given."""
    return ", ".join(
        f"{name}={'tensor' if hasattr(value, 'shape') else repr(value)}"
        for name, value in values.items()
    )
