"""Say whom a new schema breaks.

You give an operator one more keyword, with a default, in front of the others. Each call in Python
still works, and CI is red. Programs that were exported or scripted with the last PyTorch hold
calls of the old schema, so PyTorch compares both, argument by argument, by position:

    old   f(Tensor x, int n=1, *, bool k=False) -> Tensor

    new   f(Tensor x, int? n=1, *, bool k=False) -> Tensor                 takes all it took
          f(Tensor x, int n=2, *, bool k=False) -> Tensor                  breaks f(x)
          f(Tensor x, *, int n=1, bool k=False) -> Tensor                  breaks f(x, 3)
          f(Tensor x, int n=1, *, bool k=False, bool j=True) -> Tensor     fine
          f(Tensor x, int n=1, *, bool j=True, bool k=False) -> Tensor     refused

1. `accepts`: does one value still fit? For results it is asked the other way round.
2. `compatible`: two schemas.
3. `broken`: which schemas of the last release have no successor?

Begin with ``old = torch._C.parse_schema("f(Tensor x, int n=1) -> Tensor")`` and
``dir(old.arguments[1].type)``.

Real life differs: new programs meet an old PyTorch (``check_forward_compatible_with``), and a
schema may end in ``...``, for any arguments.
Afterwards open ``aten/src/ATen/core/function_schema.h``, below ``torch/include`` in the wheel.
Argument and FunctionSchema each have an ``isBackwardCompatibleWith``, and one of the two comments
has the types the wrong way round. Which?
"""

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
    # TODO: form, type, kwarg_only, default.
    raise NotImplementedError("accepts")


def compatible(old: Any, new: Any) -> bool:
    """Return whether programs with the old schema run with the new one.

    The operator and its overload have their names, and there are as many results and as many
    arguments for ``out=`` as before. By position, each old argument is accepted by the new one,
    and each new result would have been accepted as the old one: Tensor? may become Tensor. What is
    added has a default; arguments for ``out=`` are a row of their own, and may move behind it.
    """
    # TODO: names, counts, results, arguments, what is added, out.
    raise NotImplementedError("compatible")


def broken(old: Sequence[Any], new: Sequence[Any]) -> list[str]:
    """Return the old schemas that no new one is compatible with, as texts and in their order."""
    # TODO: an operator has overloads, and both lists are in any order.
    raise NotImplementedError("broken")
