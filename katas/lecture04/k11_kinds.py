"""What kind of an operator is it? Its schema says so.

``torch.add``, ``x.add_`` and ``torch.add(out=)`` are three operators, and PyTorch's code generators
never look into one of them: they read the schema.

    schema = torch.ops.aten.add.out._schema
    print(schema)                  # ... *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)
    print(schema.arguments[3].kwarg_only, schema.arguments[3].alias_info.is_write)

Write `kind`, about 7 lines. The tests ask it of each operator of ATen that you have, over 3000, and
``torchgen`` for the answer.

Begin with ``dir(schema.arguments[0])``.
Afterwards read ``FunctionSchema.kind`` in ``torchgen/model.py``, in site-packages.
"""

from __future__ import annotations

from typing import Any


def kind(schema: Any) -> str:
    """Return the kind of an operator, by what its arguments say; the first that fits.

    - "out": it writes to an argument that is keyword-only.
    - "inplace": it writes to an argument, and its name ends in ``_``.
    - "mutable": it writes to an argument.
    - "view": an argument shares its memory with a result; only annotated arguments do.
    - "functional": none of these.
    """
    # TODO: schema.name, and for each of schema.arguments its alias_info, which may be None.
    raise NotImplementedError("kind")
