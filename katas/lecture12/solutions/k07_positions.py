"""Debug: a resumed run with the wrong momenta."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any


if TYPE_CHECKING:
    from torch.optim import Optimizer


def resume(optimizer: Optimizer, saved: dict[str, Any]) -> None:
    """Load the state dict `saved` so that each parameter gets the state saved under its name."""
    groups = saved["param_groups"]
    places = {n: i for g in groups for n, i in zip(g["param_names"], g["params"], strict=True)}
    moved = []
    for mine, group in zip(optimizer.param_groups, groups, strict=True):
        # PyTorch pairs these lists with its own parameters, so they come in its order.
        names = mine["param_names"]
        moved.append(group | {"param_names": names, "params": [places[name] for name in names]})
    # PyTorch keeps a state without a parameter, and saves it under a number that another has.
    kept = {i: s for i, s in saved["state"].items() if any(i in g["params"] for g in moved)}
    optimizer.load_state_dict({"state": kept, "param_groups": moved})
