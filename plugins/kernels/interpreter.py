"""Watches kernels in Triton while they are interpreted: every launch, every access to memory.

The fixture ``launches`` is the list of what a test launched. A kernel is watched whether its test
asks for the list or not: what lies outside of its tensors fails, and lanes that were masked when
they were loaded hold what nobody can mistake for a value.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING
from typing import Any

import pytest

from plugins.programs import Launch
from plugins.triton import interpreting
from plugins.triton import needs_triton


if TYPE_CHECKING:
    from collections.abc import Generator


# The interpreter's methods that touch memory: what they do, and which of their arguments are the
# pointers and the mask.
ACCESSES = {
    "create_masked_load": ("load", 0, 1),
    "create_masked_store": ("store", 0, 2),
    "create_atomic_rmw": ("atomic", 1, 3),
}
# Which argument of a load is what masked lanes hold.
OTHER = 2

launches_key = pytest.StashKey[list[Launch]]()


@pytest.fixture
def launches(request: pytest.FixtureRequest) -> list[Launch]:
    """Return the list of the test's launches, which grows; on a GPU it stays empty."""
    return request.node.stash.setdefault(launches_key, [])  # type: ignore[no-any-return]


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Watch every test about Triton; a fixture would be refused by hypothesis."""
    with pytest.MonkeyPatch.context() as patch:
        if interpreting() and needs_triton(pyfuncitem):
            watch(pyfuncitem.stash.setdefault(launches_key, []), patch)
        return (yield)


def watch(found: list[Launch], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the interpreter tell about each launch and each access to memory."""
    from torch.utils._python_dispatch import _disable_current_modes  # noqa: PLC0415 - heavy
    from triton.runtime import interpreter  # noqa: PLC0415 - may be missing

    builder, run = interpreter.InterpreterBuilder, interpreter.GridExecutor.__call__
    prepare = interpreter._patch_lang_tensor  # noqa: SLF001 - it has no other name

    def launch(executor: Any, *args: Any, **kwargs: Any) -> None:
        options = {name: value for name, value in kwargs.items() if name in executor.arg_names}
        named = inspect.getcallargs(executor.fn, *args, **options)
        tensors = {name: value for name, value in named.items() if hasattr(value, "data_ptr")}
        # How the interpreter reaches the tensors is no operator of the learner's.
        with _disable_current_modes():
            found.append(Launch(executor.fn.__name__, tensors))
            run(executor, *args, **kwargs)

    def prepare_tensor(tensor: Any, *scope: Any) -> None:
        prepare(tensor, *scope)
        # As Triton does since 3.7: before, it lets NumPy convert an array of one dim, which has
        # refused since 2.4.
        tensor.__index__ = lambda self: int(self.handle.data.squeeze())

    def set_grid_dim(self: Any, *grid: int) -> None:
        found[-1].grid = grid
        self.grid_dim = grid

    def watched(name: str) -> Any:
        (kind, pointer, mask), original = ACCESSES[name], getattr(builder, name)

        def method(self: Any, *args: Any, **kwargs: Any) -> Any:
            # A mask may be one value for all, and a block of pointers may be one pointer.
            addresses, lanes = interpreter.np.broadcast_arrays(args[pointer].data, args[mask].data)
            found[-1].touch(kind, addresses[lanes], self.grid_idx)
            if kind == "load" and args[OTHER] is None:
                # Undefined on a GPU, zero in the interpreter: here NaN, and -1 of integers.
                element = args[pointer].get_element_ty()
                dtype = interpreter._get_np_dtype(element)  # noqa: SLF001 - it has no other name
                value = (
                    float("nan") if dtype.kind == "f" else interpreter.np.array(-1).astype(dtype)
                )
                undefined = interpreter.np.full(addresses.shape, value, dtype)
                args = (
                    *args[:OTHER],
                    interpreter.TensorHandle(undefined, element),
                    *args[OTHER + 1 :],
                )
            return original(self, *args, **kwargs)

        return method

    monkeypatch.setattr(interpreter.GridExecutor, "__call__", launch)
    monkeypatch.setattr(interpreter, "_patch_lang_tensor", prepare_tensor)
    monkeypatch.setattr(builder, "set_grid_dim", set_grid_dim)
    for name in ACCESSES:
        monkeypatch.setattr(builder, name, watched(name))
