"""The hooks by which a package adds lectures, devices, backends and episodes to the course.

A package implements them with ``@pytest.hookimpl(optionalhook=True)``: its entry point is loaded
in every project of its environment, and outside the course pytest would refuse an unknown hook.
``docs/third-parties.md`` goes through them step by step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest


if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from plugins.course.model import EpisodeRef
    from plugins.tools.capability import Capability


@pytest.hookspec
def pytest_kata_lectures(config: pytest.Config) -> Sequence[Path]:  # type: ignore[empty-body]
    """Return folders with a ``lecture.toml`` that are to be lectures of the course.

    Called once per session by ``plugins.course.session``, when pytest is configured (earlier with
    ``--watch``, or if the command line has the name of a kata), or by
    ``plugins.progress.overview`` for ``--course``. The lectures under ``katas/`` need no hook. A
    bare ``pytest`` also runs the tests in these folders.

    The name of the folder is that of the lecture, ``lectureNN``, and no other lecture's. By it the
    command line knows the lecture, and by ``lecture90/k01_double`` a kata, wherever they lie.

    Example: ``return [Path(__file__).parent / "lecture90"]``
    """


@pytest.hookspec
def pytest_kata_devices(config: pytest.Config) -> Sequence[Capability]:  # type: ignore[empty-body]
    """Return the devices that the argument ``device`` of a test can be, present or not.

    Called once per session by ``plugins.machine.devices``, when pytest is configured. The name of
    a device is the argument that the test receives, what ``torch.device`` accepts, and a mark, as
    in ``-m xpu``. The probe runs at most once: when ``--device`` names the device, or just before
    the first test that needs it. Declare the device on every machine, so test ids are the same
    everywhere.

    A package that brings a device must register it by an entry point in the group
    ``torch.backends``. The probe would be too late: autograd starts one thread for each device
    that is registered before the first backward pass.

    Example: ``return [Capability("xpu", why_no_xpu)]``
    """


@pytest.hookspec(firstresult=True)
def pytest_kata_device_poisoned(
    item: pytest.Item | pytest.Collector, device: str, error: BaseException | None
) -> str | None:
    """Return why this process can no longer use `device`, or None if it can.

    Called by ``plugins.machine.poison`` for each declared device, after each setup, call and
    teardown of a test, with the `error` that the test raised, and after each import of a test
    module. A fault of a kernel can break a device until its process ends, as an illegal address
    does with CUDA: from then on every call fails. The first answer that is not None counts. The
    test fails, and a fresh process runs the remaining tests; without the crash guard the tests of
    this device are skipped.

    Return at once, and import nothing, in a process that has not used the device. Wait for the
    device, so that the test that made the fault fails and not the next one.

    Example: ``return why_xpu_is_broken() if device == "xpu" else None``
    """


@pytest.hookspec
def pytest_kata_backends(config: pytest.Config) -> Sequence[Capability]:  # type: ignore[empty-body]
    """Return the compilers and libraries that ``@pytest.mark.backend(name)`` can name.

    Called once per session by ``plugins.machine.backends``, when pytest is configured. The probe
    runs at most once, just before the first test that needs the backend. If the backend is
    missing, the test is skipped before its fixtures are set up.

    Example: ``return [Capability("tvm", why_no_tvm)]``
    """


@pytest.hookspec
def pytest_kata_languages(config: pytest.Config) -> Sequence[str]:  # type: ignore[empty-body]
    """Return the names of languages beside C++ that sources of katas can be written in.

    Called once per session by ``plugins.native.languages``, when pytest is configured, and with
    ``--watch`` before each run. A name is that of a ``plugins.native.languages.Language`` in a
    module that any process can import: one beside pytest builds the katas ahead.

    Example: ``return ["my_package.opencl:OPENCL"]``
    """


@pytest.hookspec(firstresult=True)
def pytest_kata_episodes(item: pytest.Item | pytest.Collector) -> Sequence[EpisodeRef] | None:
    """Return the episodes to show when `item` fails, best first, or None to leave it to others.

    Called by ``plugins.guide.failures`` for each failure in a kata: a test, or a test module that
    cannot be imported. The first answer counts; the course answers last, with the episodes from
    ``lecture.toml``. A lecture's own ``conftest.py`` can answer for its tests. Of each kata, those
    for its first failure are shown.

    Example: ``return [EpisodeRef("strides", "a view is its strides and an offset")]``
    """


@pytest.hookspec
def pytest_kata_episode_sources(config: pytest.Config) -> Sequence[Path]:  # type: ignore[empty-body]
    """Return files with further episodes, in the format of ``episodes.toml``.

    Called once per session by ``plugins.guide.episodes``, when episodes are first looked up. If
    two files define the same slug, the later file has an error. ``python -m plugins.feed SOURCE
    --file FILE`` makes such a file from the feed of any podcast.

    Example: ``return [Path(__file__).with_name("episodes.toml")]``
    """
