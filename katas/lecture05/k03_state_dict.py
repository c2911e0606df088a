"""Save a Module, and load it again.

You train, save, load, and a week later find that the optimizer has been training tensors that the
model no longer uses. Loading need not cause that:

    layer = torch.nn.Linear(2, 2)
    weight = layer.weight
    layer.load_state_dict({"weight": torch.eye(2), "bias": torch.zeros(2)})
    print(layer.weight is weight, weight)          # True, and the new values

A state dict is flat: its keys encode the tree. Write `Module.state_dict` and
`Module.load_state_dict`, about 16 lines. The tests pass your state dicts to PyTorch's Modules, and
theirs to yours.

Begin on paper: which keys does ``Sequential(Linear(2, 2), BatchNorm1d(2))`` have, in which order?
Afterwards read ``Module._save_to_state_dict`` and ``Module._load_from_state_dict`` in
``torch/nn/modules/module.py``, in site-packages. Real life differs: there each class may customise
loading, and a version identifies old checkpoints.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

from torch.nn import Parameter


if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Sequence

    import torch


class Module:
    """Keeps parameters, buffers and modules; `state_dict` and `load_state_dict` are yours."""

    def __init__(self) -> None:
        # Given. An entry of the first three may be None.
        self.__dict__.update(_parameters={}, _buffers={}, _modules={}, _unsaved=set())

    def __setattr__(self, name: str, value: Any) -> None:
        """Put parameters and modules into their drawers. Given."""
        kinds = {Parameter: self._parameters, Module: self._modules}
        homes = [drawer for kind, drawer in kinds.items() if isinstance(value, kind)]
        (homes[0] if homes else self.__dict__)[name] = value

    def __getattr__(self, name: str) -> Any:
        """Look into the drawers. Given."""
        for drawer in ("_parameters", "_buffers", "_modules"):
            if name in self.__dict__.get(drawer, ()):
                return self.__dict__[drawer][name]
        raise AttributeError(name)

    def register_buffer(
        self,
        name: str,
        tensor: torch.Tensor | None,
        persistent: bool = True,  # noqa: FBT001, FBT002
    ) -> None:
        """Keep a tensor; if it is not persistent, its name goes to ``_unsaved``. Given."""
        self._buffers[name] = tensor
        if not persistent:
            self._unsaved.add(name)

    def state_dict(self, prefix: str = "") -> dict[str, torch.Tensor]:
        """Return all tensors in the tree by path, detached, sharing the module's memory.

        For each module, list first the parameters, then the buffers, then the children. Leave out
        None and buffers that are not persistent. A tensor with two paths has two keys.
        """
        # TODO: the keys of a child begin with its name and a dot.
        raise NotImplementedError("Module.state_dict")

    def load_state_dict(
        self, state: Mapping[str, torch.Tensor], *, strict: bool = True
    ) -> tuple[list[str], list[str]]:
        """Copy `state` into the tensors of the tree; return the missing and the unexpected keys.

        The tensors stay the same objects, with their dtypes. Do not load a key whose shape differs,
        but load the others. At the end, raise ``problem(missing, unexpected, misshapen)`` if a
        shape differs, or if `strict` is true and a key is missing or unexpected.
        """
        # TODO: what does state_dict give you to write into?
        raise NotImplementedError("Module.load_state_dict")


def problem(
    missing: Sequence[str], unexpected: Sequence[str], misshapen: Sequence[str]
) -> RuntimeError:
    """Return the error for a state dict that does not fit. Given."""
    return RuntimeError(
        f"missing: {', '.join(missing)}; unexpected: {', '.join(unexpected)}; "
        f"other shapes: {', '.join(misshapen)}"
    )
