"""Find out which programs a new schema breaks.

You give an operator another keyword with a default, before the others. Every call in Python still
works, but CI is red. Programs exported or scripted with the last PyTorch contain calls to the old
schema, so PyTorch compares the two, argument by argument, by position:

    old   f(Tensor x, int n=1, *, bool k=False) -> Tensor

    new   f(Tensor x, int? n=1, *, bool k=False) -> Tensor                 accepts all it did
          f(Tensor x, int n=2, *, bool k=False) -> Tensor                  breaks f(x)
          f(Tensor x, *, int n=1, bool k=False) -> Tensor                  breaks f(x, 3)
          f(Tensor x, int n=1, *, bool k=False, bool j=True) -> Tensor     fine
          f(Tensor x, int n=1, *, bool j=True, bool k=False) -> Tensor     rejected

1. `accepts`: does one value still fit? For results, ask the other way round.
2. `compatible`: compare two schemas.
3. `broken`: which schemas of the last release have no compatible successor?

Begin with ``old = torch._C.parse_schema("f(Tensor x, int n=1) -> Tensor")`` and
``dir(old.arguments[1].type)``.

Real life differs: new programs run on an old PyTorch (``check_forward_compatible_with``), and a
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
    # TODO: form, type, kwarg_only, default.
    raise NotImplementedError("accepts")


def compatible(old: Any, new: Any) -> bool:
    """Return whether programs with the old schema run with the new one.

    Operator and overload keep their names, and the numbers of results and of ``out=`` arguments
    stay the same. By position, the new argument accepts the old one, and the old result would
    accept the new one: Tensor? may become Tensor. Added arguments have defaults; ``out=`` arguments
    are compared separately, and may move behind added ones.
    """
    # TODO: names, counts, results, arguments, added arguments, out.
    raise NotImplementedError("compatible")


def broken(old: Sequence[Any], new: Sequence[Any]) -> list[str]:
    """Return the old schemas that no new one is compatible with, as strings, in order."""
    # TODO: an operator may have overloads, and both lists may be in any order.
    raise NotImplementedError("broken")
