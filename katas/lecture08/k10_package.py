"""Serve an AOTInductor package, which checks less than you think.

The package is a zip file with compiled C++ and the weights: no Python, and none of your classes.
Its kernels were compiled for the exported shapes. Take the network in
``katas/lecture08/conftest.py``:

    exported = torch.export.export(network, (torch.zeros(2, 4),))
    package(exported, "network.pt2")                          half a minute
    runner = torch._inductor.aoti_load_package("network.pt2")
    runner(torch.randn(5, 4))                                 no ReLU in rows 2, 3 and 4

You get only a warning. So store in the package what it was compiled for, and check that.

1. `contract` describes the inputs; the given `package` puts this into the metadata.
2. `serve` compares inputs with it, and refuses inputs that do not fit, before the package runs.

Begin with ``print(exported.graph_signature)``: which placeholders does the caller pass?
Real life differs: with ``AOTI_RUNTIME_CHECK_INPUTS=1`` in the environment the package checks this
itself, and a dynamic dim has a range instead of a size.
Afterwards unzip a package and run ``nm -D … | grep aoti_torch`` on its library: it only calls C
functions of PyTorch, those in ``torch/include/torch/csrc/inductor/aoti_torch/c/shim.h``, in
site-packages.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from typing import NoReturn


if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    import torch

    class Runner(Protocol):
        """What ``torch._inductor.aoti_load_package`` returns."""

        def __call__(self, *inputs: torch.Tensor) -> object:
            """Run the compiled code."""

        def get_metadata(self) -> dict[str, str]:
            """Return the metadata: "input 0", "input 1", and entries that PyTorch itself adds."""


def describe(x: torch.Tensor) -> str:
    """Return dtype, size and strides in one string. Given."""
    return json.dumps([str(x.dtype), list(x.shape), list(x.stride())])


def package(exported: torch.export.ExportedProgram, file: str) -> None:
    """Compile a program and write its package. Given; the tests build one and keep it."""
    import torch._inductor  # noqa: PLC0415 - takes a second

    torch._inductor.aoti_compile_and_package(  # noqa: SLF001 - the documented name
        exported,
        package_path=file,
        inductor_configs={"aot_inductor.metadata": contract(exported)},
    )


def refuse(key: str, expected: str, got: str) -> NoReturn:
    """Raise the error. Given."""
    raise ValueError(f"{key}: the package was made for {expected}, and this is {got}")


def contract(exported: torch.export.ExportedProgram) -> dict[str, str]:
    """Return `describe` of each input the caller passes, under "input 0" and so on.

    Keep the caller's order; each input is a tensor, like the ``meta["val"]`` of its placeholder.
    """
    # TODO: not every placeholder is an input of the caller.
    raise NotImplementedError("contract")


def serve(runner: Runner) -> Callable[..., object]:
    """Return a function that runs `runner`, or calls `refuse` for the first bad input.

    Read the metadata once, in `serve`. The package checks the number of inputs, so pass on any
    extra ones, too.
    """
    # TODO: return a closure.
    raise NotImplementedError("serve")
