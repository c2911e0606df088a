"""The private names of torch do, in the release installed here, what the plugins need."""

from __future__ import annotations

import importlib
import threading
from typing import TYPE_CHECKING
from typing import Any

import pytest

from plugins.tools import private


if TYPE_CHECKING:
    from collections.abc import Sequence


pytestmark = pytest.mark.torch


def test_demangle() -> None:
    """With namespaces and types, as C++ has them."""
    assert "at::foo(at::Tensor const&)" == private.demangle("_ZN2at3fooERKNS_6TensorE")


def test_is_overload() -> None:
    """An overload has a schema; a function of torch's has none."""
    import torch  # noqa: PLC0415 - for tests that need it

    assert private.is_overload(torch.ops.aten.add.Tensor)
    assert not private.is_overload(torch.add)


def test_operator_name() -> None:
    """With its namespace, without the name of the overload."""
    import torch  # noqa: PLC0415 - for tests that need it

    assert "aten::add" == private.operator_name(torch.ops.aten.add.Tensor)


def test_overload_name() -> None:
    """The unnamed one has a name too."""
    import torch  # noqa: PLC0415 - for tests that need it

    assert "Tensor" == private.overload_name(torch.ops.aten.add.Tensor)
    assert "default" == private.overload_name(torch.ops.aten.neg.default)


def test_argument_names() -> None:
    """In the order of the schema, those with a default too."""
    import torch  # noqa: PLC0415 - for tests that need it

    assert ["self", "other", "alpha"] == private.argument_names(torch.ops.aten.add.Tensor)


def test_dispatch_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mode of this class sees operators, and Dynamo never wraps its method."""
    import torch  # noqa: PLC0415 - for tests that need it

    wrapped: list[object] = []
    seen: list[str] = []
    monkeypatch.setattr(torch, "_disable_dynamo", lambda method, **_: wrapped.append(method))

    def see(_self: object, func: Any, _types: Any, args: Any = (), kwargs: Any = None) -> Any:
        seen.append(func.name())
        return func(*args, **(kwargs or {}))

    base, members = private.dispatch_mode(), {"__torch_dispatch__": see}
    with type("Seen", (base,), members)():
        torch.ones(2).neg()

    assert ["aten::ones", "aten::neg"] == seen
    assert [] == wrapped
    # By default it would.
    type("Skipped", (base.__base__,), members)
    assert [see] == wrapped


def test_without_modes() -> None:
    """A mode sees what is called before the block and after it, and nothing in it."""
    import torch  # noqa: PLC0415 - for tests that need it

    seen: list[str] = []
    base: Any = private.dispatch_mode()

    class Noted(base):  # type: ignore[misc]
        def __torch_dispatch__(
            self, func: Any, types: Sequence[type], args: Any = (), kwargs: Any = None
        ) -> Any:
            seen.append(func.name())
            return func(*args, **(kwargs or {}))

    x = torch.ones(2)
    with Noted():
        x.neg()
        with private.without_modes():
            x.exp()
        x.abs()

    assert ["aten::neg", "aten::abs"] == seen


def test_without_overrides() -> None:
    """``__torch_function__`` sees what is called before the block and after it."""
    import torch  # noqa: PLC0415 - for tests that need it

    seen: list[str] = []

    base: Any = torch.Tensor

    class Noted(base):  # type: ignore[misc]
        @classmethod
        def __torch_function__(
            cls, func: Any, types: Sequence[type], args: Any = (), kwargs: Any = None
        ) -> Any:
            seen.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    x = torch.ones(2).as_subclass(Noted)
    x.neg()
    with private.without_overrides():
        x.exp()
    x.abs()

    assert ["neg", "abs"] == seen


def test_functional_space() -> None:
    """Functional collectives call its operators."""
    import torch  # noqa: PLC0415 - for tests that need it

    space = getattr(torch.ops, private.FUNCTIONAL_SPACE)

    assert f"{private.FUNCTIONAL_SPACE}::all_reduce" == private.operator_name(
        space.all_reduce.default
    )


def test_base_collectives() -> None:
    """Operators of c10d, each beside a function of torch.distributed."""
    import torch  # noqa: PLC0415 - for tests that need it
    from torch import distributed  # noqa: PLC0415 - for tests that need it

    for name, function in private.BASE_COLLECTIVES.items():
        assert hasattr(torch.ops.c10d, f"{name}_")
        assert hasattr(distributed, function)


def test_wrapping_operator() -> None:
    """The module of functional collectives defines it."""
    import torch  # noqa: PLC0415 - for tests that need it

    importlib.import_module("torch.distributed._functional_collectives")
    space = getattr(torch.ops, private.FUNCTIONAL_SPACE)

    assert hasattr(space, private.WRAPPING_OPERATOR)


@pytest.mark.torch
def test_thread_state() -> None:
    """Dispatch keys, open modes and hooks for saved tensors, each as it changes."""
    import torch  # noqa: PLC0415 - for tests that need it
    from torch.overrides import BaseTorchFunctionMode  # noqa: PLC0415
    from torch.utils.flop_counter import FlopCounterMode  # noqa: PLC0415

    before = private.thread_state()
    with torch.inference_mode():
        keys = private.thread_state()
    with (
        BaseTorchFunctionMode(),
        FlopCounterMode(display=False),
        torch.autograd.graph.save_on_cpu(),
    ):
        modes = private.thread_state()

    assert before == private.thread_state()
    assert {"included dispatch keys", "excluded dispatch keys"} == {
        name for name in keys if keys[name] != before[name]
    }
    assert {"open function modes", "open dispatch modes", "saved-tensor hooks"} <= {
        name for name in modes if modes[name] != before[name]
    }


@pytest.mark.torch
def test_version_of() -> None:
    """An inference tensor has none."""
    import torch  # noqa: PLC0415 - for tests that need it

    with torch.inference_mode():
        assert private.version_of(torch.ones(2)) is None
    assert 1 == private.version_of(torch.ones(2).add_(1))


@pytest.mark.torch
def test_profile_every_thread() -> None:
    """One that runs beside the profiled one."""
    import torch  # noqa: PLC0415 - for tests that need it

    thread = threading.Thread(target=lambda: torch.ones(2).exp())
    with private.profile_every_thread(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        thread.start()
        thread.join()

    assert "aten::exp" in {event.name for event in profile.events()}


def test_decorator_module() -> None:
    """What is decorated is called from there."""
    import torch  # noqa: PLC0415 - for tests that need it

    called_from = torch.no_grad()(lambda: private_frame(2))()

    assert private.DECORATOR_MODULE == called_from


def test_callers_frame() -> None:
    """It leads to the names of the caller."""
    module, name = private.CALLERS_FRAME.split(".")

    assert __name__ == getattr(importlib.import_module(module), name)().f_globals["__name__"]


def private_frame(depth: int) -> str:
    """Return the name of the module so many frames above."""
    module, name = private.CALLERS_FRAME.split(".")
    return str(getattr(importlib.import_module(module), name)(depth).f_globals["__name__"])
