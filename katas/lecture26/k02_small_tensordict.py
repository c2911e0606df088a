"""Give a dict of tensors a batch size.

A step of a simulation returns a dict that contains dicts: observations, rewards, the next
observation. You want to index all of it at once, stack it, and map over it. TensorDict does that
with one idea: all tensors begin with the same dims, the batch size, and an index sees only these.

    Batch, batch_size (4, 5)
      pixels   (4, 5, 8, 8)        batch[2]       (5,)
      reward   (4, 5)              batch[:, 1:]   (4, 4)
      next     Batch (4, 5)        batch[2, 3, 0] IndexError, although pixels could

Write

1. ``__getitem__``: a name, or an index of the batch dims;
2. `stack`: a new batch dim, also counted from the end: -1 is the last batch dim;
3. `flatten` and `unflatten`, with which ``torch.vmap`` takes a `Batch` apart. Inside, a dim is
   hidden, and no size that you have recorded still holds.

Begin on paper: inside ``vmap``, which shapes does the batch above have, and what still holds?
Afterwards read ``register_pytree_node`` in ``torch/utils/_pytree.py``, in site-packages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch
from torch.utils import _pytree


if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Sequence


class Batch:
    """One or more tensors and nested Batches by name, which begin with the dims `batch_size`."""

    def __init__(self, values: Mapping[str, Any], batch_size: Sequence[int]) -> None:
        """Check the sizes. Given."""
        self.values = dict(values)
        self.batch_size = torch.Size(batch_size)
        for name, value in values.items():
            found = shape(value)
            if found[: len(self.batch_size)] != self.batch_size:
                raise ValueError(f"{name}: {[*found]} does not begin with {[*self.batch_size]}")

    def __getitem__(self, index: Any) -> Any:
        """Return a name's value, or for an index, a Batch with every value indexed alike.

        An index is an int, a slice, a tensor, or a tuple of these; `...` and None are not
        needed. An index with more dims than the batch has raises IndexError.
        """
        # TODO: let PyTorch find the new batch size. Which tensor has only the batch dims?
        raise NotImplementedError("__getitem__")


def shape(value: Any) -> torch.Size:
    """Return a tensor's shape or a Batch's batch size; for vmap's own ints, return (). Given."""
    return value.batch_size if isinstance(value, Batch) else getattr(value, "shape", torch.Size())


def check_alike(batches: Sequence[Batch]) -> None:
    """Raise ValueError unless all have the same batch size and the same names. Given."""
    for batch in batches:
        if batch.batch_size != batches[0].batch_size:
            raise ValueError(f"sizes differ: {[*batches[0].batch_size]}, {[*batch.batch_size]}")
        if batch.values.keys() != batches[0].values.keys():
            raise ValueError(f"names differ: {[*batches[0].values]}, {[*batch.values]}")


def stack(batches: Sequence[Batch], dim: int = 0) -> Batch:
    """Stack all Batches along a new batch dim; nested Batches too.

    Names are in the order of the first Batch. A `dim` out of range raises IndexError.
    """
    check_alike(batches)
    # TODO: where is dim -1 for a tensor that has more dims than the batch?
    raise NotImplementedError("stack")


def flatten(batch: Batch) -> tuple[list[Any], Any]:
    """Return the values, nested Batches unchanged, and whatever else `unflatten` needs."""
    # TODO: the names, and what still holds for the first value's dims when a batch dim is hidden.
    raise NotImplementedError("flatten")


def unflatten(values: Sequence[Any], context: Any) -> Batch:
    """Return the Batch of new values, whose batch size follows from their shapes.

    Values may also be vmap's ints.
    """
    # TODO
    raise NotImplementedError("unflatten")


_pytree.register_pytree_node(Batch, flatten, unflatten)
