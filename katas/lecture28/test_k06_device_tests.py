"""Tests of k06_device_tests: PyTorch's instantiate_device_type_tests generates the same tests."""

from __future__ import annotations

import unittest
from typing import TYPE_CHECKING
from typing import Any

import torch

from katas.lecture28 import k06_device_tests as kata
from katas.lecture28.k06_device_tests import dtypes
from katas.lecture28.k06_device_tests import instantiate
from katas.lecture28.k06_device_tests import only_on
from plugins.kit import forbids


if TYPE_CHECKING:
    from collections.abc import Callable

    Decorator = Callable[..., Callable[[Callable[..., None]], Callable[..., None]]]


Calls = list[tuple[str, str, Any]]


class Plain(unittest.TestCase):
    """A stand-in on which decorators are tried."""

    device_type = "cpu"


def template() -> tuple[type[unittest.TestCase], Calls]:
    """Return a new template, and the list in which its tests record their calls."""
    calls: Calls = []

    class TestFoo(unittest.TestCase):
        """A template."""

        tolerance = 0.5
        test_sizes = (2, 3)

        def helper(self) -> float:
            """Return a value; subclasses inherit this."""
            return self.tolerance

        def test_copy(self, device: str) -> None:
            """A test without dtypes runs once for each device."""
            calls.append(("copy", device, self.helper()))

        @dtypes(torch.float32, torch.int64)
        def test_add(self, device: str, dtype: torch.dtype) -> None:
            """A test with dtypes runs for each device and dtype."""
            calls.append(("add", device, dtype))

        @dtypes(torch.float32, torch.bfloat16)
        @dtypes(torch.float64, device="cpu")
        def test_mul(self, dtype: torch.dtype, device: str) -> None:
            """A test with another dtype on the CPU, and its arguments in a different order."""
            calls.append(("mul", device, dtype))

    return TestFoo, calls


def made(*devices: str) -> tuple[dict[str, Any], type[unittest.TestCase], Calls]:
    """Instantiate the template, and return the scope, the template and its calls."""
    found, calls = template()
    scope: dict[str, Any] = {"TestFoo": found, "other": 1}
    instantiate(found, scope, iter(devices))
    return scope, found, calls


def found_in(found: type) -> list[str]:
    """Return the tests that unittest finds in a class."""
    return list(unittest.defaultTestLoader.getTestCaseNames(found))


def run(found: type) -> unittest.TestResult:
    """Run the tests of a class."""
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(found).run(result)
    return result


def skipped(test: Any, device: str = "cpu") -> str:
    """Call a test on a device and return the reason why it is skipped; "" if it runs."""
    case = Plain()
    case.device_type = device
    try:
        test(case, device=device)
    except unittest.SkipTest as reason:
        return str(reason)
    return ""


def test_a_test_for_one_device() -> None:
    """The test runs on that device, and is skipped with a reason elsewhere."""
    calls = []

    @only_on("meta")
    def tried(case: object, device: str) -> str:
        """Say so."""
        calls.append(device)
        return "returned"

    reasons = [skipped(tried, device) for device in ("meta", "cpu", "meta")]
    expected = ["", "Only runs on meta", ""]
    assert reasons == expected, f"reasons on meta, cpu, meta: yours {reasons}, expected {expected}"
    assert calls == ["meta", "meta"], f"the test ran on {calls}, expected meta twice"
    case = Plain()
    case.device_type = "meta"
    try:
        back = tried(case, "meta:1")
    except unittest.SkipTest:
        back = "skipped"
    assert back == "returned", (
        "self.device_type is 'meta' and device, passed by position, is 'meta:1': your code returns"
        f" {back!r},"
        " expected the test's result"
    )


def test_a_decorator_keeps_what_it_wraps() -> None:
    """The name, docstring and dtypes set below are kept; dtypes above are set on the result."""

    def tried(case: object, device: str) -> None:
        """Say so."""

    inner = only_on("cpu")(dtypes(torch.int8)(tried))
    outer = dtypes(torch.int8)(only_on("cpu")(tried))
    for name, test in (("below", inner), ("above", outer)):
        yours = kata.dtypes_of(test, "cpu")
        assert yours == (torch.int8,), f"dtypes {name}: your test has {yours}, expected int8"
    assert (inner.__name__, inner.__doc__) == ("tried", "Say so."), (
        f"your test is called {inner.__name__!r}, expected 'tried', which CI shows"
    )


def test_one_device() -> None:
    """The class is found by unittest, and the template is removed from the scope."""
    scope, found, _ = made("cpu")
    assert sorted(scope) == ["TestFooCPU", "other"], (
        f"your code leaves {sorted(scope)}, expected TestFooCPU and the old names, without TestFoo"
    )
    yours = scope["TestFooCPU"]
    names = (yours.__name__, yours.__module__, yours.device_type)
    assert names == ("TestFooCPU", found.__module__, "cpu"), (
        f"name, module and device: yours {names}, expected TestFooCPU, {found.__module__}, cpu"
    )
    assert issubclass(yours, found), (
        "your class is not a subclass of the template, which contains the helpers"
    )


def test_the_names() -> None:
    """Device and dtype follow the name; dtypes for one device replace the general ones."""
    scope, _, _ = made("cpu", "meta")
    for device, dtype in (("cpu", ["float64"]), ("meta", ["bfloat16", "float32"])):
        expected = [f"test_add_{device}_{each}" for each in ("float32", "int64")]
        expected += [f"test_copy_{device}", *(f"test_mul_{device}_{each}" for each in dtype)]
        yours = found_in(scope[f"TestFoo{device.upper()}"])
        assert yours == expected, f"on {device}: yours {yours}, expected {expected}"
    half = dtypes(torch.float16, device="cuda")(lambda self, device, dtype: (self, device, dtype))
    bar = type("TestBar", (unittest.TestCase,), {"test_half": half})
    scope["TestBar"] = bar
    instantiate(bar, scope, ["cpu"])
    yours = found_in(scope["TestBarCPU"])
    assert yours == [], f"a test with dtypes only for cuda: on cpu yours has {yours}, expected none"


def test_each_test_has_its_own_device_and_dtype() -> None:
    """A function created in a loop looks up the loop variable only when it is called."""
    scope, _, calls = made("cpu", "meta")
    for device in ("cpu", "meta"):
        calls.clear()
        result = run(scope[f"TestFoo{device.upper()}"])
        assert not result.errors, f"on {device}: {result.errors[0][1]}"
        expected = [("add", device, torch.float32), ("add", device, torch.int64)]
        expected += [("copy", device, 0.5)]  # type: ignore[list-item, unused-ignore]
        others = (torch.float64,) if device == "cpu" else (torch.bfloat16, torch.float32)
        expected += [("mul", device, each) for each in others]
        assert calls == expected, (
            f"on {device}: your test was called with {calls}, expected {expected}"
        )


def test_the_template_has_no_test_left() -> None:
    """A subclass would inherit the test, and unittest would call it without a device."""
    _, found, _ = made("cpu")
    left = found_in(found)
    assert left == [], f"the template still has {left}, expected none"
    left = [name for name in vars(found) if name.startswith("test") and name != "test_sizes"]
    assert left == [], f"the template still has the names {left}, expected none: delete them"
    kept = "device_type" in vars(found)
    assert not kept, (
        "your code gives the template a device_type, expected it only in the subclasses"
    )
    assert hasattr(found, "helper"), (
        "your code removes the helper from the template, expected it to stay"
    )
    sizes = getattr(found, "test_sizes", None)
    assert sizes == (2, 3), (
        f"test_sizes is not a function: your code leaves {sizes}, expected (2, 3)"
    )
    scope, found, _ = made()
    assert (sorted(scope), found_in(found)) == (["other"], []), (
        f"without a device: your code leaves the names {sorted(scope)} and the tests"
        f" {found_in(found)}, expected only 'other' and no tests"
    )


def test_a_test_of_the_parent_stays() -> None:
    """An inherited test is not the template's own: it keeps its name, and the parent keeps it."""

    class Parent(unittest.TestCase):
        """A parent with a test that takes no device."""

        def test_plain(self) -> None:
            """Pass."""

    class TestBar(Parent):
        """A template."""

        def test_own(self, device: str) -> None:
            """Pass."""
            assert device

        def testall(self, device: str) -> None:
            """Pass."""
            assert device

    scope: dict[str, Any] = {"TestFoo": Parent, "TestBar": TestBar}
    instantiate(TestBar, scope, ["cpu"])
    assert sorted(scope) == ["TestBarCPU", "TestFoo"], (
        f"your code leaves {sorted(scope)}, expected TestBarCPU and TestFoo, which is not a"
        " template here"
    )
    yours = found_in(scope["TestBarCPU"])
    expected = ["test_own_cpu", "test_plain", "testall_cpu"]
    assert yours == expected, f"yours {yours}, expected {expected}: testall also begins with test"
    assert found_in(Parent) == ["test_plain"], (
        "your code removes the parent's test, expected it to stay"
    )


def outcome(
    dtypes: Decorator, on: Decorator, more: Decorator, make: Callable[..., None]
) -> dict[str, Any]:
    """Instantiate a template on the CPU with these functions, run it, and return the outcome."""

    class TestBaz(unittest.TestCase):
        """A template."""

        @on("cuda")
        @dtypes(torch.float32, torch.bool)
        def test_gpu(self, device: str, dtype: torch.dtype) -> None:
            """Skip."""
            raise AssertionError((device, dtype))

        @more(torch.float64)
        @dtypes(torch.float32)
        @on("cpu")
        def test_more(self, device: str, dtype: torch.dtype) -> None:
            """Pass."""
            assert (device, dtype) == ("cpu", torch.float64)

        def test_plain(self, device: str) -> None:
            """Fail."""
            assert device == "meta"

    scope: dict[str, Any] = {"TestBaz": TestBaz}
    make(TestBaz, scope)
    found = scope["TestBazCPU"]
    result = run(found)
    return {
        "scope": sorted(scope),
        "tests": [
            name for name in found_in(found) if name.startswith("test_") and "exclu" not in name
        ],
        "skipped": sorted((case.id().rpartition(".")[2], why) for case, why in result.skipped),
        "failed": sorted(case.id().rpartition(".")[2] for case, _ in result.failures),
        "errors": sorted(case.id().rpartition(".")[2] for case, _ in result.errors),
        "left": found_in(TestBaz),
    }


def test_as_pytorch_does_it() -> None:
    """PyTorch's functions give the same tests, skips, reasons and failures for the template."""
    from torch.testing._internal import common_device_type as pytorchs  # noqa: PLC0415 - slow

    yours = outcome(
        dtypes,
        only_on,
        lambda *types: dtypes(*types, device="cpu"),
        lambda found, scope: instantiate(found, scope, ["cpu"]),
    )
    expected = outcome(
        pytorchs.dtypes,
        pytorchs.onlyOn,
        pytorchs.dtypesIfCPU,
        lambda found, scope: pytorchs.instantiate_device_type_tests(found, scope, only_for="cpu"),
    )
    for key, value in expected.items():
        assert yours[key] == value, f"{key}: yours {yours[key]}, PyTorch's {value}"


def test_without_pytorchs_own() -> None:
    """Generate the tests yourself, without the library's function."""
    found, _ = template()
    scope: dict[str, Any] = {"TestFoo": found}
    with forbids(kata, "torch.testing") as fresh:
        fresh.instantiate(found, scope, ["meta"])
    assert list(scope) == ["TestFooMETA"], f"your code leaves {list(scope)}, expected TestFooMETA"
