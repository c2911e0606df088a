"""Channels-last: a memory format that is nothing but strides, and how it is recognised.

Images are (N, C, H, W), volumes (N, C, D, H, W), in that order of dims. Channels-last
keeps the dims and changes the strides: the channels of one pixel lie side by side in memory, then
comes the next pixel of the row. From the fastest dim to the slowest: C, W, H, (D,) N. A tensor
has no flag that says so. PyTorch looks at sizes and strides whenever it needs to know, and there
are two questions that it asks.

1. ``channels_last_strides(sizes)``: the strides of a new channels-last tensor of 4 or 5 dims:
   C has stride 1, and each further dim, in the order above, has the stride times the size of the
   one before it. (A size of 0 is multiplied as it is here, unlike in row-major strides.) Raise
   ``ValueError`` for another number of dims.
2. ``is_channels_last_contiguous(sizes, strides)``: do all elements lie in exactly that order,
   without gaps? This is ``Tensor.is_contiguous(memory_format=torch.channels_last)``, or
   ``torch.channels_last_3d`` for 5 dims. The strides of dims of size 1 do not matter, so a tensor
   can be row-major and channels-last at once. A size of 0 makes no exception: the strides of the
   other dims must be what the products give, 0 included. False for another number of dims than 4
   or 5.
3. ``is_strides_like_channels_last(sizes, strides)``: is the tensor *meant* to be channels-last?
   Operators ask this to choose the format of their result. Gaps are welcome (a slice of
   a channels-last tensor still is), but the strides of dims of size 1 count, as the only trace
   of what was meant. Walk the dims in the order above; the answer is False as soon as
   - the stride of C is 0, or a dim has size 0,
   - a stride is less than the stride times the size of the dim before it,
   - you come to N, and the stride times the size of the dim before it is just the stride of C.
     Then no dim but N has a size above 1 and the others have the same stride: nothing speaks
     for channels-last, so row-major it is.
   False for another number of dims than 4 or 5.
4. ``suggest_memory_format(sizes, strides)``: ``torch.channels_last`` or
   ``torch.channels_last_3d`` (for 5 dims) if the third question says so, else
   ``torch.contiguous_format``.

Sizes and strides are tuples of non-negative ints of one length, of any number of dims. About 30
lines, and no tensor is made. In PyTorch: ``c10/core/MemoryFormat.h``
(``get_channels_last_strides_2d``, ``is_channels_last_strides_2d_s4``, and the Note [Ambiguous
is_channels_last_strides_xd]), ``c10/core/Contiguity.h``
(``_compute_channels_last_contiguous_2d``), ``aten/src/ATen/core/TensorBase.h``
(``suggest_memory_format``).
"""

from __future__ import annotations

import torch  # noqa: TC002 - your answer returns one of its formats


def channels_last_strides(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides of a new channels-last tensor, in elements.

    Raises
    ------
    ValueError
        If there are not 4 or 5 sizes.
    """
    # TODO: in which order do the dims stand in memory?
    raise NotImplementedError("channels_last_strides")


def is_channels_last_contiguous(sizes: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Return whether the elements lie in channels-last order without gaps."""
    # TODO: which strides do not matter?
    raise NotImplementedError("is_channels_last_contiguous")


def is_strides_like_channels_last(sizes: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Return whether the strides look as if channels-last were meant."""
    # TODO: here the strides of dims of size 1 do matter.
    raise NotImplementedError("is_strides_like_channels_last")


def suggest_memory_format(sizes: tuple[int, ...], strides: tuple[int, ...]) -> torch.memory_format:
    """Return the format that an operator would give its result."""
    # TODO: three possible answers.
    raise NotImplementedError("suggest_memory_format")
