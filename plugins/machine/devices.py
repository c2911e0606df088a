"""A test that names the argument ``device`` runs over every declared device."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from plugins.absent import require
from plugins.capability import declared
from plugins.capability import named


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Mapping

    from plugins.capability import Capability


devices_key = pytest.StashKey["dict[str, Capability]"]()
wanted_key = pytest.StashKey[list[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that narrows the session."""
    parser.getgroup("katas").addoption(
        "--device",
        action="append",
        default=[],
        metavar="NAME",
        help="Leave out tests on other devices than these (cpu, cuda, mps). "
        "Several: --device=cpu,cuda, or the option again.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Ask all plugins for their devices and document the markers."""
    known = declared("device", config.hook.pytest_kata_devices(config=config))
    config.stash[devices_key] = known
    config.stash[wanted_key] = wanted(config.getoption("device"), known)
    config.addinivalue_line(
        "markers",
        f"device(name, ...): the argument `device` runs over these only, of {', '.join(known)}.",
    )
    for name in known:
        config.addinivalue_line("markers", f"{name}: the test runs on this device, if it is here.")


def wanted(options: Iterable[str], known: Mapping[str, Capability]) -> list[str]:
    """Return the devices that ``--device`` asks for.

    Raises
    ------
    pytest.UsageError
        If one is unknown, or cannot be used on this machine: a run that was asked to use it
        must not be green because it skipped everything.
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
    """Return the devices of whose names `item` bears the mark: one, or none for most tests."""
    known = item.config.stash[devices_key]
    return [device for name, device in known.items() if item.get_closest_marker(name)]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrize ``device``; the ids depend on what is declared, never on what is here.

    Directly and not by a fixture: hypothesis refuses fixtures of function scope, which it
    cannot set up again for each example.
    """
    known = metafunc.config.stash[devices_key]
    devices = list(known.values())
    if mark := metafunc.definition.get_closest_marker("device"):
        devices = named(mark, known, metafunc.definition.nodeid)
    if "device" in metafunc.fixturenames:
        params = [
            pytest.param(name, id=name, marks=getattr(pytest.mark, name))
            for name in known
            if known[name] in devices
        ]
        metafunc.parametrize("device", params)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect what runs on a device that ``--device`` leaves out."""
    if not (names := config.stash[wanted_key]):
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
    """Skip where the device is missing; only now, so that what nobody runs is never probed."""
    require(item, devices_of(item))
