"""Debug: the run that went on with another parameter's momentum."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING
from typing import Any


if TYPE_CHECKING:
    from torch.optim import Optimizer


def resume(optimizer: Optimizer, saved: dict[str, Any]) -> None:
    """Load by position, and deal the states out by name, in a hook of PyTorch's own."""

    def by_name(_: Optimizer, state: dict[str, Any]) -> dict[str, Any]:
        groups = state["param_groups"]
        old = list(chain.from_iterable(group["param_names"] for group in groups))
        new = list(chain.from_iterable(group["param_names"] for group in optimizer.param_groups))
        ids = list(chain.from_iterable(group["params"] for group in groups))
        by_names = {name: state["state"].get(at) for name, at in zip(old, ids, strict=True)}
        found = {at: by_names[name] for at, name in enumerate(new)}
        numbers = iter(found)
        return {
            "state": {at: entry for at, entry in found.items() if entry is not None},
            "param_groups": [
                {key: value for key, value in group.items() if key != "param_names"}
                | {"params": [next(numbers) for _ in mine["params"]]}
                for mine, group in zip(optimizer.param_groups, groups, strict=True)
            ],
        }

    if len(saved["param_groups"]) != len(optimizer.param_groups):
        raise ValueError("another number of groups")
    handle = optimizer.register_load_state_dict_pre_hook(by_name)
    try:
        optimizer.load_state_dict(saved)
    finally:
        handle.remove()
