"""Explore: what became of your operators."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    import torch


def became(program: torch.onnx.ONNXProgram) -> dict[str, list[str]]:
    """Return the ONNX operators made for each operator call in the exported program.

    The keys are the names of the ``call_function`` nodes of ``program.exported_program.graph``, in
    their order; a call with no ONNX operators has an empty list. Do not modify `program`.
    """
    found = {n.name: [] for n in program.exported_program.graph.nodes if n.op == "call_function"}
    for node in program.model_proto.graph.node:
        about = {entry.key: entry.value for entry in node.metadata_props}
        scopes = ast.literal_eval(about["pkg.torch.onnx.name_scopes"])
        found[scopes[-1]].append(node.op_type)
    return found
