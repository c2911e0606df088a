"""Predict for which batch sizes an exported program runs.

You export with a batch of 4, and the phone sends 3. Sometimes `torch.export` fixes the size and
raises nothing: the example decides. Run one of the rows:

    class Twice(torch.nn.Module):
        def forward(self, x):
            return x * 2

    shapes = {"x": {0: torch.export.Dim.AUTO}}
    program = torch.export.export(Twice(), (torch.ones(4, 4),), dynamic_shapes=shapes)
    program.module()(torch.ones(2, 4))

Fill in `runs`, six rows. Begin with "named". Afterwards read the docstring of ``Dim`` in
``torch/export/dynamic_shapes.py``, in site-packages.
"""

from __future__ import annotations


# What forward returns, the batch of the example, and the spec of its size.
PROGRAMS: dict[str, tuple[str, int, str]] = {
    "named": ("x * 2", 4, 'Dim("batch", max=8)'),
    "named_fixed": ("x + torch.ones(4, 4)", 4, 'Dim("batch", max=8)'),
    "auto": ("x * 2", 4, "Dim.AUTO"),
    "auto_of_one": ("x * 2", 1, "Dim.AUTO"),
    "auto_fixed": ("x + torch.ones(4, 4)", 4, "Dim.AUTO"),
    "auto_if": ("x * 2 if x.shape[0] > 3 else x", 4, "Dim.AUTO"),
}
BATCHES = (1, 2, 3, 4, 6, 9)


def runs() -> dict[str, tuple[int, ...]]:
    """Return which of `BATCHES` each program runs; () if `torch.export` itself raises."""
    # TODO: return {"named": (1, ...), ...}
    raise NotImplementedError("runs")
