"""What a formula mentions is kept."""

from __future__ import annotations

import re


# What PyTorch keeps without keeping the tensor: sizes, dtype and the like. Given.
METADATA = re.compile(
    r"\b\w+\.(?:(?:sym_)?(?:sizes?|strides?|numel)|scalar_type|layout|options|dim|device|is_sparse)"
    r"\([^()]*\)"
)


def without_metadata(formula: str) -> str:
    """Return a formula without calls such as ``self.sym_sizes()``. Given."""
    return METADATA.sub("", formula)


def saved_names(arguments: list[str], formulas: list[str]) -> list[str]:
    """Return what forward keeps: the arguments that some formula mentions, then ``"result"``.

    Keep the order of the arguments, each at most once. A name after ``.``, ``->`` or ``::`` is a
    member, not a variable. An argument is not kept if formulas use only its metadata.
    """
    text = " ".join(map(without_metadata, formulas))
    names = set(re.findall(r"(?<!\.)(?<!->)(?<!::)\b[A-Za-z_]\w*", text))
    return [name for name in [*arguments, "result"] if name in names]
