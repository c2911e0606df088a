"""Whom does a new schema break? A check, argument by argument."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any


if TYPE_CHECKING:
    from collections.abc import Sequence


def form(argument: Any) -> tuple[object, ...]:
    """Return what of an argument or result may not change: name, length of a list, alias. Given."""
    alias = argument.alias_info
    sets = alias and (sorted(alias.before_set), sorted(alias.after_set), alias.is_write)
    return argument.name, argument.N, sets


def default(argument: Any) -> str:
    """Return the default as a text, "" if there is none: 1 is not 1.0. Given."""
    return repr(argument.default_value) if argument.has_default_value() else ""


def split(schema: Any) -> tuple[list[Any], list[Any]]:
    """Return the arguments that are read, and those that ``out=`` stands for. Given."""
    arguments = schema.arguments
    return [a for a in arguments if not a.is_out], [a for a in arguments if a.is_out]


def accepts(new: Any, old: Any) -> bool:
    """Return whether `new` takes each value that `old` has taken, given in the way it was given.

    Both are arguments (or results) of a schema. Their `form` is equal, the old type is a subtype
    of the new one, what could be given by position still can, and where a default could be relied
    on, it is the new one too.
    """
    return (
        form(new) == form(old)
        and old.type.isSubtypeOf(new.type)
        and new.kwarg_only <= old.kwarg_only
        and default(old) in ("", default(new))
    )


def compatible(old: Any, new: Any) -> bool:
    """Return whether programs with the old schema run with the new one.

    The operator and its overload have their names, and there are as many results and as many
    arguments for ``out=`` as before. By position, each old argument is accepted by the new one,
    and each new result would have been accepted as the old one: Tensor? may become Tensor. What is
    added has a default; arguments for ``out=`` are a row of their own, and may move behind it.
    """
    (was, was_out), (now, now_out) = split(old), split(new)
    return (
        (old.name, old.overload_name) == (new.name, new.overload_name)
        and len(old.returns) == len(new.returns)
        and len(was_out) == len(now_out)
        and len(was) <= len(now)
        and all(map(accepts, old.returns, new.returns))
        and all(map(accepts, now, was))
        and all(map(default, now[len(was) :]))
        and all(map(accepts, now_out, was_out))
    )


def broken(old: Sequence[Any], new: Sequence[Any]) -> list[str]:
    """Return the old schemas that no new one is compatible with, as texts and in their order."""
    return [str(each) for each in old if not any(compatible(each, other) for other in new)]
