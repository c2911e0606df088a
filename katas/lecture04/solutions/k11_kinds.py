"""The kind of an operator, read from its schema."""

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
    marked = [each for each in schema.arguments if each.alias_info is not None]
    written = [each for each in marked if each.alias_info.is_write]
    if any(each.kwarg_only for each in written):
        return "out"
    if written:
        return "inplace" if schema.name.endswith("_") else "mutable"
    return "view" if marked else "functional"
