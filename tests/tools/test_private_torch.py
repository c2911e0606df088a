"""The private names of torch do, in the release installed here, what the plugins need."""

from __future__ import annotations

import importlib
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
