"""``extension`` builds a kata's C++ source and loads it; the build runs while torch is imported."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from katas import source
from plugins import prebuild
from plugins.builder import Builder
from plugins.builder import BuildError
from plugins.building import building
from plugins.capability import Capability
from plugins.compiling import BrokenToolError
from plugins.course import course_key
from plugins.course import kata_of
from plugins.extension import Extension
from plugins.folder import build_folder
from plugins.probe import load
from plugins.probe import probe
from plugins.simt import bind
from plugins.sources import SourceError
from plugins.sources import read_unit
from plugins.toolchain import HOW
from plugins.toolchain import Toolchain
from plugins.toolchain import ToolchainError
from plugins.toolchain import find_toolchain


if TYPE_CHECKING:
    from collections.abc import Callable

    from plugins.layout import Kata


@dataclass(frozen=True)
class Native:
    """The C++ katas that this session may run, and what it builds them with."""

    root: Path
    katas: tuple[Kata, ...]

    @cached_property
    def toolchain(self) -> Toolchain:
        """The compiler and the torch, looked for when first needed."""
        return find_toolchain()

    @cached_property
    def folder(self) -> tuple[Path, str]:
        """Where builds go, and a warning if that is not where they belong."""
        return build_folder(self.root)


native_key = pytest.StashKey[Native]()


def pytest_configure(config: pytest.Config) -> None:
    """Start to build the C++ katas among the arguments; `plugins.course` has read the course."""
    start = config.invocation_params.dir
    katas = prebuild.selected(config.stash[course_key], config.args, start)
    config.stash[native_key] = native = Native(config.rootpath, tuple(katas))
    # Without a folder it is the test that says so.
    with suppress(OSError):
        if katas and prebuild.wanted(config):
            folder, warning = native.folder
            process = prebuild.start(katas, folder, native.root)
            config.add_cleanup(partial(prebuild.stop, process))
            if warning:
                config.issue_config_time_warning(pytest.PytestWarning(warning), stacklevel=2)


def pytest_kata_backends(config: pytest.Config) -> list[Capability]:
    """Declare the backend."""
    return [Capability("cxx", partial(why_no_compiler, config))]


def why_no_compiler(config: pytest.Config) -> str | None:
    """Return what is missing to build C++ katas."""
    if not hasattr(os, "fork"):
        return "C++ katas are built and tried in forked processes; on Windows, use WSL"
    try:
        config.stash[native_key].toolchain  # noqa: B018 - looked for when it is first read
    except ToolchainError as error:
        return str(error)
    return None


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say how to get the fast compiler, if C++ katas are about to be built with the other."""
    native = config.stash[native_key]
    with suppress(ToolchainError):
        if native.katas and not native.toolchain.compiler.clang:
            name = native.toolchain.compiler.name
            return f"katas: {name} builds the C++ katas; clang is five times faster: {HOW}"
    return None


@pytest.fixture(scope="module")
def extension(request: pytest.FixtureRequest) -> Extension:
    """Return the library of the C++ source of this module's kata, built and loaded."""
    return _extension(request, load)


@pytest.fixture(scope="module")
def unloaded(request: pytest.FixtureRequest) -> Extension:
    """Return it built only, for tests that load ``.path`` in a process of their own."""
    return _extension(request, probe)


def _extension(request: pytest.FixtureRequest, check: Callable[[Path], str | None]) -> Extension:
    kata = kata_of(request.node)
    if kata is None or not prebuild.units(kata):
        folder = request.path.parent
        pytest.fail(f"{folder}/lecture.toml has no C++ source for {request.path.name}")
    native = request.config.stash[native_key]
    name = prebuild.unit_name(kata)
    shown = ""
    libraries: list[Path] = []
    try:
        for unit_name, files in prebuild.units(kata).items():
            sources = [source(request.module.__package__, file) for file in files]
            shown = shown or os.path.relpath(sources[0], native.root)
            unit = read_unit(unit_name, sources, native.root, kata.folder / "csrc")
            builder = Builder(native.toolchain, native.folder[0])
            with building(request.config, builder, unit, kata.id):
                libraries.append(builder.build(unit))
    except (SourceError, BuildError) as error:
        problem: str | None = str(error)
    except (BrokenToolError, ToolchainError, OSError) as error:
        problem = f"{shown} could not be built: {error}"
    else:
        if problem := next(filter(None, map(check, libraries)), None):
            problem = f"{shown} compiles, but cannot be loaded: {problem}"
    built = len(libraries) == len(prebuild.units(kata))
    library = libraries[-1] if built else Path()
    found = Extension(library, name, shown, problem or "", libraries[0] if built else Path())
    if len(libraries) > 1 and not problem and check is load:
        bind(found, request.config)
    return found
