"""A device of the tests, which a stray store breaks until its process ends."""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from tests.conftest import MiniCourse


PLUGINS = (
    "plugins.course.session",
    "plugins.course.limits",
    "plugins.course.solutions",
    "plugins.course.seeds",
    "plugins.machine.absent",
    "plugins.machine.devices",
    "plugins.machine.poison",
    "plugins.crash.plugin",
    "plugins.guide.episodes",
    "plugins.guide.failures",
    "plugins.guide.summary",
    "plugins.progress.plugin",
    "plugins.loop.next",
)
CONFTEST = """
import sys
from plugins.tools.capability import Capability

pytest_plugins = {plugins!r}


def pytest_kata_devices():
    return [Capability(name, lambda: None) for name in ("fake", "other")]


def pytest_kata_device_poisoned(device):
    module = sys.modules.get("fake")
    return module.broken if module and device == "fake" else None
"""
DEVICE = '''
"""Ten elements; a store outside breaks all calls that come after it, as a fault does with CUDA."""

import os

broken = None


def store(index):
    """Come back at once, whatever happens."""
    global broken
    wait()
    if index > 9:
        broken = f"fake error: element {index} of 10"
    with open("log", "a") as log:
        log.write(f"store({index}) in process {os.getpid()}\\n")


def wait():
    """Raise what an earlier call has done."""
    if broken:
        raise RuntimeError(broken)
'''
# A torch that seeds the device too, which raises what the device has done.
TORCH = """
from types import SimpleNamespace
import fake

accelerator = SimpleNamespace(current_accelerator=lambda: "fake")
default_generator = SimpleNamespace(manual_seed=lambda seed: None)


def manual_seed(seed):
    fake.wait()
"""
# What a fault of the device says, wherever it is told.
ERROR = "fake error: element 10 of 10"
BROKEN = f"fake can no longer be used in this process: {ERROR}"
STORE = """
import fake

def test_before(device):
    if device == "fake": fake.store(0)

def test_stray(device):
    if device == "fake": fake.store({index})

def test_after(device):
    if device == "fake": fake.store(1)

def test_of_no_device(): pass
"""


def add_device(course: MiniCourse, *plugins: str) -> None:
    """Let the course declare the device, and load the plugins that have to do with devices."""
    course.write("conftest.py", CONFTEST.format(plugins=(*PLUGINS, *plugins)))
    course.write("site/fake.py", DEVICE)
    course.path_first(course.path / "site")


def read_processes(course: MiniCourse) -> list[tuple[str, int]]:
    """Return the stores that the device has made, and a number for each process that made some."""
    lines = (course.path / "log").read_text().splitlines()
    stores = [line.partition(" in process ")[::2] for line in lines]
    processes = [*dict.fromkeys(process for _, process in stores)]
    return [(store, processes.index(process)) for store, process in stores]
