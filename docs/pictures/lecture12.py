"""Draws the lr of a run and its two surprises, the picture of lecture 12."""

from __future__ import annotations

import warnings

import torch
from torch.optim import lr_scheduler

from docs.pictures.drawing import EDGE
from docs.pictures.drawing import document
from docs.pictures.drawing import text


def svg() -> str:
    """Draw the lr of a run: a warmup, an edit by hand, a milestone, a cosine and what follows."""
    milestone, end, steps, edit = 6, 10, 24, 3
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
    group = optimizer.param_groups[0]
    warmup = lr_scheduler.LinearLR(optimizer, 0.1, total_iters=milestone)
    cosine = lr_scheduler.CosineAnnealingLR(optimizer, end)
    scheduler = lr_scheduler.SequentialLR(optimizer, [warmup, cosine], [milestone])
    lrs = []
    for step in range(steps):
        if step == edit:
            group["lr"] /= 5
        lrs.append(float(group["lr"]))
        optimizer.step()
        with warnings.catch_warnings():
            # Earlier versions warn of a call of their own, at the milestone.
            warnings.simplefilter("ignore")
            scheduler.step()
    top, tall, wide = 50, 144, 28
    parts = (
        (0, edit, "warmup", "blue"),
        (edit, milestone, "by hand", "gold"),
        (milestone, milestone + end, "milestone, then a cosine", "blue"),
        (milestone + end, steps, "after T_max", "gold"),
    )
    shapes = []
    for start, stop, title, colour in parts:
        shapes.append(text(EDGE + wide * start, 32, title, "b"))
        for step in range(start, stop):
            high = round(tall * lrs[step])
            shapes.append(
                f'<rect x="{EDGE + wide * step}" y="{top + tall - high}" width="{wide - 6}"'
                f' height="{high}" class="{colour}"/>'
                f"{text(EDGE + wide * step + wide / 2 - 3, top + tall + 20, str(step), 'c m')}"
            )
    words = "lr over the steps; gold is what is not in the plan"
    shapes.append(text(EDGE, top + tall + 48, words, "c"))
    width, height = 2 * EDGE + wide * steps, top + tall + 68
    return document(
        width,
        height,
        title="The lr of a run, and two surprises",
        description="The lr by step: " + ", ".join(f"{lr:.2f}" for lr in lrs),
        shapes=shapes,
    )
