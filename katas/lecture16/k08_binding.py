"""Perf: run a session without copies.

``session.run`` takes NumPy arrays and returns new ones, in the CPU's memory: it cannot write into
your tensor, and on a GPU each model of a chain copies its answer to the CPU, and the next one
copies it back. An `OrtValue` and an IOBinding leave data where it is. So does a bare address, but:

    x = images.to(memory_format=torch.channels_last)            # shape [1, 3, 8, 8], as before
    binding.bind_input("x", "cpu", 0, np.float32, list(x.shape), x.data_ptr())
    session.run_with_iobinding(binding)                         # no error, and a different picture

An ONNX tensor has no strides. DLPack carries them, and ONNX Runtime refuses what it cannot read.

1. `run_into`: read x where it is, and write the answer into the memory of `out`.
2. `through`: several sessions, with no NumPy in between. About 15 lines in all.

Begin with ``OrtValue.from_dlpack(x).data_ptr()`` and ``x.data_ptr()``.
Afterwards read ``from_dlpack`` in ``torch/utils/dlpack.py``, in site-packages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Sequence

    import onnxruntime as ort
    import torch


def run_into(session: ort.InferenceSession, x: torch.Tensor, out: torch.Tensor) -> None:
    """Run a session of one input and one output; write the answer into `out`.

    `out` is contiguous, and has the answer's shape and dtype. x may have any strides, and may
    require a gradient: a contiguous x is read in place, any other is copied first.
    """
    # TODO: an IOBinding of two OrtValues.
    raise NotImplementedError("run_into")


def through(sessions: Sequence[ort.InferenceSession], x: torch.Tensor) -> torch.Tensor:
    """Return the last session's output; each session reads the previous one's output in place.

    Without sessions, return x. The answer stays in ONNX Runtime's memory: do not copy it.
    """
    # TODO: an output may be bound to a device, "cpu", instead of an OrtValue.
    raise NotImplementedError("through")
