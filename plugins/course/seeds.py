"""The plugin for seeds: each kata test has its own, and hypothesis one profile for all katas.

Python, NumPy and torch are seeded from the test's node id and ``--seed`` before its fixtures.
"""

from __future__ import annotations

import random
import sys
import zlib
from typing import TYPE_CHECKING

import pytest

from plugins.course.notes import poisoned_key
from plugins.course.session import kata_of
from plugins.tools.tensor_repr import show_layouts


if TYPE_CHECKING:
    from pathlib import Path


PROFILE = "katas"

loaded_key = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that changes every seed at once."""
    parser.getgroup("katas").addoption(
        "--seed",
        type=int,
        default=0,
        help="Change the random seeds of all katas and what hypothesis draws (default: 0).",
    )


def seed_of(nodeid: str, seed: int) -> int:
    """Return the seed of a test: 32 bits, the same on every machine and in any order of tests."""
    return zlib.crc32(f"{seed} {nodeid}".encode())


def wants_hypothesis(text: bytes) -> bool:
    """Whether a test module with this text uses hypothesis; imports neither."""
    return b"hypothesis" in text


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> None:
    """Load the hypothesis profile before the first test module that uses hypothesis.

    ``@given`` reads its settings where it decorates, while the module is imported. A session
    that needs no hypothesis does not import it.
    """
    config = parent.config
    if config.stash.get(loaded_key, False):
        return
    # Where hypothesis is imported already, as in the gate, there is nothing to save.
    if "hypothesis" not in sys.modules and not wants_hypothesis(module_path.read_bytes()):
        return
    config.stash[loaded_key] = True
    show_layouts()
    # An explicit --hypothesis-profile wins.
    if config.getoption("--hypothesis-profile", None):
        return
    from hypothesis import Phase  # noqa: PLC0415 - see above
    from hypothesis import settings  # noqa: PLC0415

    # No deadline: a first call may compile. Without --seed the examples stay the same, so a
    # learner sees the same failure until the kata is solved. One failure at a time: several would
    # be an ExceptionGroup, in which no plugin looks for a kernel's fault. No phase "explain": it
    # runs a failing test hundreds of times more, to add a comment.
    varied = bool(config.getoption("seed"))
    settings.register_profile(
        PROFILE,
        deadline=None,
        max_examples=25,
        derandomize=not varied,
        print_blob=varied,
        report_multiple_bugs=False,
        phases=[phase for phase in Phase if phase is not Phase.explain],
    )
    settings.load_profile(PROFILE)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Seed the test of a kata before its fixtures make data."""
    if kata_of(item) is None:
        return
    broken = poisoned_key in item.config.stash
    set_seeds(seed_of(item.nodeid, item.config.getoption("seed")), devices=not broken)


def set_seeds(seed: int, *, devices: bool = True) -> None:
    """Seed Python, and NumPy and torch if they are imported; torch's devices unless one is broken.

    A broken device raises its error again when it is seeded, in tests that do not use it.
    """
    random.seed(seed)
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed(seed)
    if torch := sys.modules.get("torch"):
        # torch.manual_seed notes a seed, with a traceback, for each kind of device that this torch
        # was not built for: a millisecond a test.
        built = devices and torch.accelerator.current_accelerator() is not None
        (torch.manual_seed if built else torch.default_generator.manual_seed)(seed)
