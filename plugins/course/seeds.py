"""Every kata test starts from a seed of its own; hypothesis has one profile for all katas."""

from __future__ import annotations

import random
import sys
import zlib
from typing import TYPE_CHECKING

import pytest

from plugins.course import kata_of


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
    """Return the seed of a test: 32 bits, the same on every machine and in any order."""
    return zlib.crc32(f"{seed} {nodeid}".encode())


def wants_hypothesis(text: bytes) -> bool:
    """Whether a test module of this text uses hypothesis, told without importing either."""
    return b"hypothesis" in text


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> None:
    """Load the hypothesis profile before the first test module that uses hypothesis.

    ``@given`` reads its settings where it decorates, which is while the module is imported;
    sessions that need no hypothesis do not pay for importing it.
    """
    config = parent.config
    # An explicit --hypothesis-profile is the user's word.
    if config.stash.get(loaded_key, False) or config.getoption("--hypothesis-profile", None):
        return
    if not wants_hypothesis(module_path.read_bytes()):
        return
    from hypothesis import Phase  # noqa: PLC0415 - see above
    from hypothesis import settings  # noqa: PLC0415

    # No deadline, since a first call may compile. A learner's red test stays the same test
    # until --seed asks for other examples. One failure at a time: two kinds would be a group of
    # exceptions, in which no plugin looks for a kernel's fault. To explain a failure hypothesis
    # runs it hundreds of times more, for a comment that few will miss.
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
    config.stash[loaded_key] = True


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Seed Python, NumPy and torch before fixtures make data; only those already imported."""
    if kata_of(item) is None:
        return
    sow(seed_of(item.nodeid, item.config.getoption("seed")))


def sow(seed: int) -> None:
    """Seed Python, and NumPy and torch if they are already imported."""
    random.seed(seed)
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed(seed)
    if torch := sys.modules.get("torch"):
        torch.manual_seed(seed)
