"""Runs a test that takes the argument ``device`` on every declared device."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from plugins.course import notes
from plugins.course.notes import devices_key
from plugins.machine.absent import require
from plugins.tools.capability import collect_by_name
from plugins.tools.capability import resolve_mark


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Mapping

    from plugins.tools.capability import Capability


known_key = pytest.StashKey["dict[str, Capability]"]()
device_option_key = pytest.StashKey[list[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--device``."""
    parser.getgroup("katas").addoption(
        "--device",
        action="append",
        default=[],
        metavar="NAME",
        help="Leave out tests on devices other than these (cpu, cuda, mps). "
        "For several: --device=cpu,cuda, or repeat the option.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Ask all plugins for their devices and document the markers."""
    known = collect_by_name("device", config.hook.pytest_kata_devices(config=config))
    config.stash[known_key] = known
    config.stash[devices_key] = tuple(known)
    config.stash[device_option_key] = resolve_device_option(config.getoption("device"), known)
    config.addinivalue_line(
        "markers",
        f"device(name, ...): the argument `device` takes only these values, of {', '.join(known)}.",
    )
    for name in known:
        config.addinivalue_line("markers", f"{name}: the test needs this device.")


def resolve_device_option(options: Iterable[str], known: Mapping[str, Capability]) -> list[str]:
    """Return the names given with ``--device``.

    Raises
    ------
    pytest.UsageError
        If one is unknown, or cannot be used on this machine: a run on a requested device must
        not pass by skipping everything.
    """
    names = [name.strip() for option in options for name in option.split(",")]
    for name in names:
        if name not in known:
            raise pytest.UsageError(
                f"--device: expected one or more of {', '.join(known)}; found {name!r}"
            )
        if reason := known[name].missing:
            raise pytest.UsageError(f"--device: {name} cannot be used here: {reason}")
    return names


def devices_of(item: pytest.Item) -> list[Capability]:
    """Return the devices that `item` is marked with: one, or none for most tests."""
    known = item.config.stash[known_key]
    return [known[name] for name in notes.devices_of(item)]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrize ``device``; the ids depend on the declared devices, not on this machine.

    There is no fixture ``device``: Hypothesis refuses fixtures of function scope, which are not
    set up again for each example.
    """
    known = metafunc.config.stash[known_key]
    devices = list(known.values())
    if mark := metafunc.definition.get_closest_marker("device"):
        devices = resolve_mark(mark, known, metafunc.definition.nodeid)
    if "device" in metafunc.fixturenames:
        params = [
            pytest.param(name, id=name, marks=getattr(pytest.mark, name))
            for name in known
            if known[name] in devices
        ]
        metafunc.parametrize("device", params)


@pytest.hookimpl(tryfirst=True)  # before `progress.plugin` counts a kata's tests
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect tests on devices that ``--device`` leaves out."""
    if not (names := config.stash[device_option_key]):
        return
    kept: list[pytest.Item] = []
    dropped: list[pytest.Item] = []
    for item in items:
        others = any(device.name not in names for device in devices_of(item))
        (dropped if others else kept).append(item)
    config.hook.pytest_deselected(items=dropped)
    items[:] = kept


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip where the device is missing; only now, so a deselected device is never probed."""
    require(item, devices_of(item))
