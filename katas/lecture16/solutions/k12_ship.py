"""Ship it: export, check, open, compare, with the real API."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import onnxruntime as ort
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
    import onnx  # noqa: PLC0415 - optional: the tests say how to install it

    modes = [(each, each.training) for each in model.modules()]
    try:
        expected = [model.eval()(x) for x in batches]
        shapes = ({0: torch.export.Dim("batch")},)
        program = torch.onnx.export(model, (batches[0],), dynamic_shapes=shapes)
    finally:
        for each, mode in modes:
            each.training = mode
    program.save(folder / NAME, external_data=True)
    onnx.checker.check_model(folder / NAME)
    session = opened(folder / NAME)
    (entry,) = session.get_inputs()
    close = {"rtol": tolerance, "atol": tolerance, "equal_nan": True}
    for x, right in zip(batches, expected, strict=True):
        try:
            (y,) = session.run(None, {entry.name: x.numpy()})
            torch.testing.assert_close(torch.from_numpy(y), right, **close)
        except Exception as error:
            raise ValueError(f"{tuple(x.shape)}: {error}") from error
    return session
