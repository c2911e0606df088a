"""What a formula keeps alive.

Your model has a million weights, and training fills the GPU: autograd keeps what backward needs.
Look at one example:

    x = torch.ones(3, requires_grad=True)
    [name for name in dir(x.exp().grad_fn) if name.startswith("_saved")]    # and for cos, neg

All of this follows from one file, derivatives.yaml, and one rule: autograd keeps what a formula
mentions.

    exp    self: grad * result.conj()             keeps result
    cos    self: grad * -self.sin().conj()        keeps self

Write the rule, in about three lines. Which names in the second formula are not variables?
Afterwards read saved_variables in tools/autograd/load_derivatives.py, which the wheel has in
torchgen/packaged/autograd.
"""

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
    # TODO: find all names in the formulas; then those that are kept.
    raise NotImplementedError("saved_names")
