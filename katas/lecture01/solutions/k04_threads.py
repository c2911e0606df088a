"""Predict which of your settings another thread sees."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING
from typing import Any

import torch


if TYPE_CHECKING:
    from collections.abc import Callable


# Given: do not change.
def there(function: Callable[[], Any]) -> Any:
    """Call a function in a new thread, wait for it, and return its result."""
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(function()))
    thread.start()
    thread.join()
    return results[0]


def dtype() -> str:
    """Return the name of the dtype of a new float tensor."""
    return str(torch.empty(0).dtype).removeprefix("torch.")


def device() -> str:
    """Return the device type of a new tensor."""
    return torch.empty(0).device.type


def default_dtype() -> tuple[Any, Any]:
    """Set the default dtype."""
    torch.set_default_dtype(torch.float64)
    return dtype(), there(dtype)


def default_device() -> tuple[Any, Any]:
    """Set the default device."""
    torch.set_default_device("meta")
    return device(), there(device)


def grad() -> tuple[Any, Any]:
    """Start a thread within no_grad."""
    with torch.no_grad():
        return torch.is_grad_enabled(), there(torch.is_grad_enabled)


def decorated() -> tuple[Any, Any]:
    """Run a decorated function in a thread."""
    return torch.is_grad_enabled(), there(torch.no_grad()(torch.is_grad_enabled))


def left_behind() -> tuple[Any, Any]:
    """Let a thread switch grad mode off and end; then look here and in a new thread."""
    there(lambda: torch.set_grad_enabled(False))
    return torch.is_grad_enabled(), there(torch.is_grad_enabled)


def anomaly() -> tuple[Any, Any]:
    """Start a thread within anomaly mode."""
    with torch.autograd.set_detect_anomaly(True):
        return torch.is_anomaly_enabled(), there(torch.is_anomaly_enabled)


PROGRAMS: dict[str, Callable[[], tuple[Any, Any]]] = {
    function.__name__: function
    for function in (default_dtype, default_device, grad, decorated, left_behind, anomaly)
}


def predictions() -> dict[str, tuple[Any, Any]]:
    """Return what each of `PROGRAMS` returns: in this thread, in another."""
    return {
        "default_dtype": ("float64", "float64"),
        "default_device": ("meta", "cpu"),
        "grad": (False, True),
        "decorated": (True, False),
        "left_behind": (True, True),
        "anomaly": (True, True),
    }
