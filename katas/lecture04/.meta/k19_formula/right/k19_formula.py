"""Kept is what a formula mentions."""

from __future__ import annotations

import re


# What PyTorch keeps of a tensor without the tensor: sizes, dtype and the like. Given.
METADATA = re.compile(
    r"\b\w+\.(?:(?:sym_)?(?:sizes?|strides?|numel)|scalar_type|layout|options|dim|device|is_sparse)"
    r"\([^()]*\)"
)


def without_metadata(formula: str) -> str:
    """Return a formula without calls such as ``self.sym_sizes()``. Given."""
    return METADATA.sub("", formula)


def saved_names(arguments: list[str], formulas: list[str]) -> list[str]:
    """Return what forward keeps: the arguments that some formula mentions, then ``"result"``.

    The arguments stand in their order, each at most one time. What follows ``.``, ``->`` or ``::``
    is a member and no variable. An argument whose metadata alone is asked for is not kept.
    """
    words = []
    for formula in formulas:
        # With each word what stands before it.
        words += re.findall(r"(\.|->|::)?\s*\b([^\W\d]\w*)", without_metadata(formula))
    variables = {word for before, word in words if not before}
    kept = [argument for argument in arguments if argument in variables]
    return kept + ["result"] * ("result" in variables)
