"""Shows with every failing kata what to read, which episode to hear, and how to get a hint."""

from __future__ import annotations

import importlib.metadata
import os
import shlex
from typing import TYPE_CHECKING
from typing import Any

import pytest
from _pytest.junitxml import xml_key

from plugins.course import course_key
from plugins.episodes import broken
from plugins.episodes import catalogue_of
from plugins.links import knows_links
from plugins.reading import block
from plugins.reading import properties
from plugins.reading import reading_of
from plugins.reading import short_block
from plugins.reading import tag_of


if TYPE_CHECKING:
    from collections.abc import Generator
    from collections.abc import Iterable

    from plugins.reading import Reading


# Whether a test says again what another one has said, with what to read.
repeated_key = pytest.StashKey[bool]()
# What the controller of xdist tells its workers, and what a report carries to the summary.
LINKS = "kata_links"
SUMMARY = "kata_summary"
PROPERTIES = "kata_properties"


def links_shown(config: pytest.Config) -> bool:
    """Whether the terminal of this session, or of the session's controller, shows links."""
    if hasattr(config, "workerinput"):
        return bool(config.workerinput[LINKS])
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    return bool(
        reporter
        and reporter.isatty
        and config.get_terminal_writer().hasmarkup
        and knows_links(os.environ)
    )


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a worker of xdist, which has no terminal, about that of the controller."""
    node.workerinput[LINKS] = links_shown(node.config)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Add the reading to a test module that cannot be imported."""
    report = yield
    if report.failed and (reading := _reading(collector)):
        _show(report, reading, collector.config)
        setattr(report, PROPERTIES, properties(reading))
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the reading to a test that failed; outermost, for an expected failure is none by now."""
    report = yield
    if report.failed and (reading := _reading(item)):
        _show(report, reading, item.config, again=item.stash.get(repeated_key, False))
        new = [pair for pair in properties(reading) if pair not in item.user_properties]
        report.user_properties += new
        # JUnit XML takes them from the report of the teardown, which is made of the item later.
        item.user_properties += new
    return report


def _reading(node: pytest.Item | pytest.Collector) -> Reading | None:
    config = node.config
    kata = config.stash[course_key].kata_of(node.path)
    if kata is None:
        return None
    refs = node.ihook.pytest_kata_episodes(item=node)
    try:
        tag = tag_of(importlib.metadata.version("torch"))
    except importlib.metadata.PackageNotFoundError:
        tag = tag_of(None)
    test = os.path.relpath(kata.test, config.invocation_params.dir)
    hint = shlex.join(["pytest", test, "--hint"])
    return reading_of(kata, refs, catalogue_of(config), tag, hint)


def _show(
    report: pytest.TestReport | pytest.CollectReport,
    reading: Reading,
    config: pytest.Config,
    *,
    again: bool = False,
) -> None:
    links = links_shown(config)
    if not again:
        text = "\n".join(block(reading, links=links))
        report.sections.append((f"next for {reading.kata}", text))
    # Sections are not shown under --tb=no; what lies on a report survives xdist.
    setattr(report, SUMMARY, short_block(reading, links=links))


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Before JUnit XML is written, add what it takes from tests but not from modules."""
    xml = session.config.stash.get(xml_key, None)
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if not (xml and reporter):
        return
    # Every worker of xdist reports the same module.
    modules = {report.nodeid: report for report in reporter.stats.get("error", [])}
    for report in modules.values():
        for name, value in getattr(report, PROPERTIES, ()):
            xml.node_reporter(report).add_property(name, value)


def summaries(reports: Iterable[object]) -> list[list[str]]:
    """Return the lines of each kata among `reports` once, in the order of the course."""
    found = {lines[0]: lines for report in reports if (lines := getattr(report, SUMMARY, None))}
    return [found[heading] for heading in sorted(found)]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> Generator[None, None, None]:
    """Name the reading once for each kata with a failure, below all else, and what is broken."""
    yield
    stats = terminalreporter.stats
    katas = summaries([*stats.get("failed", []), *stats.get("error", [])])
    errors = broken(config)
    if not katas and not errors:
        return
    terminalreporter.section("where to go on")
    for heading, *lines in katas:
        terminalreporter.line(heading, bold=True)
        for line in lines:
            terminalreporter.line(f"  {line}")
    if len(katas) > 1:
        # The last line of a kata is the command for its next hint.
        first = katas[0][-1].removeprefix("hint").replace("--hint", "-x").strip()
        terminalreporter.line(f"One kata at a time: {first}", bold=True)
    for line in errors:
        terminalreporter.line(line, yellow=True)
