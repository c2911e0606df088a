"""What kind of operator is it? Its schema says so.

``torch.add``, ``x.add_`` and ``torch.add(out=)`` are three operators. PyTorch's code generators
never look into their code: they read the schema.

    schema = torch.ops.aten.add.out._schema
    print(schema)                  # ... *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)
    print(schema.arguments[3].kwarg_only, schema.arguments[3].alias_info.is_write)

Write `kind`, about 7 lines. The tests call it for every ATen operator that you have, over 3000, and
compare with ``torchgen``.

Begin with ``dir(schema.arguments[0])``.
Afterwards read ``FunctionSchema.kind`` in ``torchgen/model.py``, in site-packages.
"""

from __future__ import annotations

from typing import Any


def kind(schema: Any) -> str:
    """Return the kind of an operator from its arguments: the first of these that fits.

    - "out": it writes to a keyword-only argument.
    - "inplace": it writes to an argument, and its name ends in ``_``.
    - "mutable": it writes to an argument.
    - "view": an argument shares its memory with a result; only annotated arguments do.
    - "functional": none of these.
    """
    # TODO: schema.name, and for each of schema.arguments its alias_info, which may be None.
    raise NotImplementedError("kind")
