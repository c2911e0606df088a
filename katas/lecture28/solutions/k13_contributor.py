"""Four ways to implement an operator, in thousands of entries."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import torch


def entries() -> dict[str, dict[str, Any]]:
    """Return the entries of native_functions.yaml by operator. Given.

    `dispatch` maps dispatch keys to kernels and may be empty; every other field is a string.
    """
    packages = Path(torch.__file__).parents[1]
    file = packages / "torchgen/packaged/ATen/native/native_functions.yaml"
    found = {}
    for text in re.split(r"^- (?=func: )", file.read_text("utf-8"), flags=re.MULTILINE)[1:]:
        # One field per line; deeper lines belong to the field above them.
        lines = re.findall(r"^(?:  )?(\w+): *(.+?) *(?:#.*)?$", text, re.MULTILINE)
        fields: dict[str, Any] = dict(lines)
        table = re.search(r"^  dispatch:.*\n((?:    .*\n?)*)", text, re.MULTILINE)
        if table:
            lines = re.findall(r"^    (\w[\w, ]*): *(\w\S*)", table[1], re.MULTILINE)
            fields["dispatch"] = {
                key: kernel for keys, kernel in lines for key in keys.replace(" ", "").split(",")
            }
        found[fields["func"].partition("(")[0]] = fields
    return found


def kind(entry: dict[str, Any]) -> str:
    """Return how an operator is implemented: the first kind that applies.

    - "structured": it has a separate meta function and kernel, or delegates to an operator with
      both.
    - "implicit": CompositeImplicitAutograd, composed of operators with derivatives. The default
      without a `dispatch`.
    - "explicit": CompositeExplicitAutograd or CompositeExplicitAutogradNonFunctional; it has its
      own formula.
    - "backend": a kernel for each backend, or an empty `dispatch`.
    """
    if "structured" in entry or "structured_delegate" in entry:
        return "structured"
    keys = entry.get("dispatch", {"CompositeImplicitAutograd"})
    if "CompositeImplicitAutograd" in keys:
        return "implicit"
    if any(key.startswith("CompositeExplicitAutograd") for key in keys):
        return "explicit"
    return "backend"


def census() -> Counter[str]:
    """Return the number of operators of each kind. Given."""
    return Counter(map(kind, entries().values()))
