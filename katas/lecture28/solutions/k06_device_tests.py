"""One test for each device and dtype: write a small ``instantiate_device_type_tests``."""

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

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def checked(self: Any, *args: Any, **kwargs: Any) -> Any:
            if self.device_type != device:
                raise unittest.SkipTest(f"Only runs on {device}")
            return test(self, *args, **kwargs)

        return checked

    return decorate


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
    own = vars(template).items()
    names = [name for name, each in own if name.startswith("test") and callable(each)]
    for device in devices:
        members: dict[str, Any] = {"device_type": device, "__module__": template.__module__}
        for name in names:
            test = getattr(template, name)
            for dtype in dtypes_of(test, device):
                fixed = {"dtype": dtype} if dtype else {}
                suffix = str(dtype).replace("torch.", "_") if dtype else ""
                members[f"{name}_{device}{suffix}"] = functools.partialmethod(
                    test, device=device, **fixed
                )
        title = template.__name__ + device.upper()
        scope[title] = type(title, (template,), members)
    for name in names:
        delattr(template, name)
    del scope[template.__name__]
