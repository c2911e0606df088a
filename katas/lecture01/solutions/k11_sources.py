"""Find the files on your disk that define an operator."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import torch


# Given: do not change. The folder in which torch is installed.
SITE = Path(torch.__file__).parents[1]


@cache
def read(path: str) -> str:
    """Return the text of a file in `SITE`; "" if there is none."""
    file = SITE / path
    return file.read_text(encoding="utf-8") if file.is_file() else ""


SCHEMAS = "torchgen/packaged/ATen/native/native_functions.yaml"
FORMULAS = "torchgen/packaged/autograd/derivatives.yaml"
FUNCTIONS = "torch/_C/_VariableFunctions.pyi"


def homes(name: str) -> set[str]:
    """Return which of these places contain the operator `name`, in any overload ("add.Tensor").

    - "schema": `SCHEMAS`, in a line that begins with "- func: ".
    - "formula": `FORMULAS`, in a line that begins with "- name: ".
    - "function": `FUNCTIONS`, in a line that begins with "def ".
    - "header": there is a file torch/include/ATen/ops/NAME_ops.h.
    """
    places = {"schema": (SCHEMAS, "- func: "), "formula": (FORMULAS, "- name: ")}
    places["function"] = (FUNCTIONS, "def ")
    found = set()
    for place, (path, start) in places.items():
        if any(f"\n{start}{name}{end}" in read(path) for end in ("(", ".")):
            found.add(place)
    header = read(f"torch/include/ATen/ops/{name}_ops.h")
    return found | {"header"} if header else found
