"""The private names of Triton, as of 3.7.1: of its interpreter, its compiler and its driver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from typing import Any


if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType


def triton_tensor_setup() -> tuple[ModuleType, str]:
    """Return the interpreter and the name of its function that gives tensors their methods.

    `interpreter._patch_lang_tensor`: a test replaces it by one that wraps it. The methods are set
    anew for every launch, so they cannot be changed once for all (Triton 3.7.1).
    """
    from triton.runtime import interpreter  # noqa: PLC0415 - may be missing

    return interpreter, "_patch_lang_tensor"


def triton_numpy_dtype(element: Any) -> Any:
    """Return the NumPy dtype in which the interpreter holds elements of this type of Triton.

    `interpreter._get_np_dtype`: the table is local to it, and types have no method (Triton 3.7.1).
    """
    from triton.runtime import interpreter  # noqa: PLC0415 - may be missing

    return interpreter._get_np_dtype(element)  # noqa: SLF001


def triton_launch() -> tuple[type, str]:
    """Return the class whose objects each launch one kernel, and the name of its method.

    `interpreter.GridExecutor`: Triton's public hooks of a launch are for compiled kernels
    (Triton 3.7.1).
    """
    from triton.runtime import interpreter  # noqa: PLC0415 - may be missing

    return interpreter.GridExecutor, "__call__"


def triton_kernel(launch: Any) -> tuple[Callable[..., Any], list[str]]:
    """Return the function of a launch, and the names of its parameters.

    `GridExecutor.fn` and `GridExecutor.arg_names`: see `triton_launch` (Triton 3.7.1).
    """
    return launch.fn, launch.arg_names


def triton_grid_setup() -> tuple[type, str]:
    """Return the class of what runs programs, and the name of its method that gets the grid.

    `interpreter.InterpreterBuilder.set_grid_dim`: a grid may be a function of the kernel's
    arguments, and the interpreter alone evaluates it (Triton 3.7.1).
    """
    from triton.runtime import interpreter  # noqa: PLC0415 - may be missing

    return interpreter.InterpreterBuilder, "set_grid_dim"


def triton_program(builder: Any) -> tuple[int, int, int]:
    """Return the place in the grid of the program that runs.

    `InterpreterBuilder.grid_idx`: ``tl.program_id`` is for kernels alone (Triton 3.7.1).
    """
    place: tuple[int, int, int] = builder.grid_idx
    return place


@dataclass(frozen=True)
class TritonAccess:
    """A method by which the interpreter accesses memory, and the places of its arguments.

    Attributes
    ----------
    pointer, mask
        The addresses, and which of them are accessed.
    other
        Of a load, the values of the addresses that are not; None where the kernel gives none.
    """

    owner: type
    name: str
    kind: str
    pointer: int
    mask: int
    other: int | None = None


def triton_accesses() -> list[TritonAccess]:
    """Return the methods by which the interpreter loads, stores and updates memory.

    `InterpreterBuilder.create_masked_load` and its like: Triton has no hook for an access of the
    interpreter, and `tl.load` may be bound by other names (Triton 3.7.1).
    """
    from triton.runtime.interpreter import InterpreterBuilder  # noqa: PLC0415 - may be missing

    return [
        TritonAccess(InterpreterBuilder, "create_masked_load", "load", 0, 1, other=2),
        TritonAccess(InterpreterBuilder, "create_masked_store", "store", 0, 2),
        TritonAccess(InterpreterBuilder, "create_atomic_rmw", "atomic", 1, 3),
    ]


def triton_element(pointers: Any) -> Any:
    """Return the type of what a block of pointers points to.

    `TensorHandle.get_element_ty`: what the interpreter's methods get is no public tensor
    (Triton 3.7.1).
    """
    return pointers.get_element_ty()


def triton_values(block: Any) -> Any:
    """Return the array of NumPy's in which the interpreter holds a block.

    `TensorHandle.data`: see `triton_element` (Triton 3.7.1).
    """
    return block.data


def triton_block(values: Any, element: Any) -> Any:
    """Return a block of the interpreter's with these values.

    `interpreter.TensorHandle`: a public tensor is made from one (Triton 3.7.1).
    """
    from triton.runtime.interpreter import TensorHandle  # noqa: PLC0415 - may be missing

    return TensorHandle(values, element)


def triton_target(backend: str, architecture: int, warp: int) -> Any:
    """Return what describes a GPU to the compiler.

    `triton.backends.compiler.GPUTarget`: public functions take it, but no public module has it
    (Triton 3.7.1).
    """
    from triton.backends.compiler import GPUTarget  # noqa: PLC0415 - may be missing

    return GPUTarget(backend, architecture, warp)


def use_triton_driver(driver: Any) -> None:
    """Let Triton ask `driver` about the GPU of this process.

    `triton.runtime.driver.driver.set_active`: without a GPU Triton finds no driver, and no
    variable names one (Triton 3.7.1).
    """
    from triton.runtime.driver import driver as drivers  # noqa: PLC0415 - may be missing

    drivers.set_active(driver)


def triton_compiled_launch() -> tuple[type, str]:
    """Return the class of compiled kernels, and the name of its method that launches one.

    `triton.runtime.jit.JITFunction.run`: its keyword ``warmup`` compiles and does not launch, and
    ``kernel[grid]`` gives it no other value than False (Triton 3.7.1).
    """
    from triton.runtime.jit import JITFunction  # noqa: PLC0415 - may be missing

    return JITFunction, "run"
