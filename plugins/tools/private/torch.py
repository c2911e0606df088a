"""The private names of torch, as of 2.13.0."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any


if TYPE_CHECKING:
    from contextlib import AbstractContextManager


# The namespace of functional collectives, which differ from those of c10d in what they return; a
# call is seen by the name of its operator, and has no other name at that place (torch 2.13.0).
FUNCTIONAL_SPACE = "_c10d_functional"
# Operators of c10d by which public functions with these names are called (torch 2.13.0).
BASE_COLLECTIVES = {
    "_allgather_base": "all_gather_single",
    "_reduce_scatter_base": "reduce_scatter_single",
}
# An operator of the functional ones that sends nothing (torch 2.13.0).
WRAPPING_OPERATOR = "_wrap_tensor_autograd"
# Where `@torch.no_grad()` and its like put a frame between a caller and what is decorated
# (torch 2.13.0).
DECORATOR_MODULE = "torch.utils._contextlib"
# How an exercise could reach what its caller has imported (Python 3.11).
CALLERS_FRAME = "sys._getframe"


def demangle(symbol: str) -> str:
    """Return ``at::foo(at::Tensor const&)`` for the linker's name ``_ZN2at3fooERKNS_...``.

    `torch._C._demangle`: Python has no demangler, and c++filt may be missing (torch 2.13.0).
    """
    import torch  # noqa: PLC0415 - takes a second

    name: str = torch._C._demangle(symbol)  # noqa: SLF001
    return name


def is_overload(function: Any) -> bool:
    """Whether `function` has a schema and a namespace, as an OpOverload has.

    `OpOverload._schema`: the class itself is in torch._ops, which is private (torch 2.13.0).
    """
    return hasattr(function, "_schema") and hasattr(function, "namespace")


def operator_name(operator: Any) -> str:
    """Return ``aten::add`` for ``torch.ops.aten.add.Tensor``.

    `OpOverload._schema`: the public ``name()`` joins it with the overload's (torch 2.13.0).
    """
    return str(operator._schema.name)  # noqa: SLF001


def overload_name(operator: Any) -> str:
    """Return ``Tensor`` for ``torch.ops.aten.add.Tensor``, ``default`` for the unnamed one.

    `OpOverload._overloadname`: the public ``name()`` leaves out ``default`` (torch 2.13.0).
    """
    return str(operator._overloadname)  # noqa: SLF001


def argument_names(operator: Any) -> list[str]:
    """Return the names of an operator's parameters, in the order of its schema.

    `OpOverload._schema`: `inspect.signature` knows nothing of an overload (torch 2.13.0).
    """
    return [str(argument.name) for argument in operator._schema.arguments]  # noqa: SLF001


def dispatch_mode() -> Any:
    """Return the base class of modes that see each operator when it is called.

    `torch.utils._python_dispatch`: the module is private, though PyTorch's own documentation of
    ``__torch_dispatch__`` names it. `TorchDispatchMode._should_skip_dynamo`: by default PyTorch
    wraps ``__torch_dispatch__``, and imports all of Dynamo with the first tensor (torch 2.13.0).
    """
    from torch.utils._python_dispatch import TorchDispatchMode  # noqa: PLC0415 - heavy

    base: Any = TorchDispatchMode

    class DispatchMode(base):  # type: ignore[misc]
        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            return False

    return DispatchMode


def without_modes() -> AbstractContextManager[Any]:
    """Return a context in which no dispatch mode sees the operators that are called.

    `torch.utils._python_dispatch._disable_current_modes`: a public mode can only be entered, not
    set aside (torch 2.13.0).
    """
    from torch.utils._python_dispatch import _disable_current_modes  # noqa: PLC0415 - heavy

    context: AbstractContextManager[Any] = _disable_current_modes()
    return context


def without_overrides() -> AbstractContextManager[Any]:
    """Return a context in which no subclass of Tensor sees, in Python, what is called on it.

    `torch._C.DisableTorchFunctionSubclass`: what `Tensor.__repr__` does, and with no public name;
    ``__torch_dispatch__`` is called as ever (torch 2.13.0).
    """
    import torch  # noqa: PLC0415 - takes a second

    context: AbstractContextManager[Any] = torch._C.DisableTorchFunctionSubclass()  # noqa: SLF001
    return context


def thread_state() -> dict[str, object]:
    """Return what PyTorch keeps for the calling thread and no public name tells (torch 2.13.0)."""
    from torch import _C  # noqa: PLC0415 - takes a second
    from torch import overrides  # noqa: PLC0415 - takes a second
    from torch.utils import _python_dispatch as modes  # noqa: PLC0415 - heavy

    return {
        "included dispatch keys": str(_C._dispatch_tls_local_include_set()),  # noqa: SLF001
        "excluded dispatch keys": str(_C._dispatch_tls_local_exclude_set()),  # noqa: SLF001
        "open function modes": overrides._get_current_function_mode_stack(),  # noqa: SLF001
        "open dispatch modes": modes._get_current_dispatch_mode_stack(),  # noqa: SLF001
        "saved-tensor hooks": _C._autograd._top_saved_tensors_default_hooks(True),  # noqa: FBT003, SLF001
    }


def version_of(tensor: Any) -> int | None:
    """Return how often operators have written to a tensor in place; None for an inference tensor.

    `Tensor._version`: no public name tells it (torch 2.13.0).
    """
    return None if tensor.is_inference() else int(tensor._version)  # noqa: SLF001


def profile_every_thread(**options: Any) -> Any:
    """Return a profiler that sees the operators of all threads.

    `torch.profiler._ExperimentalConfig`: the option ``profile_all_threads`` is its (torch 2.13.0).
    """
    from torch import profiler  # noqa: PLC0415 - takes a second

    everywhere = profiler._ExperimentalConfig(profile_all_threads=True)  # type: ignore[attr-defined,unused-ignore] # noqa: SLF001
    return profiler.profile(experimental_config=everywhere, **options)
