"""Serve an AOTInductor package, which checks less than you think."""

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
    """Return `describe` of each input the caller passes, under "input 0" and so on."""
    nodes = {node.name: node for node in exported.graph.nodes}
    names = exported.graph_signature.user_inputs
    return {
        f"input {place}": describe(nodes[str(name)].meta["val"]) for place, name in enumerate(names)
    }


def serve(runner: Runner) -> Callable[..., object]:
    """Return a function that runs `runner`, or calls `refuse` for the first bad input."""
    metadata = runner.get_metadata()

    def run(*inputs: torch.Tensor) -> object:
        for place, x in enumerate(inputs):
            key = f"input {place}"
            # The package counts its inputs itself.
            if (got := describe(x)) != metadata.get(key, got):
                refuse(key, metadata[key], got)
        return runner(*inputs)

    return run
