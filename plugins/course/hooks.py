"""The hooks by which a plugin adds devices, backends, lectures and episodes to the course."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest


if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from plugins.capability import Capability
    from plugins.layout import EpisodeRef


@pytest.hookspec
def pytest_kata_lectures(config: pytest.Config) -> Sequence[Path]:  # type: ignore[empty-body]
    """Return folders that hold a ``lecture.toml`` and shall count as lectures of the course.

    Called once per session by ``plugins.course``, when pytest is configured. The lectures under
    ``katas/`` are found without it. A bare ``pytest`` runs the folders too.

    Example: ``return [Path(__file__).parent / "lecture90"]``
    """


@pytest.hookspec
def pytest_kata_devices(config: pytest.Config) -> Sequence[Capability]:  # type: ignore[empty-body]
    """Return devices that the argument ``device`` of a test runs over, present or not.

    Called once per session by ``plugins.devices``, when pytest is configured. A name is what
    the test receives, what ``torch.device`` takes, and a mark: ``-m xpu``. The probe is called
    when the first test that needs the device is about to run, and not at all if there is none.
    Every device is declared on every machine, so that the ids of tests are the same everywhere.

    A device that a package brings is registered by its entry point of the group
    ``torch.backends``, and not by the probe, which would come too late: autograd starts a thread
    for each device that is registered before the first backward pass.

    Example: ``return [Capability("xpu", why_no_xpu)]``
    """


@pytest.hookspec
def pytest_kata_backends(config: pytest.Config) -> Sequence[Capability]:  # type: ignore[empty-body]
    """Return compilers and libraries that a test can ask for by ``@pytest.mark.backend(name)``.

    Called once per session by ``plugins.backends``, when pytest is configured. The probe is
    called when the first test that asks for the backend is about to run; a test whose backend
    is missing is skipped before its fixtures are set up.

    Example: ``return [Capability("tvm", why_no_tvm)]``
    """


@pytest.hookspec(firstresult=True)
def pytest_kata_episodes(item: pytest.Item | pytest.Collector) -> Sequence[EpisodeRef] | None:
    """Return the episodes to name when `item` fails, the best one first, or None to pass.

    Called by ``plugins.episodes`` for each failure of a kata: of a test, or of a test module
    that cannot be imported. The first answer counts; that of the course, which comes last, is
    what ``lecture.toml`` says. A lecture's own ``conftest.py`` may answer for its tests.

    Example: ``return [EpisodeRef("strides", "a view is its strides and an offset")]``
    """


@pytest.hookspec
def pytest_kata_episode_sources(config: pytest.Config) -> Sequence[Path]:  # type: ignore[empty-body]
    """Return files with further episodes, in the form of ``episodes.toml``.

    Called once per session by ``plugins.episodes``, when episodes are first looked up. A slug
    that two files define is an error of the later one. ``python -m plugins.feed SOURCE --file
    FILE`` makes such a file of any podcast's feed.

    Example: ``return [Path(__file__).with_name("episodes.toml")]``
    """
