"""Which operators return a view, and which write? Ask the registry, then check that it tells.

Every operator of ATen is registered with a schema, and the schema says by alias annotations what
happens to the storages of its arguments::

    aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)
    aten::transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)
    aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]

``(a!)`` is written to. ``(a)`` without the mark comes back: the result may be a view of it, or the
argument itself. ``(a -> *)`` comes back as well, in a list. Autograd, functionalization and
``torch.compile`` believe these annotations. Are they true?

1. ``effects(name)``: what the schema of the operator of that name (``"aten::add_.Tensor"``, or
   ``"aten::relu"`` where there is one overload, called "") says: the names of the arguments that
   it writes to, and the names of those that are annotated but not written to. The name of the
   operator tells nothing: ``aten::__or__`` does not write, ``aten::add.out`` does.
2. ``survey()``: the effects of every operator of the namespace aten that the dispatcher knows, by
   name. More than 3000; look at them. Does any operator write and return a view of
   another argument?
3. ``observe(operator, *arguments, **named)``: run the operator, an overload like
   ``torch.ops.aten.add_.Tensor``, and report its effects, by the names of its arguments. An
   argument was written to if its version counter moved (writing what was there already counts),
   or if its values, which hold no NaN, are not what they were. It is in `views` if it was not
   written to and shares its storage with a result; results may be one tensor, tensors in a
   tuple or list, or something else, which is left aside. Arguments that are not tensors, or
   not given, have no effects. The tensors given are not empty and do not share storages.

Then compare for some operators what the schema says with what you observe. ``reshape`` and
``contiguous`` say what *may* happen. But find out what ``torch.ops.aten.native_batch_norm``
does to its running statistics in training, and what its schema says.

About 25 lines. ``torch._C._dispatch_get_all_op_names()`` and ``torch._C._get_schema(name,
overload)`` are the doors; a schema has `arguments`, each with `name` and `alias_info`, which is
None or has `is_write`. In PyTorch: ``aten/src/ATen/native/native_functions.yaml`` (where the
annotations are written; ``aten/src/ATen/native/README.md`` explains them) and
``aten/src/ATen/core/alias_info.h`` (``AliasInfo``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch  # noqa: TC002 - your answer calls it


@dataclass(frozen=True)
class Effects:
    """The names of the arguments that are written to, and of those that come back."""

    writes: frozenset[str]
    views: frozenset[str]


def effects(name: str) -> Effects:
    """Return what the schema of the operator `name` says about its arguments."""
    # TODO: the annotations are in the schema's arguments.
    raise NotImplementedError("effects")


def survey() -> dict[str, Effects]:
    """Return the effects of every operator of the namespace aten."""
    # TODO: the dispatcher knows other namespaces, too.
    raise NotImplementedError("survey")


def observe(operator: torch._ops.OpOverload, *arguments: Any, **named: Any) -> Effects:
    """Run `operator` and return what it did to its arguments."""
    # TODO: what do you have to remember before you run it?
    raise NotImplementedError("observe")
