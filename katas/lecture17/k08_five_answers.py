"""Five methods, four functions: work out who gets what.

The baseline is (0, 0). How much of f(a, b) is due to a, and how much to b?

    name       f                          at
    product    a * b                      (2, 3)
    least      min(a, b)                  (1, 3)
    most       max(a, b)                  (1, 3)
    capped     1 - relu(1 - a - b)        (1, 1)

    gradient     df/da                    integrated   k02, with many steps
    times        gradient times input     occlusion    f(a, b) - f(0, b)      Shapley   k07

Fill in `shares`, on paper; your rows cannot call torch.

Begin with ``product``: which two methods give more than there is? Afterwards see
``torch/autograd/__init__.py``, in site-packages.
"""

from __future__ import annotations


METHODS = ("gradient", "times", "integrated", "occlusion", "Shapley")


def shares() -> dict[str, tuple[tuple[float, float], ...]]:
    """For each function, return five pairs, in the order of METHODS: a's share and b's."""
    # TODO: return {"product": ((..., ...), (..., ...), ...), ...}
    raise NotImplementedError("shares")
