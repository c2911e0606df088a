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
    words = []
    for formula in formulas:
        # With each word what stands before it.
        words += re.findall(r"(\.|->|::)?\s*\b([^\W\d]\w*)", without_metadata(formula))
    variables = {word for before, word in words if not before}
    kept = [argument for argument in arguments if argument in variables]
    return kept + ["result"] * ("result" in variables)
