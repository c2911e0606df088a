"""A result whose size depends on data: fake kernels for NMS, and torchvision 0.28's."""

from __future__ import annotations

from functools import partial

import torch


# Given: register a fake kernel for an operator that may already have one.
override = partial(torch.library.register_fake, allow_override=True)


def iou(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """Return the IoU of each pair of boxes, float64 [n, m]. Given: as in k02."""
    a, b = first.double()[:, None], second.double()
    sides = torch.minimum(a[..., 2:], b[..., 2:]) - torch.maximum(a[..., :2], b[..., :2])
    both = sides.clamp(min=0).prod(-1)
    areas = (a[..., 2:] - a[..., :2]).prod(-1) + (b[..., 2:] - b[..., :2]).prod(-1)
    union = areas - both
    return torch.where(union > 0, both / union, 0.0)


@torch.library.custom_op(
    "lecture20_k05::split",
    mutates_args=(),
    schema="(Tensor boxes, Tensor scores, float threshold) -> (Tensor kept, Tensor dropped)",
)
def split(
    boxes: torch.Tensor, scores: torch.Tensor, threshold: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the indices of the boxes that NMS keeps, and of those that it drops. Given."""
    left, kept = scores.argsort(descending=True, stable=True), torch.zeros(len(scores)).bool()
    while len(left):
        kept[left[0]] = True
        left = left[1:][iou(boxes[left[:1]], boxes[left[1:]])[0] <= threshold]
    return kept.nonzero()[:, 0], (~kept).nonzero()[:, 0]


@split.register_fake
def fake_split(
    boxes: torch.Tensor,
    scores: torch.Tensor,
    threshold: float,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return two tensors without data, like those of `split` in size, dtype and device.

    Any number of boxes may be kept, even 0. All others are dropped: the two sizes add up to n. You
    need not say that at most n are kept.
    """
    k = torch.library.get_ctx().new_dynamic_size()
    kept = boxes.new_empty(k, dtype=torch.int64)
    return kept, boxes.new_empty(boxes.shape[0] - k, dtype=torch.int64)


def exported(
    model: torch.nn.Module, boxes: torch.Tensor, scores: torch.Tensor
) -> torch.export.ExportedProgram:
    """Export model(boxes, scores) for any number of boxes, with one Dim; the two are examples."""
    n = torch.export.Dim("n")
    return torch.export.export(model, (boxes, scores), dynamic_shapes=({0: n}, {0: n}))


def mend(name: str) -> None:
    """Give the operator `name`, such as "torchvision::nms", a new fake kernel.

    The operator takes boxes, scores and a threshold, and returns the indices of the boxes that it
    keeps, int64 [k], on the device of the boxes. k may be any number, even 0.
    """

    def fake(boxes: torch.Tensor, *_: object) -> torch.Tensor:
        return boxes.new_empty(torch.library.get_ctx().new_dynamic_size(), dtype=torch.int64)

    override(name, fake)
