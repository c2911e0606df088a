"""Exports quietly, builds small ONNX models, and runs them. Shared by the tests of the lecture.

This module can be imported without ONNX and ONNX Runtime.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import io
import logging
import warnings
from types import SimpleNamespace
from typing import TYPE_CHECKING
from typing import Any
from typing import NamedTuple
from unittest import mock


if TYPE_CHECKING:
    from collections.abc import Callable
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


class Part(NamedTuple):
    """A program, what it is exported with, and how many tensors it returns."""

    program: Callable[..., Any]
    args: tuple[Any, ...]
    open: bool = True
    outputs: int = 1


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep what the exporter prints, warns and logs from the terminal, and make it faster.

    Each export spends a third of its time on parsing the source of 500 translations, only to get
    their domains, which it already has.
    """
    from onnxscript import values  # noqa: PLC0415 - may be missing

    parsed = property(lambda self: SimpleNamespace(domain=self.opset.domain))
    loggers = [logging.getLogger(name) for name in ("torch.onnx", "torch._guards", "onnxscript")]
    levels = [each.level for each in loggers]
    for each in loggers:
        each.setLevel(logging.CRITICAL)
    try:
        with (
            warnings.catch_warnings(),
            contextlib.redirect_stdout(io.StringIO()),
            mock.patch.object(values.TracedOnnxFunction, "function_ir", parsed),
        ):
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


class File:
    """One file that holds several programs, side by side: an export takes a second or more."""

    def __init__(self, parts: Mapping[str, Part]) -> None:
        """Export all parts together; `open` leaves the first dim of a part's first input open."""
        import torch  # noqa: PLC0415 - takes a second
        from torch import nn  # noqa: PLC0415 - takes a second

        # Without torch installed mypy knows no Module.
        class Together(nn.Module):  # type: ignore[misc, unused-ignore]
            def forward(self, of: dict[str, list[Any]]) -> dict[str, Any]:
                return {name: parts[name].program(*args) for name, args in of.items()}

        self.parts = parts
        shapes = {
            name: [{0: torch.export.Dim(name)} if part.open else None, *[None] * len(part.args[1:])]
            for name, part in parts.items()
        }
        # Lists, since the exporter turns tuples in `dynamic_shapes` into lists before it compares.
        # Clones, since the sizes of a tensor that is passed twice would be the same symbol.
        examples = {name: [x.clone() for x in part.args] for name, part in parts.items()}
        made = Together()
        # Register the modules, or the exporter does not find them.
        made.found = nn.ModuleDict(
            {
                name: part.program
                for name, part in parts.items()
                if isinstance(part.program, nn.Module)
            }
        )
        program = exported(made.eval(), (), kwargs={"of": examples}, dynamic_shapes={"of": shapes})
        self.session = session(program.model_proto)

    def size(self, name: str) -> int | str:
        """Return the first size of a part's first input: a name if the file leaves it open."""
        before = list(self.parts)[: list(self.parts).index(name)]
        place = sum(len(self.parts[key].args) for key in before)
        found: int | str = self.session.get_inputs()[place].shape[0]
        return found

    def ask(self, name: str, *args: Any) -> list[Any]:
        """Return the file's answer for one part; the other parts get their examples."""
        given = {key: part.args for key, part in self.parts.items()} | {name: args}
        feeds = [x.numpy() for xs in given.values() for x in xs]
        names = [each.name for each in self.session.get_inputs()]
        found = iter(self.session.run(None, dict(zip(names, feeds, strict=True))))
        answers = {key: [next(found) for _ in range(p.outputs)] for key, p in self.parts.items()}
        return answers[name]


class Files:
    """One file of several programs; if one of them cannot be exported, a file for each."""

    def __init__(self, parts: Mapping[str, Part]) -> None:
        self.parts = parts
        self.found: dict[str, File | str] = {}

    def __getitem__(self, name: str) -> File:
        """Return a file that contains this program."""
        __tracebackhide__ = True
        if not self.found:
            together = self.exported(*self.parts)
            self.found = dict.fromkeys(self.parts, together)
        if isinstance(self.found[name], str):
            self.found[name] = self.exported(name)
        found = self.found[name]
        assert isinstance(found, File), f"{name} cannot be exported: {found}"
        return found

    def exported(self, *names: str) -> File | str:
        """Return a file with these programs, or the exporter's error."""
        import torch  # noqa: PLC0415 - takes a second

        try:
            return File({name: self.parts[name] for name in names})
        except torch.onnx.OnnxExporterError as error:
            return " ".join(str(error.__cause__ or error).split())[:300]


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
    """Return ONNX Runtime's outputs for one feed."""
    found: list[Any] = session(model, **options).run(None, dict(feed))
    return found


def model_of(
    nodes: Sequence[Any],
    inputs: Mapping[str, Sequence[Any] | None],
    outputs: Mapping[str, Sequence[Any] | None],
    weights: Mapping[str, np.ndarray[Any, Any]] | None = None,
) -> Any:
    """Return a ModelProto with weights and with float32 inputs and outputs of these shapes."""
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

    The wheel has a module of them for each operator; generating its cases takes milliseconds.
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
