"""Predict what a scheduler does behind your back."""

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
    return {
        "constructor": 0.25,
        "built_again": 0.0625,
        "after_the_end": 1.0,
        "edit_exponential": 4.0,
        "edit_lambda": 0.5,
        "edit_milestone": 1.0,
    }
