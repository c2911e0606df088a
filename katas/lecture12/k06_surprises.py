"""Predict what a scheduler does behind your back.

Run a notebook cell twice, and the lr has changed. Train past T_max: at which lr? Edit the lr by
hand, and an hour later the old one is back.

    t       0     1     2     3     4  ...   8
    lr    1.0  0.85   0.5  0.15   0.0        ?      CosineAnnealingLR(optimizer, T_max=4)

Below are six short programs. What is the lr at the end of each?

Begin with "constructor": it takes no step. Is the lr still 1.0?
Afterwards read ``LRScheduler`` in ``torch/optim/lr_scheduler.py``, in site-packages.
"""

from __future__ import annotations


# Each begins with lr = 1.0. The schedulers are in torch.optim.lr_scheduler; `run` trains for
# `steps` steps, with scheduler.step() after each, and `set_lr` is an edit by hand.
PROGRAMS = {
    "constructor": """
LinearLR(optimizer, start_factor=0.25)
""",
    "built_again": """
LinearLR(optimizer, start_factor=0.25)
LinearLR(optimizer, start_factor=0.25)
""",
    "after_the_end": """
run(CosineAnnealingLR(optimizer, T_max=4), steps=8)
""",
    "edit_exponential": """
scheduler = ExponentialLR(optimizer, gamma=0.5)
set_lr(8.0)
run(scheduler, steps=1)
""",
    "edit_lambda": """
scheduler = LambdaLR(optimizer, lambda t: 0.5**t)
set_lr(8.0)
run(scheduler, steps=1)
""",
    "edit_milestone": """
parts = [ConstantLR(optimizer, factor=0.5, total_iters=9), ExponentialLR(optimizer, gamma=0.5)]
scheduler = SequentialLR(optimizer, parts, milestones=[2])
set_lr(8.0)
run(scheduler, steps=2)
""",
}


def last_lr() -> dict[str, float]:
    """Return, for each program, the lr of the optimizer's group at its end, to within 0.0001."""
    # TODO: return {"constructor": ..., ...}
    raise NotImplementedError("last_lr")
