"""Find out what an exported program carries to the phone."""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from torch.export import ExportedProgram


def ships(program: ExportedProgram) -> dict[str, tuple[str, int]]:
    """Return kind and bytes of each tensor that the program needs and the caller does not pass.

    Keys are the names in the Module (``spec.target``); kinds are those of PyTorch's `InputKind`
    ("PARAMETER", "BUFFER", "CONSTANT_TENSOR"). Leave out a tensor that no instruction reads and
    the program does not return.
    """
    tensors = {**program.state_dict, **program.constants}
    read = {node.name for node in program.graph.nodes if node.users}
    return {
        spec.target: (spec.kind.name, tensors[spec.target].nbytes)
        for spec in program.graph_signature.input_specs
        if spec.target in tensors and spec.arg.name in read
    }
