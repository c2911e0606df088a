"""Which operators keep channels-last? Find it out.

A network runs in channels-last only as long as every operator on the way hands the format on; one
that does not costs a copy there and, mostly, another one later. No table says which do: some
operators follow their input's strides element by element, some ask for the suggested format
(kata k15), and some allocate row-major and think no further. Write the probe that finds out.

1. ``format_of(tensor)``: for a tensor of 4 dims, ``"contiguous"`` if it is contiguous in
   row-major order, ``"channels_last"`` if it is in channels-last order, ``"both"`` or
   ``"neither"``.
2. ``survey(operators, device)``: give each operator (a function of one tensor) a channels-last
   input, and return the format of each result by name. An operator may write to its
   input or change its shape, so each one gets an input of its own. All inputs are float32, on
   `device`, of 4 dims; C, H and W are even, at least 4, 6 and 6, and N is at least 2: so each
   operator can work, and the format of the input is beyond doubt.
3. ``deciders(operator, device)``: for a function of two tensors of the same sizes, which operand
   carries its format over? Return the set of those, of ``"first"`` and ``"second"``, that make
   the result ``"channels_last"`` (not ``"both"``) when they alone are channels-last and the
   other operand is row-major. The inputs are as above.

Then print ``survey(OPERATORS)`` and see which ones you would have guessed wrong; and ask
``deciders`` about ``torch.add``, ``torch.cat`` of two, a convolution. The tests compare with
what happens at other sizes, and try operators of their own.

About 15 lines. In PyTorch: ``aten/src/ATen/TensorIterator.cpp`` (``reorder_dimensions``: the
order of strides of the first operand that has one decides), ``aten/src/ATen/native/Pool.h`` and
``aten/src/ATen/native/TensorShape.cpp`` (``cat_compute_output_memory_format``). The tutorial
"Channels Last Memory Format in PyTorch" tells what it is good for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Mapping


# Given: do not change.
OPERATORS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "relu": F.relu,
    "softmax over channels": lambda x: F.softmax(x, dim=1),
    "batch_norm": lambda x: F.batch_norm(x, None, None, training=True),
    "group_norm": lambda x: F.group_norm(x, 2),
    "instance_norm": F.instance_norm,
    "layer_norm": lambda x: F.layer_norm(x, x.shape[1:]),
    "conv2d": lambda x: F.conv2d(x, x.new_ones(6, x.shape[1], 3, 3)),
    "max_pool2d": lambda x: F.max_pool2d(x, 2),
    "global pooling": lambda x: F.adaptive_avg_pool2d(x, 1),
    "interpolate": lambda x: F.interpolate(x, scale_factor=2),
    "grid_sample": lambda x: F.grid_sample(x, x.new_zeros(len(x), 3, 4, 2), align_corners=False),
    "linear": lambda x: F.linear(x, x.new_ones(6, x.shape[3])),
    "pad with zeros": lambda x: F.pad(x, (1, 1, 1, 1)),
    "pad around": lambda x: F.pad(x, (1, 1, 1, 1), mode="circular"),
    "cat": lambda x: torch.cat([x, x], dim=1),
    "repeat": lambda x: x.repeat(1, 2, 1, 1),
    "flip": lambda x: x.flip(3),
    "cumsum": lambda x: x.cumsum(1),
    "masked_fill": lambda x: x.masked_fill(x > 0, 0),
    "where": lambda x: torch.where(x > 0, x, 0),
    "sum over channels": lambda x: x.sum(1, keepdim=True),
    "to float64": lambda x: x.to(torch.float64),
    "clone": torch.clone,
    "contiguous": lambda x: x.contiguous(),
    "slice of channels": lambda x: x[:, 1:3],
    "flatten and back": lambda x: x.flatten(2).unflatten(2, x.shape[2:]),
}


def format_of(tensor: torch.Tensor) -> str:
    """Return ``"contiguous"``, ``"channels_last"``, ``"both"`` or ``"neither"``."""
    # TODO: two questions to the tensor, four answers.
    raise NotImplementedError("format_of")


def survey(
    operators: Mapping[str, Callable[[torch.Tensor], torch.Tensor]], device: str = "cpu"
) -> dict[str, str]:
    """Return, for each operator, the format of its result for a channels-last input."""
    # TODO: which sizes leave no doubt about the format of the input?
    raise NotImplementedError("survey")


def deciders(
    operator: Callable[[torch.Tensor, torch.Tensor], torch.Tensor], device: str = "cpu"
) -> set[str]:
    """Return which operand, alone in channels-last, makes the result channels-last."""
    # TODO: two experiments.
    raise NotImplementedError("deciders")
