"""Watches interpreted Triton kernels: each launch, and what its programs load and store.

The fixture ``launches`` is the list of a test's launches. A kernel is watched whether or not its
test asks for the list. A load or store outside the tensors that the kernel was given fails: a GPU
would mostly not notice, because memory does not end where a tensor ends. Lanes that a load masks
hold NaN or -1, which no test can mistake for a value.
"""

from __future__ import annotations

import inspect
import math
from dataclasses import dataclass
from dataclasses import field
from typing import TYPE_CHECKING
from typing import Any

import pytest

from plugins.cuda.triton import interpreting
from plugins.cuda.triton import needs_triton
from plugins.tools import private


if TYPE_CHECKING:
    from collections.abc import Generator


launches_key = pytest.StashKey["list[TritonLaunch]"]()


@pytest.fixture
def launches(request: pytest.FixtureRequest) -> list[TritonLaunch]:
    """Return the list of the test's launches, which grows; on a GPU it stays empty."""
    return request.node.stash.setdefault(launches_key, [])  # type: ignore[no-any-return]


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Watch every test about Triton; a fixture would be refused by hypothesis."""
    with pytest.MonkeyPatch.context() as patch:
        if interpreting() and needs_triton(pyfuncitem):
            watch_interpreter(pyfuncitem.stash.setdefault(launches_key, []), patch)
        return (yield)


def watch_interpreter(found: list[TritonLaunch], monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the interpreter add each launch and its accesses to `found`."""
    import numpy as np  # noqa: PLC0415 - takes a while; Triton's interpreter has imported it

    owner, method = private.triton_launch()
    builder, grid_setup = private.triton_grid_setup()
    module, tensor_setup = private.triton_tensor_setup()
    run, set_grid = getattr(owner, method), getattr(builder, grid_setup)
    prepare = getattr(module, tensor_setup)

    def launch(executor: Any, *args: Any, **kwargs: Any) -> None:
        kernel, names = private.triton_kernel(executor)
        options = {name: value for name, value in kwargs.items() if name in names}
        named = inspect.getcallargs(kernel, *args, **options)
        tensors = {name: value for name, value in named.items() if hasattr(value, "data_ptr")}
        # The operators by which the interpreter reads the tensors are not the learner's. Neither
        # are the warnings of NumPy, which computes here: a GPU overflows without a word.
        with private.without_modes(), np.errstate(all="ignore"):
            found.append(TritonLaunch(kernel.__name__, tensors))
            run(executor, *args, **kwargs)

    def prepare_tensor(tensor: Any, *scope: Any) -> None:
        prepare(tensor, *scope)
        # As Triton does since 3.7. Older ones let NumPy convert an array of one dim, which NumPy
        # refuses since 2.4.
        tensor.__index__ = lambda self: int(private.triton_values(self.handle).squeeze())

    def set_grid_dim(self: Any, *grid: int) -> None:
        found[-1].grid = grid
        set_grid(self, *grid)

    monkeypatch.setattr(owner, method, launch)
    monkeypatch.setattr(module, tensor_setup, prepare_tensor)
    monkeypatch.setattr(builder, grid_setup, set_grid_dim)
    for access in private.triton_accesses():
        monkeypatch.setattr(access.owner, access.name, watch_access(access, found))


def watch_access(access: private.TritonAccess, found: list[TritonLaunch]) -> Any:
    """Return a method for the interpreter that adds each access to the last launch in `found`."""
    import numpy as np  # noqa: PLC0415 - takes a while; Triton's interpreter has imported it

    original = getattr(access.owner, access.name)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        # A mask may be one value for all, and a block of pointers may be one pointer.
        addresses, lanes = np.broadcast_arrays(
            private.triton_values(args[access.pointer]), private.triton_values(args[access.mask])
        )
        found[-1].touch(access.kind, addresses[lanes], private.triton_program(self))
        if access.other is not None and args[access.other] is None:
            # Undefined on a GPU, zero in the interpreter: here NaN, and -1 of integers.
            element = private.triton_element(args[access.pointer])
            dtype = private.triton_numpy_dtype(element)
            value = float("nan") if dtype.kind == "f" else np.array(-1).astype(dtype)
            undefined = private.triton_block(np.full(addresses.shape, value, dtype), element)
            args = (*args[: access.other], undefined, *args[access.other + 1 :])
        return original(self, *args, **kwargs)

    return method


@dataclass(frozen=True)
class Access:
    """One load or store by one program: positions in the storage of one argument."""

    program: int
    kind: str
    argument: str
    places: Any


@dataclass
class TritonLaunch:
    """One launch: its kernel, its grid, the tensors among its arguments, and its accesses."""

    kernel: str
    tensors: dict[str, Any]
    grid: tuple[int, ...] = ()
    accesses: list[Access] = field(default_factory=list)
    # Of each tensor: the first address, bytes per element, and which positions are elements.
    spans: dict[str, tuple[int, int, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Mark the elements of each tensor in its storage."""
        import torch  # noqa: PLC0415 - importing a plugin imports no torch

        for name, tensor in self.tensors.items():
            storage, size = tensor.untyped_storage(), tensor.element_size()
            elements = torch.zeros(storage.nbytes() // size, dtype=torch.bool, device="cpu")
            elements.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset()).fill_(True)  # noqa: FBT003 - torch's own
            # A tensor without elements has no position in its storage: only its own address.
            start = storage.data_ptr() if tensor.numel() else tensor.data_ptr()
            self.spans[name] = start, size, elements.numpy()[: storage.nbytes() * tensor.numel()]

    @property
    def programs(self) -> int:
        """How many programs were launched."""
        return math.prod(self.grid)

    def argument(self, tensor: Any) -> str:
        """Return the name of the argument that starts where `tensor` does."""
        for name, each in self.tensors.items():
            if each.data_ptr() == tensor.data_ptr() and each.numel():
                return name
        raise AssertionError(f"{self.kernel} was not given this tensor of shape {tensor.shape}")

    def count(self, kind: str, tensor: Any) -> Any:
        """Return how often each element was loaded or stored, in the shape of `tensor`."""
        import torch  # noqa: PLC0415 - importing a plugin imports no torch

        name = self.argument(tensor)
        counts = torch.zeros(len(self.spans[name][2]), dtype=torch.int64, device="cpu")
        for access in self.accesses:
            if (access.kind, access.argument) == (kind, name):
                places = torch.from_numpy(access.places)
                counts.index_put_((places,), torch.ones_like(places), accumulate=True)
        return counts.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())

    def touch(self, kind: str, addresses: Any, program: tuple[int, ...]) -> None:
        """Record an access by `program`; refuse addresses that are no element of an argument."""
        number = (program[0] * self.grid[1] + program[1]) * self.grid[2] + program[2]
        found = addresses < 0  # of none
        for name, (start, size, elements) in self.spans.items():
            inside = (addresses >= start) & (addresses < start + size * len(elements))
            places = ((addresses - start) // size).astype("int64")
            inside[inside] = elements[places[inside]]
            found |= inside
            if inside.any():
                self.accesses.append(Access(number, kind, name, places[inside]))
        if not found.all():
            raise AssertionError(self.outside(kind, addresses[~found], len(addresses), program))

    def outside(self, kind: str, wrong: Any, lanes: int, program: tuple[int, ...]) -> str:
        """Describe an access outside the tensors, relative to the nearest one."""
        first = int(wrong[0])

        def distance(name: str) -> int:
            start, size, elements = self.spans[name]
            return max(start - first, first - start - size * len(elements), 0)

        near = min(self.spans, key=distance)
        tensor = self.tensors[near]
        place = (first - tensor.data_ptr()) // tensor.element_size()
        return (
            f"program {program} of {self.kernel}: {len(wrong)} of the {lanes} elements that a"
            f" {kind} touches are outside of the tensors that it was given; the first is"
            f" {near} + {place}, and {near} has the shape {tuple(tensor.shape)} and the strides"
            f" {tensor.stride()}. The mask of the {kind} has to leave it out."
        )
