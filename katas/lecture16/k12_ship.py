"""Ship it: export, check, open, compare, with the real API.

One function, called for each release, puts pieces of this lecture together. If the file
does not answer as the model does, the function raises, before a caller notices:

    model --export--> model.onnx --check and open--> session --compare--> session or ValueError
                      model.onnx.data

1. Export in eval mode into `folder`, with a dynamic first dim; then restore the modes.
2. Let ONNX's checker read the file: give it the path, not the bytes.
3. Open the file: `opened` is given.
4. Compare with the model, for each batch that was asked for. About 20 lines in all.

Begin with ``torch.onnx.export`` and ``program.save(path, external_data=True)``.
Afterwards read ``verify_onnx_program`` in ``torch/onnx/_internal/exporter/_verification.py``, in
site-packages: which batches does it try?

Real life differs: tolerances are agreed on for each output, and batches come from production.
"""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import onnxruntime as ort
    import torch
    from torch import nn


NAME = "model.onnx"


def opened(path: Path) -> ort.InferenceSession:
    """Return a session for a file, on the CPU, that logs nothing."""
    import onnxruntime as ort  # noqa: PLC0415 - optional: the tests say how to install it

    options = ort.SessionOptions()
    options.log_severity_level = 4
    return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def ship(
    model: nn.Module, folder: Path, batches: Sequence[torch.Tensor], tolerance: float = 1e-5
) -> ort.InferenceSession:
    """Export `model`, which takes one tensor, and return a session for the file.

    Export with the first of `batches` as the example, with its first dim dynamic. Compare every
    batch with ``torch.testing.assert_close``: rtol and atol are `tolerance`, NaN equals NaN. The
    weights go into a file next to NAME. The right answer is the model's in eval mode. Afterwards
    each module is back in the mode that it was in before, even if this raises.

    Raises
    ------
    ValueError
        If the file rejects a batch or gives a different answer for it. The message begins with the
        batch's shape, such as "(1, 4)".
    """
    # TODO: four steps, and the modes.
    raise NotImplementedError("ship")
