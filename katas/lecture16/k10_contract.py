"""A contract next to the model.

A model of 2 GB is two files: the graph, and its weights. Four kilobytes of the second file are
overwritten, and the model loads as before. A caller sends a mask with a different batch size from
x, and still gets an answer:

    model.onnx          x: float32 ["batch", 8]   mask: float32 ["batch"]
    model.onnx.data     weights, of which model.onnx knows name, offset and length
    contract.json       what was promised: inputs, outputs, and a hash of each file

1. `seal` writes the contract when a model is released.
2. `changed` lists the files that differ from the release.
3. `sizes` checks a request before the session sees it. About 20 lines in all.

Begin with ``hashlib.file_digest``: it reads a file piece by piece.
Afterwards read ``ONNXProgram.save`` in ``torch/onnx/_internal/exporter/_onnx_program.py``, in
site-packages: from which size on does it write two files?
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING
from typing import Any


if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import numpy as np

    # For each value, by name: its dtype, as in `array.dtype.name` ("float32"), and its sizes,
    # each a number, or a name for a size that may be anything.
    Promised = Mapping[str, tuple[str, list[int | str]]]


NAME = "contract.json"


def contract(folder: Path) -> dict[str, Any]:
    """Return what was sealed: "inputs", "outputs" and "sha256"."""
    found: dict[str, Any] = json.loads((folder / NAME).read_text(encoding="utf-8"))
    return found


def seal(folder: Path, inputs: Promised, outputs: Promised) -> None:
    """Write the contract of the files in `folder`; there may be any number of them.

    "sha256" maps each file's name to its hexadecimal hash, but leaves out the contract itself, so
    that you can seal twice. Equal files and promises give equal bytes.
    """
    # TODO: a dict with three keys, sorted, as JSON.
    raise NotImplementedError("seal")


def changed(folder: Path) -> list[str]:
    """Return the names of files that were changed, removed or added after sealing, sorted."""
    # TODO: compare the files that are there now with those that were sealed.
    raise NotImplementedError("changed")


def sizes(promised: Promised, feeds: Mapping[str, np.ndarray[Any, Any]]) -> dict[str, int]:
    """Return the sizes that have a name, as {"batch": 3}.

    Raises
    ------
    ValueError
        Its message begins with the name of an input that is missing or not promised, or has a
        different dtype, number of dims or size than promised. A named size is the same in all
        inputs.
    """
    # TODO: names first, then one input after the other.
    raise NotImplementedError("sizes")
