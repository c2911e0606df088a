"""Explore: what became of your operators.

You export a network and look for its layers. Some are there under a different name, one is two
nodes, one is nowhere, and a `Conv` says that it was a BatchNorm:

    program = torch.onnx.export(model, (x,), dynamo=True)
    for node in program.model_proto.graph.node:
        print(node.op_type, {entry.key: entry.value for entry in node.metadata_props})

Each ONNX node carries the name of the FX node that it was made for. Write `became`, about 7 lines.

Begin by running these lines on a model of yours.
Afterwards read ``_set_node_metadata`` in ``torch/onnx/_internal/exporter/_core.py``, in
site-packages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    import torch


def became(program: torch.onnx.ONNXProgram) -> dict[str, list[str]]:
    """Return the ONNX operators made for each operator call in the exported program.

    The keys are the names of the ``call_function`` nodes of ``program.exported_program.graph``, in
    their order; a call with no ONNX operators has an empty list. Do not modify `program`.
    """
    # TODO: an empty list for each call; then one look at each ONNX node. Its name scopes are a
    # Python list as text, and the last one is the FX node's name.
    raise NotImplementedError("became")
