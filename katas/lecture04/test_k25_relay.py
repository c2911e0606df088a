"""Tests of k25_relay: what survives a pass through C++, and what is left behind."""

from __future__ import annotations

import re
import threading
import warnings
from typing import TYPE_CHECKING
from typing import NoReturn

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from katas import compat
from katas import source
from plugins.kit import freed


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterator
    from typing import Any

    from plugins.kit import Extension

    Kernel = Callable[[torch.Tensor], torch.Tensor]


pytestmark = pytest.mark.backend("cxx")

NAN = float("nan")


class Refusal(Exception):  # noqa: N818 - a name that no C++ class has
    """A type that only Python knows."""


@pytest.fixture
def register(extension: Extension) -> Iterator[Callable[[Kernel], None]]:
    """Return a function that makes its argument the kernel of ``callback`` until the test ends."""
    libraries: list[torch.library.Library] = []

    def destroy() -> None:
        for library in libraries:
            library._destroy()  # noqa: SLF001 - as torch's own tests do
        libraries.clear()

    def register_kernel(kernel: Kernel) -> None:
        destroy()
        libraries.append(torch.library.Library(extension.namespace, "IMPL"))
        libraries[0].impl("callback", kernel, "CompositeExplicitAutograd")

    yield register_kernel
    destroy()


@pytest.fixture
def heard(capfd: pytest.CaptureFixture[str]) -> Callable[..., tuple[Any, list[str]]]:
    """Return a function that calls an operator and returns its result and the warnings.

    It looks where this version of torch sends them, and checks that there are none elsewhere.
    """

    def call(op: Callable[..., Any], *arguments: object) -> tuple[Any, list[str]]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = op(*arguments)
        in_python = [str(warning.message) for warning in caught]
        on_stderr = [line for line in capfd.readouterr().err.splitlines() if line]
        if compat.OPS_WARN_IN_PYTHON:
            assert [] == on_stderr, f"torch 2.15 and later print nothing, found {on_stderr}"
            return result, in_python
        assert [] == in_python, f"before torch 2.15 Python gets no warning, found {in_python}"
        return result, on_stderr

    return call


class Within(TorchDispatchMode):
    """Calls a function within each operator, but not within calls of that function."""

    def __init__(self, function: Callable[[], object]) -> None:
        super().__init__()
        self.function = function

    def __torch_dispatch__(self, func: Any, _: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.function()
        return func(*args, **(kwargs or {}))


def refuse(error: Exception) -> Kernel:
    """Return a kernel that raises this very object."""

    def kernel(_: torch.Tensor) -> NoReturn:
        raise error

    return kernel


def test_cpp_calls_python(extension: Extension, register: Callable[[Kernel], None]) -> None:
    """Through the dispatcher the tensor goes in, and the callback's result comes out."""
    register(lambda x: x * 2)
    yours = extension.op("relay")(torch.tensor([1.0, 2.0])).tolist()

    assert yours == [2.0, 4.0], f"yours {yours}, expected [2.0, 4.0]: the callback doubles"


def test_a_python_error_crosses_cpp(
    extension: Extension, register: Callable[[Kernel], None]
) -> None:
    """C++ holds the exception object while it unwinds: the same object arrives."""
    error = Refusal("no")
    register(refuse(error))
    with pytest.raises(Exception, match="no") as raised:
        extension.op("relay")(torch.ones(1))

    assert error is raised.value, (
        f"the call raised {raised.value!r}, expected the object that the callback raised: catch "
        "nothing here, or Python gets a new object"
    )


def test_running_counts_calls(extension: Extension, register: Callable[[Kernel], None]) -> None:
    """The count rises by one in each nested call, and is back afterwards."""
    depth = extension.op("depth")
    before = depth()
    seen = []

    def kernel(x: torch.Tensor) -> torch.Tensor:
        seen.append(depth() - before)
        return extension.op("relay")(x + 1) if x.item() < 3 else x.clone()

    register(kernel)

    assert extension.op("relay")(torch.tensor(1.0)).item() == 3.0, (
        "the kernel calls itself until x is 3, so the call returns 3.0"
    )
    assert seen == [1, 2, 3], f"running, inside three nested calls: yours {seen}, expected 1 2 3"
    assert before == depth(), f"afterwards running is {depth() - before}, expected 0"


def test_running_is_right_after_an_error(
    extension: Extension, register: Callable[[Kernel], None]
) -> None:
    """Code after a call that throws is skipped; a destructor is not."""
    before = extension.op("depth")()
    register(refuse(Refusal("no")))
    with pytest.raises(Refusal):
        extension.op("relay")(torch.ones(1))

    more = extension.op("depth")() - before
    assert more == 0, f"relay was left by an exception, but running is still {more}"


def test_running_counts_threads(extension: Extension, register: Callable[[Kernel], None]) -> None:
    """The first thread to enter is the first to leave; the other is still counted."""
    depth, relay = extension.op("depth"), extension.op("relay")
    entered, leave = ([threading.Event(), threading.Event()] for _ in range(2))

    def kernel(x: torch.Tensor) -> torch.Tensor:
        if (index := int(x)) >= 0:
            entered[index].set()
            leave[index].wait(10)
        return x.clone()

    register(kernel)
    relay(torch.tensor(-1))
    before = depth()
    threads = [threading.Thread(target=relay, args=(torch.tensor(i),)) for i in range(2)]
    for index, thread in enumerate(threads):
        thread.start()
        entered[index].wait(10)
    for still_running, index, thread in zip((1, 0), range(2), threads, strict=True):
        leave[index].set()
        thread.join()
        yours = depth() - before
        assert still_running == yours, (
            f"with {still_running} of 2 threads in relay, running is {yours}: count up and down,"
            " do not restore an old value"
        )


def test_a_thread_of_its_own_calls_python(
    extension: Extension, register: Callable[[Kernel], None]
) -> None:
    """The result comes from that thread once it is done; relay's count does not change."""
    depth = extension.op("depth")
    before = depth()
    threads = []

    def kernel(x: torch.Tensor) -> torch.Tensor:
        threads.append((threading.get_ident(), depth() - before))
        return x + 1

    register(kernel)
    for _ in range(2):
        result = extension.op("relay_in_thread")(torch.tensor([1.0, 2.0])).tolist()

        assert result == [2.0, 3.0], f"yours {result}, expected [2.0, 3.0]: join, then return"
    assert len(threads) == 2, f"two calls ran the callback {len(threads)} times, expected 2"
    for thread, more in threads:
        assert threading.get_ident() != thread, (
            "the callback ran in the caller's thread, expected a thread of its own"
        )
        assert more == 0, f"relay_in_thread added {more} to running, which counts only relay"
    text = source("katas.lecture04", "csrc/k25_relay.cpp").read_text(encoding="utf-8")
    assert "detach()" not in re.sub(r"//[^\n]*", "", text), (
        "your code detaches a thread: join it before you return"
    )


def test_an_error_crosses_threads(extension: Extension, register: Callable[[Kernel], None]) -> None:
    """The error is caught in the thread, and rethrown in the caller's."""
    error = Refusal("no")
    register(refuse(error))
    with pytest.raises(Exception, match="no") as raised:
        extension.op("relay_in_thread")(torch.ones(1))

    assert error is raised.value, (
        f"the call raised {raised.value!r}, expected the object that the callback raised:"
        " std::exception_ptr holds an exception, whatever its type"
    )
    register(lambda x: x + 1)
    again = extension.op("relay_in_thread")(torch.ones(1)).item()
    assert again == 2.0, f"the next call returns {again}, expected 2.0"
    freed(lambda: extension.op("relay_in_thread")(torch.ones(1)), "The caller alone owns a result.")


@pytest.mark.given
def test_nan_is_warned_of(
    extension: Extension, heard: Callable[..., tuple[Any, list[str]]]
) -> None:
    """Before torch 2.15 the warning is on stderr; since then a handler passes it to Python."""
    x = torch.tensor([[NAN, 1.0], [NAN, 2.0], [3.0, 4.0]])
    result, messages = heard(extension.op("zero_nan"), x)

    assert result.tolist() == [[0.0, 1.0], [0.0, 2.0], [3.0, 4.0]]
    assert len(messages) == 1, messages
    assert "zero_nan: 2 of 6 elements were NaN" in messages[0]


def test_a_handler_collects_warnings(
    extension: Extension, heard: Callable[..., tuple[Any, list[str]]]
) -> None:
    """Warnings are returned, and appear nowhere else."""
    quietly = extension.op("zero_nan_quietly")
    (x, messages), others = heard(quietly, torch.tensor([NAN, 1.0]))

    assert x.tolist() == [0.0, 1.0], f"yours {x}, expected zero_nan's result"
    expected = ["zero_nan: 1 of 2 elements were NaN"]
    assert expected == messages, f"yours {messages}, expected {expected}"
    assert others == [], f"only your handler should get the warning, but so did {others}"
    again = quietly(torch.tensor([1.0]))[1]
    assert again == [], f"the next x has no NaN, but the call returned the messages {again}"


@pytest.mark.parametrize("left_by", ["return", "exception"])
def test_the_former_handler_comes_back(
    extension: Extension, heard: Callable[..., tuple[Any, list[str]]], left_by: str
) -> None:
    """The old handler is set again after a call that returns, and after one that throws."""
    x = torch.tensor([NAN])
    if left_by == "return":
        extension.op("zero_nan_quietly")(x)
    else:
        refusal = "^zero_nan: expected a strided tensor, got layout Sparse$"
        with pytest.raises(NotImplementedError, match=refusal):
            extension.op("zero_nan_quietly")(x.to_sparse())
    messages = heard(extension.op("zero_nan"), x)[1]

    assert len(messages) == 1, (
        f"after a call left by {left_by}, zero_nan warned {messages}, expected one "
        "message: your handler is still set"
    )


def test_the_former_handler_need_not_be_the_default(extension: Extension) -> None:
    """Within Tensor.add the handler is one that issues Python warnings."""
    x = torch.tensor([NAN])

    def both() -> None:
        extension.op("zero_nan_quietly")(x)
        extension.op("zero_nan")(x)

    extension.op("zero_nan_quietly")(x)
    with warnings.catch_warnings(record=True) as caught, Within(both):
        warnings.simplefilter("always")
        x.add(1)

    found = [str(warning.message) for warning in caught if "zero_nan" in str(warning.message)]
    assert len(found) == 1, (
        f"after zero_nan_quietly, zero_nan warns within Tensor.add, and Python gets {found}: "
        "restore the previous handler, not the default one"
    )
