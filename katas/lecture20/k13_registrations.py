"""Explore: find out who fills an operator's keys.

An operator is a name and a row of kernels. Somebody wrote the CPU kernel in C++, somebody else the
gradient in Python, and nobody a batching rule. The dispatcher knows who:

    print(torch._C._dispatch_dump("aten::grid_sampler_2d"))

Write `row`, about 7 lines.

Begin with that dump: which of KEYS does it leave to nobody?
Afterwards ask about torchvision::nms and torchvision::deform_conv2d, if you have torchvision, and
read ``_register_to_dispatcher`` in ``torch/_library/custom_ops.py``.
"""

from __future__ import annotations

import re

import torch


KEYS = ("CPU", "CUDA", "Meta", "Autograd", "AutocastCPU", "FuncTorchBatched")


def row(name: str) -> dict[str, str]:
    """Return "C++", "Python" or "nobody" for each of KEYS, in order.

    It is the language of the kernel that is active now under exactly this key (AutogradCPU is not
    Autograd). The file that registered it decides: .py is Python. Lines marked (inactive) are
    kernels that were replaced.
    """
    # TODO: match the lines of the dump that name a key and a file
    raise NotImplementedError("row")
