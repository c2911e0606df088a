"""One test for each device and dtype: write a small ``instantiate_device_type_tests``.

CI says that ``TestFooCPU.test_add_cpu_float32`` failed, but no file contains it. The class was a
template, and a call below it generated the tests:

    class TestFoo(TestCase):                       TestFooCPU    test_add_cpu_float32
        @dtypes(torch.float32, torch.int64)                      test_add_cpu_int64
        def test_add(self, device, dtype): ...                   test_copy_cpu
        @only_on("meta")                           TestFooMETA   test_add_meta_float32
        def test_copy(self, device): ...                         test_add_meta_int64
                                                                 test_copy_meta
    instantiate(TestFoo, globals(), ["cpu", "meta"])

``test_copy_cpu`` exists too: it is skipped when it runs, with a reason that CI can count.

1. `only_on`: a decorator that skips.
2. `instantiate`: a class for each device, a test for each dtype. What happens to the template?

Begin with ``type("TestFooCPU", (TestFoo,), {"device_type": "cpu"})``. Which tests does unittest
find in it?

Real life differs: the devices come from the machine and from environment variables.
Afterwards read ``instantiate_device_type_tests`` in
``torch/testing/_internal/common_device_type.py``.
"""

from __future__ import annotations

import functools
import unittest
from typing import TYPE_CHECKING
from typing import Any


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterable

    import torch


Test = Any


def dtypes(*types: torch.dtype, device: str = "") -> Callable[[Test], Test]:
    """Set the dtypes for which a test is generated, on all devices or only on `device`. Given."""

    def decorate(test: Test) -> Test:
        test.dtypes = {**getattr(test, "dtypes", {}), device: types}
        return test

    return decorate


def dtypes_of(test: Test, device: str) -> tuple[Any, ...]:
    """Return the dtypes of a test on a device; (None,) without `dtypes`. Given."""
    table = getattr(test, "dtypes", {"": (None,)})
    return tuple(table.get(device, table.get("", ())))


def only_on(device: str) -> Callable[[Test], Test]:
    """Return a decorator that makes a test raise ``SkipTest`` on other devices.

    For device "meta", the reason is "Only runs on meta". Check ``self.device_type`` when the test
    runs. Keep the name, the docstring and the recorded dtypes, whether `dtypes` is applied above or
    below.
    """
    # TODO: a decorator with an argument: three nested functions.
    raise NotImplementedError("only_on")


def instantiate(
    template: type[unittest.TestCase], scope: dict[str, Any], devices: Iterable[str]
) -> None:
    """Put a subclass of the template into `scope` for each device; remove the template.

    ``TestFoo`` on "cpu" is ``TestFooCPU``, in the template's module, with that `device_type`. Each
    function in ``vars(template)`` whose name begins with "test" becomes ``test_add_cpu``, called
    with device="cpu", or for each of its dtypes ``test_add_cpu_float32``, called with the dtype as
    well. At the end no test has its old name, even in the template. Other members, including
    tests of the template's parent, are inherited unchanged.
    """
    # TODO: first the names, then a class for each device, then the template.
    raise NotImplementedError("instantiate")
