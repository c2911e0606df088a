"""The private names of other projects do, in the releases installed here, what the plugins need."""

from __future__ import annotations

import ast
import io
import os
import sys
import threading
from datetime import UTC
from datetime import datetime
from datetime import timedelta
from types import SimpleNamespace
from typing import TYPE_CHECKING
from typing import Any
from xml.etree import ElementTree as ET

import execnet
import pytest

from plugins import HERE
from plugins.tools import private


if TYPE_CHECKING:
    from collections.abc import Generator
    from collections.abc import Sequence


# Starts with an underscore and is public all the same (os).
PUBLIC = {"_exit"}


def is_private(name: str) -> bool:
    """Whether somebody else's name is not for us."""
    return name.startswith("_") and not name.startswith("__") and name not in PUBLIC


def private_names(tree: ast.AST) -> list[str]:
    """Return the private names that a module imports, reads as attributes or gives to getattr."""
    found: list[str] = []
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                found += [part for each in names for part in each.name.split(".")]
            case ast.ImportFrom(module=module, names=names):
                found += [*(module or "").split("."), *(each.name for each in names)]
            case ast.Attribute(value=ast.Name(id="self" | "cls")):
                pass
            case ast.Attribute(attr=name):
                found.append(name)
            case ast.Call(
                func=ast.Name(id="getattr" | "hasattr"), args=[_, ast.Constant(value=str(name)), *_]
            ):
                found.append(name)
            case _:
                pass
    return [name for name in found if is_private(name)]


def test_a_writer_before_there_is_a_reporter(capsys: pytest.CaptureFixture[str]) -> None:
    """It writes to what standard output is just then, and has colours as the options say."""
    options = SimpleNamespace(color="yes", code_highlight="no")
    config: Any = SimpleNamespace(option=options)
    writer = private.terminal_writer(config)
    writer.line("text", green=True)
    options.color = "no"

    assert capsys.readouterr().out == "\x1b[32mtext\x1b[0m\n"
    assert private.terminal_writer(config).markup("text", green=True) == "text"
    assert writer.fullwidth > 0


def test_the_private_names_of_others_stand_in_one_module() -> None:
    """Each has a contract test below; one that is used elsewhere breaks unnoticed."""
    used = {
        file.relative_to(HERE).as_posix(): names
        for file in sorted(HERE.rglob("*.py"))
        if (names := private_names(ast.parse(file.read_text(encoding="utf-8"))))
    }

    assert ["tools/private.py"] == list(used), used


# pytest (9.2.0)

PASSES = "def test_it(): pass\n"
WRITES = "import os\n\ndef test_it():\n    os.write(1, b'one')\n    os.write(2, b'two')\n"
FIXTURE = """
import pytest

@pytest.fixture(scope="module")
def ends():
    yield
    open("ended", "w").close()

def test_runs(ends): pass
def test_replayed(ends): pass
"""
NEXT = "from pathlib import Path\n\ndef test_next(): assert Path('ended').exists()\n"


class HourAgo:
    """The start of a session, an hour ago: what pytest asks of an instant."""

    def elapsed(self) -> SimpleNamespace:
        """Return the time since then."""
        return SimpleNamespace(seconds=3600.0)

    def as_utc(self) -> datetime:
        """Return the date."""
        return datetime.now(UTC) - timedelta(hours=1)


HOUR_AGO: Any = HourAgo()


def test_pytest_writes_to_the_file_of_its_terminal_writer(pytester: pytest.Pytester) -> None:
    """A file that replaces it gets what the reporter writes, until it is put back."""
    config = pytester.parseconfigure()
    reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
    file = io.StringIO()

    before = private.redirect_terminal(config, file)
    reporter.write_line("here")

    assert sys.stdout is before
    assert "here\n" == file.getvalue()
    assert file is private.redirect_terminal(config, before)


def test_pytest_keeps_times_as_instants() -> None:
    """An instant tells the time since, and its date."""
    instant = private.read_clock()

    assert 0 <= instant.elapsed().seconds < 3600
    assert abs(datetime.now(UTC) - instant.as_utc()) < timedelta(hours=1)


def test_pytest_counts_from_the_start_that_its_reporter_keeps(pytester: pytest.Pytester) -> None:
    """The last line of the terminal has the time since then."""

    class Earlier:
        @pytest.hookimpl(tryfirst=True)
        def pytest_collection(self, session: pytest.Session) -> None:
            private.set_session_start(session.config, HOUR_AGO)

    pytester.makepyfile(PASSES)

    result = pytester.runpytest_inprocess(plugins=[Earlier()])

    result.stdout.fnmatch_lines(["*1 passed in 3600.00s (1:00:00)*"])


def test_pytest_without_a_terminal_has_no_start_to_set(pytester: pytest.Pytester) -> None:
    """A worker of xdist has none either."""
    config = pytester.parseconfigure("-p", "no:terminal")

    private.set_session_start(config, HOUR_AGO)

    assert not config.pluginmanager.has_plugin("terminalreporter")


def test_pytest_keeps_its_writer_of_junit_xml_in_the_stash(pytester: pytest.Pytester) -> None:
    """It has the start of the suite, and the element of a module that could not be imported."""

    class Earlier:
        failed: pytest.CollectReport

        def pytest_collectreport(self, report: pytest.CollectReport) -> None:
            if report.failed:
                self.failed = report

        @pytest.hookimpl(tryfirst=True)
        def pytest_sessionfinish(self, session: pytest.Session) -> None:
            xml = private.junit_xml(session.config)
            assert xml
            xml.suite_start = HOUR_AGO
            xml.node_reporter(self.failed).add_property("name", "value")

    pytester.makepyfile("raise OSError")

    pytester.runpytest_inprocess("--junit-xml=report.xml", plugins=[Earlier()])

    suite = ET.parse(pytester.path / "report.xml").getroot()[0]  # noqa: S314 - our own file
    assert "3600.000" == suite.attrib["time"]
    properties = [each.attrib for each in suite.iterfind("testcase/properties/property")]
    assert [{"name": "name", "value": "value"}] == properties


def test_pytest_without_junit_xml_has_no_writer_of_it(pytester: pytest.Pytester) -> None:
    """Only ``--junit-xml`` makes one."""
    assert private.junit_xml(pytester.parseconfigure()) is None


def test_pytest_tears_down_what_the_next_test_does_not_share(pytester: pytest.Pytester) -> None:
    """A test that is not run ends the fixtures of the one before it, if it is their last."""

    class Replayed:
        def pytest_runtest_protocol(
            self, item: pytest.Item, nextitem: pytest.Item | None
        ) -> bool | None:
            if item.name != "test_replayed":
                return None
            private.tear_down_for(item.session, nextitem)
            return True

    pytester.makepyfile(test_first=FIXTURE, test_second=NEXT)

    result = pytester.runpytest_inprocess(plugins=[Replayed()])

    result.assert_outcomes(passed=2)


class Captured:
    """Reads the files of captured output while a test runs."""

    def __init__(self) -> None:
        self.texts = {"none": b"so far"}

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Generator[None, object, object]:
        """Read once the test has written."""
        done = yield
        files = private.captured_files(pyfuncitem.config)
        self.texts = {name: os.pread(file, 100, 0) for name, file in files.items()}
        return done


def test_pytest_captures_into_files_of_its_manager(pytester: pytest.Pytester) -> None:
    """They have at once what a test writes to a file descriptor."""
    captured = Captured()
    pytester.makepyfile(WRITES)

    pytester.runpytest_inprocess("--capture=fd", plugins=[captured])

    assert {"out": b"one", "err": b"two"} == captured.texts


@pytest.mark.parametrize("argument", ["-s", "--capture=sys", "-pno:capture"])
def test_pytest_has_no_files_of_descriptors_that_it_does_not_capture(
    pytester: pytest.Pytester, argument: str
) -> None:
    """What a test prints goes to the terminal, or to a stream of Python's."""
    captured = Captured()
    pytester.makepyfile(PASSES)

    pytester.runpytest_inprocess(argument, plugins=[captured])

    assert {} == captured.texts


def test_a_pytest_that_captures_in_another_way_is_named() -> None:
    """The error has the name of the attribute that its manager lacks."""
    config: Any = SimpleNamespace(pluginmanager=SimpleNamespace(get_plugin=lambda _: object()))

    with pytest.raises(private.MissingNameError, match="_global_capturing"):
        private.captured_files(config)


def test_pytest_configures_all_plugins_and_tidies_up(pytester: pytest.Pytester) -> None:
    """As around a session, without one."""
    seen: list[str] = []

    class Noted:
        def pytest_configure(self) -> None:
            seen.append("configured")

        def pytest_unconfigure(self) -> None:
            seen.append("unconfigured")

    config = pytester.parseconfig()
    config.pluginmanager.register(Noted())

    private.configure(config)
    assert ["configured"] == seen
    assert config.pluginmanager.has_plugin("terminalreporter")

    private.unconfigure(config)
    assert ["configured", "unconfigured"] == seen


def test_pytest_explains_asserts_while_its_protocol_runs(pytester: pytest.Pytester) -> None:
    """Outside of a test, a hook near the test explains an assert, until the protocol ends."""
    pytester.makeconftest("def pytest_assertrepr_compare(): return ['explained here']")
    item = pytester.getitem("def test_it():\n    one = 1\n    assert one == 2\n", "test_it")
    assert isinstance(item, pytest.Function)

    explaining = private.explain_asserts(item)
    with pytest.raises(AssertionError, match="explained here"):
        item.obj()
    with pytest.raises(StopIteration):
        next(explaining)

    with pytest.raises(AssertionError) as caught:
        item.obj()
    assert "explained here" not in str(caught.value)


# xdist (3.8.0) and execnet (2.1.2)


def test_xdist_keeps_the_process_of_a_worker(pytester: pytest.Pytester) -> None:
    """It has the exit status once xdist has seen that the worker is gone."""
    codes: list[int | None] = []

    class Ends:
        def pytest_testnodedown(self, node: Any) -> None:
            process = private.worker_process(node.gateway)
            codes.append(process.wait(60) if process else None)

    pytester.makepyfile("import os\n\ndef test_it(): os._exit(7)\n")

    pytester.runpytest_inprocess("-n1", "--max-worker-restart=0", plugins=[Ends()])

    assert [7] == codes


def test_a_worker_elsewhere_has_no_process_here() -> None:
    """Behind a socket, or started by another worker."""
    for spec in ("socket=host:1", "popen//via=gw0"):
        gateway = SimpleNamespace(_io=object(), spec=execnet.XSpec(spec))

        assert private.worker_process(gateway) is None


def test_an_xdist_that_hides_the_process_is_named() -> None:
    """The worker is one of this machine, so it has a process."""
    gateway = SimpleNamespace(_io=object(), spec=execnet.XSpec("popen"))

    with pytest.raises(private.MissingNameError, match="popen"):
        private.worker_process(gateway)


# torch (2.13.0)


@pytest.mark.torch
def test_torch_demangles_names_of_the_linker() -> None:
    """With namespaces and types, as C++ has them."""
    assert "at::foo(at::Tensor const&)" == private.demangle("_ZN2at3fooERKNS_6TensorE")


@pytest.mark.torch
def test_torch_gives_an_overload_its_schema() -> None:
    """The operator's name, the overload's, and the names of the parameters."""
    import torch  # noqa: PLC0415 - for tests that need it

    add = torch.ops.aten.add.Tensor

    assert private.is_overload(add)
    assert not private.is_overload(torch.add)
    assert ("aten::add", "Tensor") == (private.operator_name(add), private.overload_name(add))
    assert ["self", "other", "alpha"] == private.argument_names(add)


@pytest.mark.torch
def test_what_a_thread_keeps_is_told() -> None:
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
def test_a_version_counts_writes() -> None:
    """An inference tensor has none."""
    import torch  # noqa: PLC0415 - for tests that need it

    with torch.inference_mode():
        assert private.version_of(torch.ones(2)) is None
    assert 1 == private.version_of(torch.ones(2).add_(1))


@pytest.mark.torch
def test_the_profiler_sees_every_thread() -> None:
    """One that runs beside the profiled one."""
    import torch  # noqa: PLC0415 - for tests that need it

    thread = threading.Thread(target=lambda: torch.ones(2).exp())
    with private.profile_every_thread(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        thread.start()
        thread.join()

    assert "aten::exp" in {event.name for event in profile.events()}


@pytest.mark.torch
def test_torch_asks_a_mode_whether_dynamo_is_to_skip_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """``_should_skip_dynamo`` decides whether the mode's method is wrapped; by default it is."""
    import torch  # noqa: PLC0415 - for tests that need it

    wrapped: list[object] = []
    monkeypatch.setattr(torch, "_disable_dynamo", lambda method, **_: wrapped.append(method))

    def see(self: object, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    base = private.dispatch_mode()
    members = {"__torch_dispatch__": see}
    type("Seen", (base,), {**members, "_should_skip_dynamo": classmethod(lambda _: False)})
    assert [] == wrapped

    type("Skipped", (base,), members)
    assert [see] == wrapped


@pytest.mark.torch
def test_torch_can_do_without_dispatch_modes() -> None:
    """A mode sees what is called before the block and after it, and nothing in it."""
    import torch  # noqa: PLC0415 - for tests that need it

    seen: list[str] = []
    base: Any = private.dispatch_mode()

    class Noted(base):  # type: ignore[misc]
        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            # Otherwise torch imports dynamo, which takes seconds.
            return False

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


@pytest.mark.torch
def test_torch_can_do_without_the_overrides_of_a_subclass() -> None:
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


# Triton (3.7.1)


@pytest.mark.torch
@pytest.mark.tool("triton")
def test_triton_gives_tensors_their_methods_by_a_function_that_can_be_replaced() -> None:
    """Its first parameter is the tensor, and the interpreter looks it up when it is called."""
    import inspect  # noqa: PLC0415 - for this test alone

    module, name = private.triton_tensor_setup()

    assert "tensor" == next(iter(inspect.signature(getattr(module, name)).parameters))
    assert any(
        name in function.__code__.co_names
        for function in vars(module).values()
        if inspect.isfunction(function)
    )


@pytest.mark.torch
@pytest.mark.tool("triton")
def test_triton_holds_elements_in_arrays_of_numpy() -> None:
    """Floats, integers and pointers; bfloat16 has no dtype of NumPy's and is held as uint16."""
    import triton.language as tl  # noqa: PLC0415 - may be missing

    types = (tl.float32, tl.int8, tl.pointer_type(tl.float32), tl.bfloat16)
    names = [private.triton_numpy_dtype(each).name for each in types]

    assert ["float32", "int8", "uint64", "uint16"] == names
