"""The keys under which an operator has kernels, from the dispatcher's dump."""

from __future__ import annotations

import torch


def kernels(name: str) -> set[str]:
    """Return the dispatch keys under which an operator, such as "aten::relu", has a kernel.

    Include only those registered for the operator itself, as the dispatcher prints them: "CPU",
    "Autograd".
    Keys that the dump calls inactive are the same registrations again.
    """
    lines = torch._C._dispatch_dump(name).splitlines()  # noqa: SLF001 - it has no public name
    keys = (line.split(": registered at")[0] for line in lines if ": registered at" in line)
    return {key.removesuffix("[alias]") for key in keys if key != "debug" and "(" not in key}
