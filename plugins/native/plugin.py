"""The fixture ``extension``: a kata's C++ source, built while torch is imported, and loaded.

A build that a test has to wait for is announced in one line. A test of a kata whose source does
not compile or load fails before its first line.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from contextlib import nullcontext
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from katas import source
from plugins.course.notes import stack_key
from plugins.course.notes import status_key
from plugins.course.notes import unbuilt_key
from plugins.course.session import course_key
from plugins.course.session import course_root
from plugins.course.session import kata_of
from plugins.course.session import katas_among
from plugins.native.builder import Builder
from plugins.native.builder import BuildError
from plugins.native.builder import describe_build
from plugins.native.compile import BrokenToolError
from plugins.native.extension import Extension
from plugins.native.extension import ExtensionHooks
from plugins.native.folder import build_folder
from plugins.native.languages import find_languages
from plugins.native.languages import language_names
from plugins.native.loader import load_library
from plugins.native.loader import probe_library
from plugins.native.loader import write_faults
from plugins.native.prebuild import start_build
from plugins.native.prebuild import stop_build
from plugins.native.prebuild import write_request
from plugins.native.sources import SourceError
from plugins.native.sources import library_sources
from plugins.native.sources import read_unit
from plugins.native.sources import unit_name
from plugins.native.tiers import tiers
from plugins.native.toolchain import VARIABLE as KATAS_CXX
from plugins.native.toolchain import Toolchain
from plugins.native.toolchain import ToolchainError
from plugins.native.toolchain import find_toolchain
from plugins.tools.capability import Capability
from plugins.tools.showing import shows_only
from plugins.tools.terminal import shorten_words


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterable
    from collections.abc import Iterator
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from plugins.course.model import Course
    from plugins.course.model import Kata
    from plugins.native.languages import Language
    from plugins.native.sources import Unit


@dataclass(frozen=True)
class Native:
    """The C++ katas that this session may run, and what builds them."""

    root: Path
    katas: tuple[Kata, ...]
    languages: tuple[Language, ...]

    @cached_property
    def toolchain(self) -> Toolchain:
        """The compiler and the torch, looked for when first needed."""
        return find_toolchain()

    @cached_property
    def folder(self) -> tuple[Path, str]:
        """The build folder, and a warning if it is not the one asked for."""
        return build_folder(self.root)

    @cached_property
    def builder(self) -> Builder:
        """The builder of this session."""
        return Builder(self.toolchain, self.folder[0])


native_key = pytest.StashKey[Native]()
begun_key = pytest.StashKey[bool]()  # whether plugins.native.ahead builds for this run
recorded_key = pytest.StashKey[bool]()
counted_key = pytest.StashKey[int]()  # how many builds tests have waited for
# On a module: the test that has shown in full why there is no library.
shown_by_key = pytest.StashKey[str]()


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Add the hook by which other languages take part."""
    pluginmanager.add_hookspecs(ExtensionHooks)


def pytest_configure(config: pytest.Config) -> None:
    """Start to build the C++ katas among the arguments, in a process beside this one."""
    names = language_names(config)
    languages = find_languages(names)
    start = config.invocation_params.dir
    katas = native_katas(config.stash[course_key], config.args, start, languages)
    config.stash[native_key] = native = Native(course_root(config), katas, languages)
    # A missing folder is reported by the test that needs it.
    with suppress(OSError):
        if katas and builds_ahead(config):
            folder, warning = native.folder
            process = start_build(write_request(katas, folder, native.root, names))
            config.add_cleanup(partial(stop_build, process))
            if warning:
                config.issue_config_time_warning(pytest.PytestWarning(warning), stacklevel=2)


def native_katas(
    course: Course, args: Iterable[str], start: Path, languages: tuple[Language, ...]
) -> tuple[Kata, ...]:
    """Return the katas with sources to build among the arguments of the command line."""
    found = katas_among(course, args, start)
    return tuple(kata for kata in found if library_sources(kata, languages))


def builds_ahead(config: pytest.Config) -> bool:
    """Whether this process runs tests itself, is the first of those that do, and has no help."""
    if shows_only(config) or config.stash.get(begun_key, False):
        return False
    if workerinput := getattr(config, "workerinput", None):
        return bool(workerinput["workerid"] == "gw0")
    return bool(config.getoption("dist", "no") == "no")


def pytest_kata_backends(config: pytest.Config) -> list[Capability]:
    """Declare the backend."""
    return [Capability("cxx", partial(no_cxx, config))]


def no_cxx(config: pytest.Config) -> str | None:
    """Return why C++ katas cannot be built."""
    if not hasattr(os, "fork"):
        return "C++ katas are built and tried in forked processes; on Windows, use WSL"
    try:
        config.stash[native_key].toolchain  # noqa: B018 - looked for when it is first read
    except ToolchainError as error:
        return str(error)
    return None


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Say that g++ is about to build C++ katas, or that a compiler cannot build some of them."""
    native = config.stash[native_key]
    lines = []
    with suppress(ToolchainError, OSError):
        compiler = native.toolchain.compiler if native.katas else None
        if compiler and not compiler.clang:
            faster = "clang is five times faster: docs/optional.md"
            lines = [f"katas: {compiler.name} builds the C++ katas; {faster}"]
        every = (*tiers().values(), *(language.tier for language in native.languages))
        for tier in every if compiler else ():
            for name in native.builder.passed_over(tier):
                other = native.builder.recipe_of(tier).toolchain.compiler.name
                what = f"{name} cannot build the tier {tier.name}, {other} does"
                lines.append(f"katas: {what} ({KATAS_CXX}={name} says why)")
    return lines


@pytest.fixture(scope="module")
def extension(request: pytest.FixtureRequest) -> Extension:
    """Return the library of the C++ source of this module's kata, built and loaded."""
    return _extension(request, load_library)


@pytest.fixture(scope="module")
def unloaded(request: pytest.FixtureRequest) -> Extension:
    """Return it built only, for tests that load ``.path`` in a process of their own."""
    return _extension(request, probe_library)


def _extension(request: pytest.FixtureRequest, check: Callable[[Path], str | None]) -> Extension:
    kata = kata_of(request.node)
    native = request.config.stash[native_key]
    wanted = library_sources(kata, native.languages) if kata else {}
    if kata is None or not wanted:
        folder = request.path.parent
        pytest.fail(f"{folder}/lecture.toml has no C++ source for {request.path.name}")
    shown = ""
    libraries: list[Path] = []
    try:
        units: list[Unit] = []
        for name, files in wanted.items():
            sources = [source(request.module.__package__, file) for file in files]
            shown = shown or os.path.relpath(sources[0], native.root)
            beside = kata.folder / "csrc"
            units.append(read_unit(name, sources, native.root, beside, native.languages))
        builder = native.builder
        for number, unit in enumerate(units):
            left = units[number:]
            with announce_build(request.config, builder, left, kata.id, request.node.nodeid):
                libraries.append(builder.build(unit))
    except (SourceError, BuildError) as error:
        problem: str | None = str(error)
    except (BrokenToolError, ToolchainError, OSError) as error:
        problem = f"{shown} could not be built: {error}"
    else:
        if problem := next(filter(None, map(check, libraries)), None):
            problem = f"{shown} compiles, but cannot be loaded: {problem}"
        elif check is load_library:
            record_faults(request.config, libraries[0])
    built = len(libraries) == len(wanted)
    found = Extension(libraries[-1] if built else Path(), unit_name(kata), shown, problem or "")
    answer: Extension | None = request.config.hook.pytest_kata_extension(
        extension=found,
        libraries=dict(zip(wanted, libraries, strict=False)),
        kata=kata,
        config=request.config,
        loaded=check is load_library,
    )
    return answer or found


def record_faults(config: pytest.Config, library: Path) -> None:
    """Let faults in C++ write their calls for the crash guard: one library does it for all."""
    stack = config.stash.get(stack_key, None)
    if stack is not None and not config.stash.get(recorded_key, False):
        write_faults(library, stack)
        config.stash[recorded_key] = True


def build_source(config: pytest.Config, name: str, source: Path) -> Path:
    """Build the C++ file `source`, which a test has written, and return the library `name`.

    Raises
    ------
    SourceError
        If the file names no tier.
    BuildError
        If it does not compile; the message has the lines.
    """
    native = config.stash[native_key]
    unit = read_unit(name, [source], source.parent, source.parent, native.languages)
    return native.builder.build(unit)


@contextmanager
def announce_build(
    config: pytest.Config, builder: Builder, units: Sequence[Unit], kata: str, nodeid: str
) -> Iterator[None]:
    """Show that the first of `units` is built during the block, unless it is ready.

    A terminal forgets the line when the build is done; a file keeps it, and gets that of the first
    build alone. Workers of xdist have no reporter, and show nothing.
    """
    reporter: pytest.TerminalReporter | None = config.pluginmanager.getplugin("terminalreporter")
    if reporter is None or builder.ready(units[0]):
        yield
        return
    text = describe_build(builder, units, kata)
    if tell := config.stash.get(status_key, None):
        tell(text)
        try:
            yield
        finally:
            # The test goes on, and is what takes long now.
            tell(nodeid.rpartition("::")[2])
        return
    count = config.stash[counted_key] = config.stash.get(counted_key, 0) + 1
    if (many := len(config.stash[native_key].katas)) > 1:
        text = text.replace("building", f"building {count} of {many} sources,", 1)
    with past_capture(config):
        reporter.ensure_newline()
        if reporter.isatty:
            # A line that wraps could not be erased.
            width = config.get_terminal_writer().fullwidth - 1
            reporter.rewrite(shorten_words(text, width), erase=True)
        elif count == 1:
            reporter.write_line(text)
        reporter.flush()
    try:
        yield
    finally:
        # Also if it does not compile.
        resume_dots(config, reporter, nodeid)


def resume_dots(config: pytest.Config, reporter: pytest.TerminalReporter, nodeid: str) -> None:
    """Let the dots go on: in a terminal behind the name of their file, elsewhere below it."""
    if not reporter.isatty:
        reporter.currentfspath = config.rootpath / nodeid.partition("::")[0]
        return
    with past_capture(config):
        reporter.rewrite("", erase=True)
        reporter.rewrite("")
        if reporter.showfspath:
            reporter.write_fspath_result(nodeid, "")


def past_capture(config: pytest.Config) -> AbstractContextManager[None]:
    """Let output of the block reach the terminal instead of the test's report."""
    capture = config.pluginmanager.getplugin("capturemanager")
    disabled: AbstractContextManager[None]
    disabled = capture.global_and_fixture_disabled() if capture else nullcontext()
    return disabled


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> None:
    """Fail a test whose library is missing: in full the first time, then with a reference.

    In the fixture it would be an error of the set-up, shown in full for every test.
    """
    built = pyfuncitem.funcargs.get("extension") or pyfuncitem.funcargs.get("unloaded")
    module = pyfuncitem.getparent(pytest.Module)
    if not isinstance(built, Extension) or not built.problem or module is None:
        return
    pyfuncitem.stash[unbuilt_key] = str(built.source)
    if shown_by := module.stash.get(shown_by_key, ""):
        # The full error may be hundreds of lines above, so its first line is repeated.
        first = built.problem.partition("\n")[0]
        pytest.fail(f"{built.source} has no library, see {shown_by}:\n{first}", pytrace=False)
    module.stash[shown_by_key] = pyfuncitem.name
    built.check()
