"""What a formula of derivatives.yaml makes forward keep."""

from __future__ import annotations

import re
from typing import Final


# What a formula asks of a tensor without its elements: that alone is saved, not the tensor.
PROPERTY: Final = re.compile(r"\b\w+\.(?:scalar_type|sizes|sym_sizes|options|numel|sym_numel)\(\)")


def without_properties(formula: str) -> str:
    """Return a formula without ``self.scalar_type()`` and its kind. Given."""
    return PROPERTY.sub("", formula)


def saved(arguments: list[str], formulas: dict[str, str]) -> list[str]:
    """Return what is saved: the names that formulas mention.

    Arguments come in their order, then "result"; other names, such as grad or those of functions,
    are not saved. What follows ``.``, ``->`` or ``::`` is a member: ``grad.self`` mentions grad,
    ``std::exp(x)`` std and x. `formulas` has one for each input that has a gradient.
    """
    names: set[str] = set()
    for formula in formulas.values():
        names |= {*re.findall(r"(?<!\.)(?<!->)(?<!::)\b[A-Za-z_]\w*", without_properties(formula))}
    return [name for name in [*arguments, "result"] if name in names]
