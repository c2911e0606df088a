"""What is read from pytest's JUnit XML."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from plugins.fork.results import FAMILY
from plugins.fork.results import Result
from plugins.fork.results import last_line
from plugins.fork.results import read_results
from tests.support.failures import TRACEBACK
from tests.support.failures import failure_in


if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_each_module_has_its_verdict(pytester: pytest.Pytester) -> None:
    """The first failure decides, and a skip if it is not extra; a broken module has no test."""
    pytester.makepyfile(
        test_a="def test_one(): pass\ndef test_two(): assert 1 == 2, 'no'\ndef test_3(): 1 / 0",
        test_b="import pytest\n@pytest.mark.skip('no GPU')\ndef test(): pass",
        test_c="import pytest\ndef test(): pass\n@pytest.mark.skip('no GPU')\ndef test_2(): pass",
        test_f="import pytest\ndef test(): pass\n@pytest.mark.skip('no GPU')\ndef test_2(): pass",
        test_d="import no_such_module",
        test_e="import pytest\n@pytest.fixture\ndef f(): 1 / 0\ndef test(f): pass",
    )
    options = ("--junitxml=r.xml", "--tb=short", "--continue-on-collection-errors")
    pytester.runpytest_subprocess("-o", FAMILY, *options)
    results = read_results(pytester.path / "r.xml", {"test_c.py": ["test_2"]})

    first = results["test_a.py"]
    assert ("fails", "test_two") == (first.verdict, first.test)
    assert first.message.startswith("AssertionError: no\n")
    assert first.failure is None
    assert Result("cannot run here", message="no GPU") == results["test_b.py"]
    assert Result("solved") == results["test_c.py"]
    assert Result("not decided here", "test_2", "no GPU") == results["test_f.py"]
    broken = results["test_d.py"]
    assert ("fails", "") == (broken.verdict, broken.test)
    assert "ModuleNotFoundError: No module named 'no_such_module'" == broken.message
    assert ("fails", "test") == (results["test_e.py"].verdict, results["test_e.py"].test)


def test_a_failure_of_a_kata_is_read_as_data(tmp_path: Path) -> None:
    """As the run of its tests has told it; also that of a module, which has no class."""
    failure = failure_in(TRACEBACK)
    properties = ET.Element("properties")
    for name, value in (("kata", "lecture01/k01"), failure.to_property()):
        ET.SubElement(properties, "property", {"name": name, "value": value})
    suite = ET.Element("testsuite")
    for name, kind, known in (
        ("a.py", "failure", {"classname": "a", "name": "test_it"}),
        ("b.py", "error", {"classname": "", "name": "b"}),
    ):
        case = ET.SubElement(suite, "testcase", known, file=name)
        case.append(properties)
        ET.SubElement(case, kind, message="TypeError: two arguments")
    file = tmp_path / "r.xml"
    ET.ElementTree(suite).write(file)

    results = read_results(file, {})

    assert Result("fails", "test_it", "TypeError: two arguments", failure) == results["a.py"]
    assert Result("fails", "", "", failure) == results["b.py"]


def test_without_a_file_there_is_nothing(tmp_path: Path) -> None:
    """A missing or unfinished file has no results; an empty traceback no last line."""
    file = tmp_path / "r.xml"
    assert {} == read_results(file, {})
    file.write_text("<testsuites><testsuite>")

    assert {} == read_results(file, {})
    assert "" == last_line("")
