"""Perf: save only the elements that you see."""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Mapping

    import torch


def compact(state: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return equal tensors under the same keys, such that ``torch.save`` writes no extra bytes.

    Return a tensor that covers its whole storage as it is. Copy any other; names of the same view
    (equal start, shape, strides and dtype) share one copy. The file then contains only the bytes of
    the distinct tensors, and tied tensors are tied after loading.
    """
    copies: dict[tuple, torch.Tensor] = {}
    result = {}
    for name, x in state.items():
        view = (x.data_ptr(), x.shape, x.stride(), x.dtype)
        if x.untyped_storage().nbytes() > x.nbytes and view not in copies:
            copies[view] = x.clone()
        result[name] = copies.get(view, x)
    return result
