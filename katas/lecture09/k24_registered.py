"""Find out what custom_op registers.

One decorator, and autograd, fake tensors and version counters know your operator. Look at what it
registered:

    @torch.library.custom_op("mine::scale", mutates_args={"x"}, device_types="cpu")
    def scale(x: torch.Tensor) -> None:
        x.mul_(2)

    print(torch._C._dispatch_dump("mine::scale"))

Write kernels, about 5 lines: the keys in such a dump.

Begin by guessing which key goes away with mutates_args=().
Afterwards read _register_to_dispatcher in torch/_library/custom_ops.py, and find each key.
"""

from __future__ import annotations


def kernels(name: str) -> set[str]:
    """Return the dispatch keys under which an operator, such as "aten::relu", has a kernel.

    Include only those registered for the operator itself, as the dispatcher prints them: "CPU",
    "Autograd".
    Keys that the dump calls inactive are the same registrations again.
    """
    # TODO: read the lines of the dump.
    raise NotImplementedError("kernels")
