"""The private names of Triton do, in the release installed here, what the plugins need."""

from __future__ import annotations

import inspect
from types import SimpleNamespace
from typing import Any

import pytest

from plugins.tools import private


pytestmark = [pytest.mark.torch, pytest.mark.tool("triton")]


def parameters(owner: object, name: str) -> list[str]:
    """Return the names of a function's parameters."""
    return list(inspect.signature(getattr(owner, name)).parameters)


def calls(code: Any, name: str) -> bool:
    """Whether a function, or one within it, uses a name."""
    inner = (const for const in code.co_consts if inspect.iscode(const))
    return name in code.co_names or any(calls(each, name) for each in inner)


def test_triton_tensor_setup() -> None:
    """Its first parameter is the tensor, and the interpreter looks it up when it is called."""
    module, name = private.triton_tensor_setup()

    assert "tensor" == parameters(module, name)[0]
    assert any(
        calls(function.__code__, name)
        for function in vars(module).values()
        if inspect.isfunction(function)
    )


def test_triton_numpy_dtype() -> None:
    """Floats, integers and pointers; bfloat16 has no dtype of NumPy's and is held as uint16."""
    import triton.language as tl  # noqa: PLC0415 - may be missing

    types = (tl.float32, tl.int8, tl.pointer_type(tl.float32), tl.bfloat16)
    names = [private.triton_numpy_dtype(each).name for each in types]

    assert ["float32", "int8", "uint64", "uint16"] == names


def test_triton_launch() -> None:
    """It gets the arguments of the kernel, and asks for the grid through `triton_grid_setup`."""
    owner, name = private.triton_launch()

    assert parameters(owner, name)[0] == "self"
    assert {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD} == {
        each.kind for each in list(inspect.signature(getattr(owner, name)).parameters.values())[1:]
    }
    assert calls(getattr(owner, name).__code__, private.triton_grid_setup()[1])


def test_triton_kernel() -> None:
    """The function as it was decorated, and the names of its parameters."""

    def kernel(one: object, two: object) -> tuple[object, object]:
        return one, two

    owner, _ = private.triton_launch()

    assert (kernel, ["one", "two"]) == private.triton_kernel(owner(kernel, ["one", "two"], (1,)))


def test_triton_grid_setup() -> None:
    """It gets three numbers, and what runs programs then has places in that grid alone."""
    owner, name = private.triton_grid_setup()
    builder: Any = owner()

    getattr(builder, name)(2, 1, 1)

    builder.set_grid_idx(1, 0, 0)
    with pytest.raises(ValueError, match="grid_dim"):
        builder.set_grid_idx(2, 0, 0)


def test_triton_program() -> None:
    """The place that was set last, of three numbers."""
    owner, name = private.triton_grid_setup()
    builder: Any = owner()
    getattr(builder, name)(2, 3, 4)
    builder.set_grid_idx(1, 2, 3)

    assert (1, 2, 3) == private.triton_program(builder)


def test_triton_accesses() -> None:
    """Pointers, mask and other stand where the table says, by their names in Triton."""
    names = [
        tuple(
            parameters(access.owner, access.name)[1:][place]
            for place in (access.pointer, access.mask, access.other)
            if place is not None
        )
        for access in private.triton_accesses()
    ]

    assert [("ptrs", "mask", "other"), ("ptrs", "mask"), ("ptr", "mask")] == names
    assert ["load", "store", "atomic"] == [access.kind for access in private.triton_accesses()]


def test_triton_element() -> None:
    """Of pointers, which the interpreter holds as numbers."""
    import numpy as np  # noqa: PLC0415 - comes with torch
    import triton.language as tl  # noqa: PLC0415 - may be missing

    pointers = private.triton_block(np.array([8], np.uint64), tl.pointer_type(tl.int8))

    assert tl.int8 == private.triton_element(pointers)


def test_triton_values() -> None:
    """The very array that the block was made from."""
    import numpy as np  # noqa: PLC0415 - comes with torch
    import triton.language as tl  # noqa: PLC0415 - may be missing

    values = np.zeros(4, np.float32)

    assert private.triton_values(private.triton_block(values, tl.float32)) is values


def test_triton_block() -> None:
    """What the interpreter's own methods take: here its store, as the values to be stored."""
    import numpy as np  # noqa: PLC0415 - comes with torch
    import triton.language as tl  # noqa: PLC0415 - may be missing

    memory = np.zeros(2, np.float32)
    addresses = np.array([memory.ctypes.data, memory.ctypes.data + 4], np.uint64)
    pointers = private.triton_block(addresses, tl.pointer_type(tl.float32))
    values = private.triton_block(np.array([3, 4], np.float32), tl.float32)
    mask = private.triton_block(np.array([False, True]), tl.int1)
    (store,) = (access for access in private.triton_accesses() if access.kind == "store")

    getattr(store.owner(), store.name)(pointers, values, mask, None, None)

    assert [0, 4] == memory.tolist()


def test_triton_target() -> None:
    """The compiler reads these three from it."""
    target = private.triton_target("cuda", 90, 32)

    assert ("cuda", 90, 32) == (target.backend, target.arch, target.warp_size)


def test_use_triton_driver() -> None:
    """Triton's active driver is the given one."""
    from triton.runtime.driver import driver  # noqa: PLC0415 - may be missing

    before = vars(driver).copy()
    given = SimpleNamespace()
    try:
        private.use_triton_driver(given)
        assert driver.active is given
    finally:
        vars(driver).update(before)


def test_triton_compiled_launch() -> None:
    """Its keyword ``warmup`` is what ``kernel[grid]`` sets to False."""
    from triton.runtime.jit import KernelInterface  # noqa: PLC0415 - may be missing

    owner, name = private.triton_compiled_launch()

    assert "warmup" in parameters(owner, name)
    assert issubclass(owner, KernelInterface)
    assert calls(KernelInterface.__getitem__.__code__, name)
