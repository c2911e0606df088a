"""The line that a learner sees while a C++ kata is built."""

from __future__ import annotations

from contextlib import contextmanager
from contextlib import nullcontext
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    import pytest

    from plugins.builder import Builder
    from plugins.sources import Unit


@contextmanager
def building(config: pytest.Config, builder: Builder, unit: Unit, kata: str) -> Iterator[None]:
    """Show what is built during the block, unless it is there already.

    A terminal forgets the line when the build is done; a file keeps it. Workers of xdist
    have no reporter, and show nothing.
    """
    reporter: pytest.TerminalReporter | None = config.pluginmanager.getplugin("terminalreporter")
    if reporter is None or builder.ready(unit):
        yield
        return
    text = line(builder, unit, kata)
    with shown(config):
        reporter.ensure_newline()
        if reporter.isatty:
            reporter.rewrite(text, erase=True)
        else:
            reporter.write_line(text)
        reporter.flush()
    yield
    if reporter.isatty:
        with shown(config):
            reporter.rewrite("", erase=True)
            reporter.rewrite("")


def shown(config: pytest.Config) -> AbstractContextManager[None]:
    """Let what is printed during the block reach the terminal, not the report of the test."""
    capture = config.pluginmanager.getplugin("capturemanager")
    disabled: AbstractContextManager[None]
    disabled = capture.global_and_fixture_disabled() if capture else nullcontext()
    return disabled


def line(builder: Builder, unit: Unit, kata: str) -> str:
    """Return what is built, from which headers, with what, and how long that may take."""
    compiler = builder.toolchain.compiler
    text = f"building {kata} ({unit.tier}, {compiler.name}) ..."
    if builder.first(unit):
        clang, gxx = builder.recipe(unit).tier.seconds
        seconds = clang if compiler.clang else gxx
        text += f" first build of tier {unit.tier} takes about {seconds} s"
    return text
