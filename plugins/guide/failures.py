"""Makes the failure of a kata as data: its cause, its frames, what to read, an episode, a hint.

It travels on the report, from a worker of xdist too; `plugins.guide.summary` shows it.
"""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from plugins.course.files import earlier_answers
from plugins.course.files import path_from
from plugins.course.names import name_for_pytest
from plugins.course.notes import unbuilt_key
from plugins.course.session import course_key
from plugins.guide.episodes import catalogue_of
from plugins.guide.failure import PROPERTY
from plugins.guide.failure import Failure
from plugins.guide.failure import cause_of
from plugins.guide.failure import failure_among
from plugins.guide.reading import Reading
from plugins.guide.reading import junit_properties
from plugins.guide.reading import reading_of
from plugins.guide.reading import torch_tag
from plugins.guide.rows import rows_of
from plugins.guide.shorten import short_tracebacks
from plugins.guide.shorten import shorten_report
from plugins.guide.shorten import shows_all
from plugins.guide.steps import LabStep
from plugins.guide.steps import function_of
from plugins.guide.steps import read_steps
from plugins.guide.traceback import read_lines
from plugins.guide.unraised import name_the_call
from plugins.tools.private import junit_xml


if TYPE_CHECKING:
    from collections.abc import Generator

    from plugins.course.model import Kata
    from plugins.guide.failure import Kind


# pytest's name for them, on the report of a test; the report of a module gets them too.
PROPERTIES = "user_properties"
# The steps of each kata that has failed, by its id.
steps_key = pytest.StashKey[dict[str, dict[str, LabStep]]]()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Add the reading to a test module that cannot be imported."""
    report = yield
    if report.failed and (kata := _kata_of(collector)):
        found = _describe(report, collector, kata, cause_of(""), whole=False)
        setattr(report, PROPERTIES, found)
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
        message = call.excinfo.exconly() if call.excinfo else report.longreprtext
        cause = cause_of(message, item.stash.get(unbuilt_key, ""))
        found = _describe(report, item, kata, cause, whole=shows_all(item.config))
        # Of a test that has failed in its call too: the reading once, and the last failure.
        others = [it for it in item.user_properties if it not in found and it[0] != PROPERTY]
        report.user_properties = [*others, *found]
        # JUnit XML reads them from the teardown's report, which is made from the item later.
        item.user_properties[:] = report.user_properties
    return report


def failure_of(report: object) -> Failure | None:
    """Return the failure of a kata that a failed report carries, if it is one."""
    return failure_among(getattr(report, PROPERTIES, ()))


def _kata_of(node: pytest.Item | pytest.Collector) -> Kata | None:
    return node.config.stash[course_key].kata_of(node.path)


def _describe(
    report: pytest.TestReport | pytest.CollectReport,
    node: pytest.Item | pytest.Collector,
    kata: Kata,
    cause: tuple[Kind, str],
    *,
    whole: bool,
) -> list[tuple[str, str]]:
    """Shorten a report, unless it is to be shown as a `whole`, and return its properties."""
    config, start = node.config, node.config.invocation_params.dir
    frames, message, more = shorten_report(report, start, kata.folder, whole=whole)
    refs = node.ihook.pytest_kata_episodes(item=node)
    hint = shlex.join(["pytest", name_for_pytest(kata, start), "--hint"])
    reading = reading_of(kata, refs, catalogue_of(config), torch_tag(), hint)
    earlier = tuple(path_from(start, file) for file in earlier_answers(kata))
    known = config.stash.setdefault(steps_key, {})
    if kata.id not in known:
        known[kata.id] = read_steps(kata.test)
    step = known[kata.id].get(function_of(report.nodeid))
    reading = replace(reading, earlier=earlier)
    # Where nothing is written yet, no row is right or wrong.
    rows = rows_of(node, kata) if isinstance(node, pytest.Item) and cause[0] == "fails" else ()
    failure = Failure(report.nodeid, *cause, reading, step, frames, message, more, rows)
    return [*junit_properties(reading), failure.to_property()]


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Add the properties of modules to JUnit XML, before it is written without them."""
    xml = junit_xml(session.config)
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if not (xml and reporter):
        return
    # Every xdist worker reports the same module.
    errors = reporter.stats.get("error", [])
    modules = {each.nodeid: each for each in errors if isinstance(each, pytest.CollectReport)}
    for report in modules.values():
        for name, value in getattr(report, PROPERTIES, ()):
            xml.node_reporter(report).add_property(name, value)


def failure_beside(report: pytest.TestReport | pytest.CollectReport, kata: Kata) -> Failure:
    """Return the failure of something beside the kata, such as its folder's ``conftest.py``."""
    frames, message = read_lines(report.longreprtext.splitlines())
    reading = Reading(kata.id, kata.title, (), (), "")
    return Failure(report.nodeid, "fails", "", reading, None, (*frames,), (*message,))
