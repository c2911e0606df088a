"""Whom does a new schema break? A check, argument by argument."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any


if TYPE_CHECKING:
    from collections.abc import Sequence


def form(argument: Any) -> tuple[object, ...]:
    """Return the fixed parts of an argument or result: name, list length, alias. Given."""
    alias = argument.alias_info
    sets = alias and (sorted(alias.before_set), sorted(alias.after_set), alias.is_write)
    return argument.name, argument.N, sets


def default(argument: Any) -> str:
    """Return the default as text, or "" if there is none: 1 differs from 1.0. Given."""
    return repr(argument.default_value) if argument.has_default_value() else ""


def split(schema: Any) -> tuple[list[Any], list[Any]]:
    """Return the ordinary arguments, and those for ``out=``. Given."""
    arguments = schema.arguments
    return [a for a in arguments if not a.is_out], [a for a in arguments if a.is_out]


def accepts(new: Any, old: Any) -> bool:
    """Return whether `new` accepts every value that `old` accepted, passed in the same way.

    Both are arguments (or results) of a schema. Require that their `form` is equal, that the old
    type is a subtype of the new one, that an argument that could be passed by position still can,
    and that an old default is still the default.
    """
    return (
        form(new) == form(old)
        and old.type.isSubtypeOf(new.type)
        and new.kwarg_only <= old.kwarg_only
        and default(old) in ("", default(new))
    )


def compatible(old: Any, new: Any) -> bool:
    """Return whether programs with the old schema run with the new one.

    Operator and overload keep their names, and the numbers of results and of ``out=`` arguments
    stay the same. By position, the new argument accepts the old one, and the old result would
    accept the new one: Tensor? may become Tensor. Added arguments have defaults; ``out=`` arguments
    are compared separately, and may move behind added ones.
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
    """Return the old schemas that no new one is compatible with, as strings, in order."""
    return [str(each) for each in old if not any(compatible(each, other) for other in new)]
