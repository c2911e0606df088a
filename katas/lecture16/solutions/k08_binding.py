"""Perf: run a session without copies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Sequence

    import onnxruntime as ort


def run_into(session: ort.InferenceSession, x: torch.Tensor, out: torch.Tensor) -> None:
    """Run a session of one input and one output; write the answer into `out`.

    `out` is contiguous, and has the answer's shape and dtype. x may have any strides, and may
    require a gradient: a contiguous x is read in place, any other is copied first.
    """
    (source,), (target,) = session.get_inputs(), session.get_outputs()
    binding = session.io_binding()
    binding.bind_ortvalue_input(source.name, _shared(x))
    binding.bind_ortvalue_output(target.name, _shared(out))
    session.run_with_iobinding(binding)


def through(sessions: Sequence[ort.InferenceSession], x: torch.Tensor) -> torch.Tensor:
    """Return the last session's output; each session reads the previous one's output in place.

    Without sessions, return x. The answer stays in ONNX Runtime's memory: do not copy it.
    """
    if not sessions:
        return x
    held = _shared(x)
    for session in sessions:
        (source,), (target,) = session.get_inputs(), session.get_outputs()
        binding = session.io_binding()
        binding.bind_ortvalue_input(source.name, held)
        binding.bind_output(target.name, "cpu")
        session.run_with_iobinding(binding)
        (held,) = binding.get_outputs()
    return torch.from_dlpack(held)


def _shared(x: torch.Tensor) -> ort.OrtValue:
    """Return a view of a tensor's memory, of a copy's if there are gaps in it."""
    import onnxruntime as ort  # noqa: PLC0415 - optional: the tests say how to install it

    return ort.OrtValue.from_dlpack(x.detach().contiguous())
