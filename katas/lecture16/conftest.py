"""Exports quietly, builds small ONNX models, and runs them. Shared by the tests of the lecture.

Neither ONNX nor ONNX Runtime need be installed for this module to be imported.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import io
import logging
import warnings
from typing import TYPE_CHECKING
from typing import Any
from typing import NamedTuple


if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Mapping
    from collections.abc import Sequence

    import numpy as np
    from torch import nn


# What the exporter targets here, and the newest file that this ONNX Runtime and older ones read.
OPSET, IR = 20, 10


class Case(NamedTuple):
    """One of ONNX's own tests of an operator."""

    name: str
    node: Any
    inputs: Sequence[np.ndarray[Any, Any]]
    outputs: Sequence[np.ndarray[Any, Any]]


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep what the exporter prints, warns and logs from the terminal."""
    loggers = [logging.getLogger(name) for name in ("torch.onnx", "torch._guards", "onnxscript")]
    levels = [each.level for each in loggers]
    for each in loggers:
        each.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        for each, level in zip(loggers, levels, strict=True):
            each.setLevel(level)


def exported(module: nn.Module, args: tuple[Any, ...], **options: Any) -> Any:
    """Return the ONNXProgram of a module, in eval mode unless it is in training."""
    import torch  # noqa: PLC0415 - takes a second

    with quiet():
        return torch.onnx.export(
            module, args, dynamo=True, verbose=False, opset_version=OPSET, **options
        )


def session(model: Any, **options: Any) -> Any:
    """Return an ONNX Runtime session of a ModelProto or of its bytes, on the CPU, in silence."""
    import onnxruntime as ort  # noqa: PLC0415 - may be missing

    chosen = ort.SessionOptions()
    chosen.log_severity_level = 4
    for name, value in options.items():
        setattr(chosen, name, value)
    data = model if isinstance(model, bytes) else model.SerializeToString()
    return ort.InferenceSession(data, chosen, providers=["CPUExecutionProvider"])


def run(model: Any, feed: Mapping[str, Any], **options: Any) -> list[Any]:
    """Return what ONNX Runtime makes of one feed."""
    found: list[Any] = session(model, **options).run(None, dict(feed))
    return found


def model_of(
    nodes: Sequence[Any],
    inputs: Mapping[str, Sequence[Any] | None],
    outputs: Mapping[str, Sequence[Any] | None],
    weights: Mapping[str, np.ndarray[Any, Any]] | None = None,
) -> Any:
    """Return a ModelProto of float32 inputs and outputs, by name and shape, and of weights."""
    from onnx import TensorProto  # noqa: PLC0415 - may be missing
    from onnx import helper  # noqa: PLC0415 - may be missing
    from onnx import numpy_helper  # noqa: PLC0415 - may be missing

    def values(named: Mapping[str, Sequence[Any] | None]) -> list[Any]:
        return [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
            for name, shape in named.items()
        ]

    kept = [numpy_helper.from_array(value, name) for name, value in (weights or {}).items()]
    graph = helper.make_graph([*nodes], "main_graph", values(inputs), values(outputs), kept)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR)


@functools.cache
def node_cases(module: str, kind: str) -> list[Case]:
    """Return ONNX's own tests of an operator: node, inputs, outputs, and the case's name.

    They are in the wheel, a module for each operator; generating those of one takes milliseconds.
    """
    place = importlib.import_module(f"onnx.backend.test.case.node.{module}")
    found: list[Case] = []

    def keep(node: Any, inputs: Any, outputs: Any, name: str, **_: Any) -> None:
        found.append(Case(name.removeprefix("test_"), node, inputs, outputs))

    original, place.expect = place.expect, keep  # type: ignore[attr-defined]
    try:
        for name, export in vars(getattr(place, kind)).items():
            if name.startswith("export"):
                export.__func__()
    finally:
        place.expect = original  # type: ignore[attr-defined]
    return found
