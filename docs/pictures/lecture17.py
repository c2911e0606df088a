"""Draws one image and six maps of it, of a network that has learned and of a random one.

The picture of lecture 17. The maps are computed by PyTorch, in float64; each has its own limit, and
colours have four levels, so that the last digits do not show.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import torch
from torch import nn

from docs.pictures.drawing import EDGE
from docs.pictures.drawing import document
from docs.pictures.drawing import text


if TYPE_CHECKING:
    from collections.abc import Callable


SIDE, LEVELS, STEPS = 8, 4, 40
# From which rank correlation on a map has not noticed.
UNMOVED = 0.9
# In pixels: a cell, from one map to the next, and where the rows begin.
CELL, WIDE, TOPS = 11, 108, (70, 210)
ROWS = ("trained", "random")


def images(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return noisy images with a standing bar (class 1) or a lying one (class 0)."""
    dice = torch.Generator().manual_seed(11)
    x = 0.25 * torch.randn(count, 1, SIDE, SIDE, generator=dice, dtype=torch.float64)
    y, place = torch.arange(count) % 2, torch.randint(0, SIDE, (count,), generator=dice)
    for image, standing, k in zip(x, y, place, strict=True):
        image[0, :, k] += standing
        image[0, k, :] += 1 - standing
    return x, y


def networks() -> tuple[nn.Module, nn.Module]:
    """Return a network that has learned them, and a copy with other random layers."""
    torch.manual_seed(6)
    layers = (nn.Conv2d(1, 6, 3, padding=1), nn.ReLU(), nn.Conv2d(6, 6, 3, padding=1), nn.ReLU())
    model = nn.Sequential(*layers, nn.Flatten(), nn.Linear(6 * SIDE * SIDE, 2)).double()
    x, y = images(128)
    parameters = [*model.parameters()]
    speeds = [torch.zeros_like(p) for p in parameters]
    for _ in range(60):
        grads = torch.autograd.grad(nn.functional.cross_entropy(model(x), y), parameters)
        with torch.no_grad():
            for p, speed, grad in zip(parameters, speeds, grads, strict=True):
                p.sub_(speed.mul_(0.9).add_(grad), alpha=0.05)
    forgot = copy.deepcopy(model)
    for layer in forgot:
        if isinstance(layer, nn.Conv2d | nn.Linear):
            layer.reset_parameters()
    return model, forgot


def slope(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    """Return the gradient of logit 1."""
    z = x.clone().requires_grad_()
    (found,) = torch.autograd.grad(model(z)[0, 1], z)
    return found


def integrated(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    """Return integrated gradients from black."""
    return x * sum(slope(model, x * (k + 0.5) / STEPS) for k in range(STEPS)) / STEPS


def occlusion(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    """Return what logit 1 loses with each pixel."""
    hidden = x.repeat(SIDE * SIDE, 1, 1, 1)
    hidden.view(SIDE * SIDE, -1).fill_diagonal_(0.0)
    with torch.no_grad():
        lost: torch.Tensor = model(x)[0, 1] - model(hidden)[:, 1]
    return lost.view_as(x)


def grad_cam(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    """Return the cam of the second convolution."""
    layers = [*model.children()]
    first, last = nn.Sequential(*layers[:3]), nn.Sequential(*layers[3:])
    maps = first(x).detach().requires_grad_()
    (grads,) = torch.autograd.grad(last(maps)[0, 1], maps)
    return torch.sum(grads.mean((2, 3), keepdim=True) * maps, 1, keepdim=True).detach()


def edges(_model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    """Return a map that does not read the network."""
    return nn.functional.pad(x.diff(dim=-1), (0, 1)).abs()


MAPS: dict[str, Callable[[nn.Module, torch.Tensor], torch.Tensor]] = {
    "gradient": slope,
    "x gradient": lambda model, x: x * slope(model, x),
    "integrated": integrated,
    "occlusion": occlusion,
    "Grad-CAM": grad_cam,
    "edges": edges,
}


def correlation(a: torch.Tensor, b: torch.Tensor) -> float:
    """Return the rank correlation of two maps."""
    ranks = []
    for values in (a.flatten(), b.flatten()):
        below, equal = (values[:, None] > values).sum(1), (values[:, None] == values).sum(1)
        ranks.append(below + equal / 2)
    return float(torch.corrcoef(torch.stack(ranks))[0, 1])


def cells(values: torch.Tensor, left: int, top: int) -> list[str]:
    """Return a square for each value: gold above 0, blue below, and paler towards 0."""
    size, limit = CELL * SIDE, values.abs().max()
    found = [f'<rect x="{left}" y="{top}" width="{size}" height="{size}"/>']
    for i, row in enumerate(values.view(SIDE, SIDE)):
        for j, value in enumerate(row):
            if level := round(LEVELS * (value / limit).item()):
                place = f'x="{left + CELL * j}" y="{top + CELL * i}" width="{CELL}" height="{CELL}"'
                look = (
                    f'class="{"gold" if level > 0 else "blue"}" opacity="{abs(level) / LEVELS:g}"'
                )
                found.append(f"<rect {place} {look}/>")
    return found


def svg() -> str:
    """Draw the image and its maps, for both networks, and the rank correlation of each pair."""
    x = images(2)[0][1:]
    models = networks()
    shapes = [text(EDGE, 54, "image"), text(EDGE, TOPS[1] - 16, "random layers", "b")]
    shapes.append(text(EDGE, 30, "trained", "b"))
    shapes += cells(x, EDGE, TOPS[0])
    told = []
    for place, (name, method) in enumerate(MAPS.items(), 1):
        left = EDGE + WIDE * place
        shapes.append(text(left, 54, name))
        found = [method(model, x) for model in models]
        for values, top in zip(found, TOPS, strict=True):
            shapes += cells(values, left, top)
        same = correlation(*found)
        words = f"same {same:.1f}".replace("-0.0", "0.0")
        shapes.append(text(left, TOPS[1] + CELL * SIDE + 20, words, "b" if same > UNMOVED else "c"))
        told.append(f"{name} {words.removeprefix('same ')}")
    width, height = EDGE + WIDE * (len(MAPS) + 1), TOPS[1] + CELL * SIDE + 40
    return document(
        width,
        height,
        title="Six maps of one image, for a trained network and for one with random layers",
        description=f"Rank correlations of both networks' maps: {', '.join(told)}",
        shapes=shapes,
    )
