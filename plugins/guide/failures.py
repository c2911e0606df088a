"""Adds to each failure of a kata its cause, what to read, which episode to hear, and a hint.

They travel on the report, from a worker of xdist too; `plugins.guide.summary` shows them.
"""

from __future__ import annotations

import os
import shlex
from dataclasses import astuple
from dataclasses import replace
from typing import TYPE_CHECKING
from typing import Any

import pytest

from plugins.course.files import earlier_answers
from plugins.course.files import path_from
from plugins.course.names import name_for_pytest
from plugins.course.notes import unbuilt_key
from plugins.course.session import course_key
from plugins.guide.episodes import catalogue_of
from plugins.guide.folding import cause_of
from plugins.guide.reading import format_all
from plugins.guide.reading import format_summary
from plugins.guide.reading import junit_properties
from plugins.guide.reading import knows_links
from plugins.guide.reading import reading_of
from plugins.guide.reading import torch_tag
from plugins.guide.shorten import short_tracebacks
from plugins.guide.shorten import shorten_report
from plugins.guide.shorten import shows_all
from plugins.guide.unraised import name_the_call
from plugins.tools.private import junit_xml


if TYPE_CHECKING:
    from collections.abc import Generator

    from plugins.course.model import Kata
    from plugins.guide.reading import Reading


# The key under which xdist's controller tells its workers whether its terminal shows links.
LINKS = "kata_links"
# Attributes of a report: unlike the item's stash, they reach the controller.
SUMMARY = "kata_summary"
CAUSE = "kata_cause"
PROPERTIES = "kata_properties"


def shows_links(config: pytest.Config) -> bool:
    """Whether the terminal of this session, or that of its controller, shows links."""
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
    """Tell an xdist worker, which has no terminal, whether the controller's shows links."""
    node.workerinput[LINKS] = shows_links(node.config)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Add the reading to a test module that cannot be imported."""
    report = yield
    if report.failed and (kata := _kata_of(collector)):
        reading = _reading_for(collector, kata)
        _attach(report, reading, collector.config)
        setattr(report, PROPERTIES, junit_properties(reading))
        shorten_report(report, kata.folder)
        setattr(report, CAUSE, astuple(cause_of(kata.id, "")))
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the reading to a failed test; outermost, where an xfail no longer counts as failed."""
    kata = _kata_of(item)
    if kata is None:
        return (yield)
    if call.excinfo:
        name_the_call(call.excinfo)
    with short_tracebacks(item.config):
        report = yield
    if report.failed:
        reading = _reading_for(item, kata)
        _attach(report, reading, item.config)
        new = [pair for pair in junit_properties(reading) if pair not in item.user_properties]
        report.user_properties += new
        # JUnit XML reads them from the teardown's report, which is made from the item later.
        item.user_properties += new
        message = call.excinfo.exconly() if call.excinfo else report.longreprtext
        cause = cause_of(kata.id, message, item.stash.get(unbuilt_key, ""))
        setattr(report, CAUSE, astuple(cause))
        if not shows_all(item.config):
            shorten_report(report, kata.folder)
    return report


def _kata_of(node: pytest.Item | pytest.Collector) -> Kata | None:
    return node.config.stash[course_key].kata_of(node.path)


def _reading_for(node: pytest.Item | pytest.Collector, kata: Kata) -> Reading:
    config = node.config
    refs = node.ihook.pytest_kata_episodes(item=node)
    test = name_for_pytest(kata, config.invocation_params.dir)
    hint = shlex.join(["pytest", test, "--hint"])
    reading = reading_of(kata, refs, catalogue_of(config), torch_tag(), hint)
    start = config.invocation_params.dir
    earlier = tuple(path_from(start, file) for file in earlier_answers(kata))
    return replace(reading, earlier=earlier)


def _attach(
    report: pytest.TestReport | pytest.CollectReport, reading: Reading, config: pytest.Config
) -> None:
    links = shows_links(config)
    form = format_all if shows_all(config) else format_summary
    # --tb=no hides sections of a report, so the summary has an attribute of its own.
    setattr(report, SUMMARY, form(reading, links=links))


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Add the properties of modules to JUnit XML, before it is written without them."""
    xml = junit_xml(session.config)
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if not (xml and reporter):
        return
    # Every xdist worker reports the same module.
    modules = {report.nodeid: report for report in reporter.stats.get("error", [])}
    for report in modules.values():
        for name, value in getattr(report, PROPERTIES, ()):
            xml.node_reporter(report).add_property(name, value)
