"""Touches the private names of other projects: the only module of plugins/ that does.

Each function is one door: it says which name it uses, why no public one does, and which releases
were read for it. tests/tools/test_private.py has one contract test for each, against what is
installed, so that a release which renames something breaks the test that names the door.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING
from typing import Any


if TYPE_CHECKING:
    import subprocess
    from collections.abc import Generator
    from contextlib import AbstractContextManager
    from types import ModuleType
    from typing import TextIO

    import pytest
    from _pytest import _code
    from _pytest import timing
    from _pytest._io import TerminalWriter
    from _pytest.junitxml import LogXML

    # Types without a public name, for the annotations of other modules.
    Instant = timing.Instant
    Traceback = _code.Traceback


class MissingNameError(Exception):
    """A private name that the installed release no longer has."""


# pytest (9.2.0)


def redirect_terminal(config: pytest.Config, file: TextIO) -> TextIO:
    """Let pytest's terminal reporter write to `file`; return the file that it wrote to before.

    `TerminalWriter._file`: the writer that the public `Config.get_terminal_writer` returns takes
    its file when it is made, and other plugins hold on to that writer (pytest 9.2.0).
    """
    writer = config.get_terminal_writer()
    before, writer._file = writer._file, file  # noqa: SLF001
    return before


def terminal_writer(config: pytest.Config) -> TerminalWriter:
    """Return a writer for standard output, with the colours that the command line asks for.

    `_pytest.config.create_terminal_writer`: the public `Config.get_terminal_writer` is that of the
    terminal reporter, which there is none of before pytest is configured (pytest 9.2.0).
    """
    from _pytest.config import create_terminal_writer  # noqa: PLC0415 - see `read_clock`

    return create_terminal_writer(config, sys.stdout)


def read_clock() -> Instant:
    """Return the current time in the form in which pytest keeps the start of a session.

    `_pytest.timing.Instant`: what `set_session_start` and JUnit XML take; pytest has no hook and
    no option for the start of a session (pytest 9.2.0).
    """
    from _pytest import timing  # noqa: PLC0415 - commands about git have no pytest

    return timing.Instant()


def set_session_start(config: pytest.Config, begun: Instant) -> None:
    """Let the last line of the terminal count the session's time from `begun`.

    `TerminalReporter._session_start`: the reporter sets it itself in `pytest_sessionstart`, and
    no option or hook changes it (pytest 9.2.0).
    """
    if reporter := config.pluginmanager.get_plugin("terminalreporter"):
        reporter._session_start = begun  # noqa: SLF001


def junit_xml(config: pytest.Config) -> LogXML | None:
    """Return the plugin that writes ``--junit-xml``, if this session has one.

    `_pytest.junitxml.xml_key`: the fixture `record_testsuite_property` is public but serves
    tests alone; nothing public reaches a module's element or the start of the suite (pytest 9.2.0).
    """
    from _pytest import junitxml  # noqa: PLC0415 - commands about git have no pytest

    return config.stash.get(junitxml.xml_key, None)


def tear_down_for(session: pytest.Session, nextitem: pytest.Item | None) -> None:
    """Tear down all fixtures that `nextitem` does not share.

    `Session._setupstate.teardown_exact`: pytest calls it in `pytest_runtest_teardown`, which needs
    an item that was set up; a test that is only replayed was not (pytest 9.2.0).
    """
    session._setupstate.teardown_exact(nextitem)  # noqa: SLF001


def captured_files(config: pytest.Config) -> dict[str, int]:
    """Return the descriptors of the files that pytest captures ``out`` and ``err`` into.

    `CaptureManager._global_capturing` and `_pytest.capture.FDCaptureBase`: the public fixtures
    read what was captured, but cannot say where it is stored (pytest 9.2.0). Empty if pytest does
    not capture file descriptors, as with ``-s``.

    Raises
    ------
    MissingNameError
        If pytest captures in some other way.
    """
    manager: Any = config.pluginmanager.get_plugin("capturemanager")
    if manager is None:
        return {}
    try:
        from _pytest.capture import FDCaptureBase  # noqa: PLC0415 - see `read_clock`

        capturing = manager._global_capturing  # noqa: SLF001
        streams = {"out": capturing.out, "err": capturing.err} if capturing else {}
        return {
            name: stream.tmpfile.fileno()
            for name, stream in streams.items()
            if isinstance(stream, FDCaptureBase)
        }
    except (AttributeError, ImportError) as error:
        raise MissingNameError(str(error)) from error


def configure(config: pytest.Config) -> None:
    """Let all plugins configure themselves.

    `Config._do_configure`: pytest calls it for ``--help`` and for a session; a command that shows
    something runs no session and has no public way to it (pytest 9.2.0).
    """
    config._do_configure()  # noqa: SLF001


def unconfigure(config: pytest.Config) -> None:
    """Let all plugins tidy up after `configure`.

    `Config._ensure_unconfigure`: the other half of `Config._do_configure` (pytest 9.2.0).
    """
    config._ensure_unconfigure()  # noqa: SLF001


def explain_asserts(item: pytest.Item) -> Generator[None, object, object]:
    """Let asserts explain themselves as in `item`, until what is returned is closed or ends.

    `_pytest.assertion.pytest_runtest_protocol`: pytest offers the explanations only around the
    whole run of a test, not to another process that runs a part of it (pytest 9.2.0).
    """
    from _pytest import assertion  # noqa: PLC0415 - see `read_clock`

    explaining = assertion.pytest_runtest_protocol(item)
    next(explaining)
    return explaining


# xdist (3.8.0) and execnet (2.1.2)


def worker_process(gateway: Any) -> subprocess.Popen[bytes] | None:
    """Return the process of a worker, or None if another machine started it.

    `Gateway._io.popen`: a gateway can end its process but not tell its exit status, and xdist
    reports only that it is gone (xdist 3.8.0, execnet 2.1.2).

    Raises
    ------
    MissingNameError
        If the gateway has started a process but hides it.
    """
    try:
        process: subprocess.Popen[bytes] = gateway._io.popen  # noqa: SLF001
    except AttributeError as error:
        if gateway.spec.popen and not gateway.spec.via:
            raise MissingNameError(str(error)) from error
        return None
    return process


# torch (2.13.0)


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

    `torch.utils._python_dispatch`: private, though PyTorch's documentation names it (2.13.0).
    """
    from torch.utils._python_dispatch import TorchDispatchMode  # noqa: PLC0415 - heavy

    return TorchDispatchMode


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

    everywhere = profiler._ExperimentalConfig(profile_all_threads=True)  # type: ignore[attr-defined] # noqa: SLF001
    return profiler.profile(experimental_config=everywhere, **options)


# Triton (3.7.1)


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
