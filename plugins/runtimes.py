"""The backends ``onnxruntime`` and ``executorch``: what runs an exported program."""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec

from plugins.capability import Capability


# What an export imports, and the runtime itself; all of them are names on PyPI too.
RUNTIMES = {
    "onnxruntime": ("onnx", "onnxscript", "onnxruntime"),
    "executorch": ("executorch",),
}


def lacking(modules: tuple[str, ...]) -> str | None:
    """Return which of `modules` are not installed, and the command that installs them."""
    absent = [name for name in modules if find_spec(name) is None]
    if not absent:
        return None
    return f"{', '.join(absent)} not installed; python -m pip install {' '.join(absent)}"


def pytest_kata_backends() -> list[Capability]:
    """Declare the backends."""
    return [Capability(name, partial(lacking, modules)) for name, modules in RUNTIMES.items()]
