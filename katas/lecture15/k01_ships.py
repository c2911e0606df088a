"""Find out what an exported program carries to the phone.

A phone has no Python and no Module. What is left of yours?

    model = torch.nn.BatchNorm1d(3).eval()
    program = torch.export.export(model, (torch.randn(2, 3),))
    print(program)                       # weights are inputs of the graph, and each `if` is gone
    print(program.graph_signature.input_specs)
    print(program.state_dict.keys(), program.constants.keys())

Write `ships`, about 6 lines: which tensors travel with the program, and how many bytes each has.

Begin with the spec of ``running_mean``, then look at the input's.
Afterwards read ``InputSpec`` in ``torch/export/graph_signature.py``, in site-packages.
"""

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
    # TODO: the tensors by name, then the specs that have a target.
    raise NotImplementedError("ships")
