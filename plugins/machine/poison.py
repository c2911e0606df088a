"""A fault that breaks a device for the whole process is one failed test; the others still run.

A stray store of a kernel is such a fault: from then on every call of CUDA returns the same error,
and only another process can use the GPU. The hook `pytest_kata_device_poisoned` reports it for any
device. pytest calls it after each step of a test, so that the test that made the fault fails. Under
the crash guard a fresh process runs the remaining tests; without the guard the remaining tests of
that device are skipped.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import pytest

from plugins.course.notes import Poisoned
from plugins.course.notes import devices_key
from plugins.course.notes import devices_of
from plugins.course.notes import poisoned_key
from plugins.course.notes import replaced_key
from plugins.machine.absent import require
from plugins.tools.capability import Capability


if TYPE_CHECKING:
    from collections.abc import Generator


WIDTH = 80
HEAD = "{} can no longer be used in this process: {}"
LATE = (
    "The device works asynchronously, so the fault may only show now, when pytest waits for it: "
    "look at what was launched here."
)
RENEWED = "The remaining tests run in a fresh process."
ALONE = "The remaining tests on {} are skipped, as they need a fresh process."
SKIPPED = (
    "cannot be used in this process since {}: {}; under the crash guard the remaining tests run in "
    "a fresh process (pytest -v says why there is no guard)"
)
SINCE = "{} cannot be used in this process since {}: that may be why."


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    """Skip a test whose device is broken; else look whether its fixtures break one."""
    __tracebackhide__ = True
    if poisoned := item.config.stash.get(poisoned_key, None):
        skip_on(poisoned, item)
    return (yield from watch_step(item))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Look whether the test breaks a device."""
    __tracebackhide__ = True
    return (yield from watch_step(item))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, object, object]:
    """Look whether the end of the test breaks a device.

    After the fault, fixtures that use the device cannot but fail: that says nothing new.
    """
    __tracebackhide__ = True
    if poisoned_key not in item.config.stash:
        return (yield from watch_step(item))
    try:
        return (yield)
    except pytest.exit.Exception:
        raise
    except (Exception, pytest.fail.Exception, BaseExceptionGroup):  # noqa: BLE001 - see above
        return None


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Let a module whose import breaks a device fail."""
    report = yield
    if isinstance(collector, pytest.Module) and (found := find_poisoned(collector, None)):
        report.outcome = "failed"
        report.longrepr = tell_poisoned(found, collector.config)
        report.result = []
    return report


def watch_step(item: pytest.Item) -> Generator[None, object, object]:
    """Fail the test if a device is broken after this step of it; note it in an error of its own."""
    __tracebackhide__ = True
    try:
        result = yield
    except pytest.exit.Exception:
        raise
    except (Exception, pytest.fail.Exception) as error:
        before = item.config.stash.get(poisoned_key, None)
        if found := find_poisoned(item, error):
            error.add_note(tell_poisoned(found, item.config))
        elif before:
            error.add_note(SINCE.format(before.device, before.nodeid))
        raise
    except pytest.skip.Exception as skip:
        fail_if_poisoned(item, skip)
        raise
    fail_if_poisoned(item, None)
    return result


def fail_if_poisoned(item: pytest.Item, error: BaseException | None) -> None:
    """Fail the test if a device is broken, whatever it would be without that."""
    __tracebackhide__ = True
    if found := find_poisoned(item, error):
        pytest.fail(tell_poisoned(found, item.config), pytrace=False)


def find_poisoned(
    item: pytest.Item | pytest.Collector, error: BaseException | None
) -> Poisoned | None:
    """Return the device that has broken just now, if one has, and remember it."""
    stash = item.config.stash
    if poisoned_key in stash:
        return None
    for device in stash[devices_key]:
        why = item.ihook.pytest_kata_device_poisoned(item=item, device=device, error=error)
        if why is not None:
            stash[poisoned_key] = found = Poisoned(device, " ".join(why.split()), item.nodeid)
            return found
    return None


def tell_poisoned(found: Poisoned, config: pytest.Config) -> str:
    """Return what has happened, and what it means for the other tests."""
    renewed = config.stash.get(replaced_key, False)
    rest = RENEWED if renewed else ALONE.format(found.device)
    lines = [line for text in (LATE, rest) for line in textwrap.wrap(text, WIDTH)]
    return "\n".join([HEAD.format(found.device, found.why), *lines])


def skip_on(poisoned: Poisoned, item: pytest.Item) -> None:
    """Skip a test of the device that is broken."""
    why = SKIPPED.format(poisoned.nodeid, poisoned.why)
    if poisoned.device in devices_of(item):
        require(item, [Capability(poisoned.device, lambda: why)])
