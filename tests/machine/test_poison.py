"""A device that is broken for its process: one failed test, and what becomes of the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.fakedevice import BROKEN
from tests.support.fakedevice import ERROR
from tests.support.fakedevice import STORE
from tests.support.fakedevice import TORCH
from tests.support.fakedevice import add_device
from tests.support.fakedevice import read_processes
from tests.support.terminal import Terminal
from tests.support.warm import PYTEST


if TYPE_CHECKING:
    from tests.conftest import MiniCourse


RENEWED = "The remaining tests run in a fresh process."
FIRST = "katas/lecture01/test_k01_first.py"
# What nobody must see of a process that has left.
NOISE = ("Crashed", "crashed", "replacing", "node down", "did not exit cleanly", "SIGKILL")


@pytest.fixture
def kata(course: MiniCourse) -> MiniCourse:
    """A course that declares the device."""
    course.imported = PYTEST
    add_device(course)
    return course


def check_silence(result: pytest.RunResult) -> None:
    """Nothing is told of the process that has left, and all but the failure reads as ever."""
    text = result.stdout.str() + result.stderr.str()
    assert [] == [word for word in NOISE if word in text]
    assert 1 == text.count("session starts")
    assert 1 == text.count(BROKEN)


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [(), ("-n2",)], ids=["alone", "workers"])
def test_the_rest_runs_in_a_fresh_process(kata: MiniCourse, arguments: tuple[str, ...]) -> None:
    """The test fails that made the fault, though it raised nothing; no other does."""
    kata.kata("k01_first", STORE.format(index=10))
    kata.kata("k02_second", STORE.format(index=1))

    result = kata.run(*arguments, "--junit-xml=report.xml")

    result.assert_outcomes(failed=1, passed=13)
    assert pytest.ExitCode.TESTS_FAILED == result.ret
    check_silence(result)
    result.stdout.fnmatch_lines(
        [BROKEN, RENEWED, f"FAILED {FIRST}::test_stray[[]fake[]] - Failed: fake *"]
    )
    stores = read_processes(kata)
    ((_, guilty),) = [each for each in stores if each[0] == "store(10)"]
    assert ("store(10)", guilty) == [each for each in stores if each[1] == guilty][-1]
    assert 14 == (kata.path / "report.xml").read_text().count("<testcase ")


def test_each_fault_takes_a_process(kata: MiniCourse) -> None:
    """The terminal shows each test once, in its order, however many processes there were."""
    for name in ("k01_first", "k02_second", "k03_third"):
        kata.kata(name, STORE.format(index=10))

    result = kata.run("-v")

    result.assert_outcomes(failed=3, passed=18)
    shown = [line.split()[:2] for line in result.outlines if "%]" in line]
    assert 21 == len(shown) == len({name for name, _ in shown})
    assert [f"katas/lecture01/test_{name}.py::test_stray[fake]" for name in
            ("k01_first", "k02_second", "k03_third")] == [
        name for name, word in shown if word == "FAILED"
    ]  # fmt: skip
    assert [0, 0, 1, 1, 1, 2, 2, 2, 3] == [process for _, process in read_processes(kata)]


def test_no_process_comes_for_no_test(kata: MiniCourse) -> None:
    """After the last test, or with ``-x``, the summary is written where the fault was made."""
    kata.kata("k01_first", STORE.format(index=10))
    kata.write("conftest.py", (kata.path / "conftest.py").read_text() + "\nprint('begins')\n")

    results = [kata.run("-x", "-s"), kata.run("-s", f"{FIRST}::test_stray[fake]")]

    for result in results:
        result.assert_outcomes(failed=1, passed=result.parseoutcomes().get("passed", 0))
        check_silence(result)
        assert 1 == result.stdout.str().count("begins")


def test_an_error_of_the_test_has_a_note(kata: MiniCourse) -> None:
    """A test that waits raises the fault itself; that one is shown, and what it means."""
    test = """
        import fake

        def test_stray():
            fake.store(10)
            fake.wait()

        def test_after():
            fake.store(1)
    """
    kata.kata(test=test)

    result = kata.run()

    result.assert_outcomes(failed=1, passed=1)
    check_silence(result)
    result.stdout.fnmatch_lines([f"E   RuntimeError: {ERROR}", f"E   {BROKEN}", f"E   {RENEWED}"])


@pytest.mark.parametrize(
    ("before", "stray", "after", "outcomes"),
    [
        ("fake.store(10)", "pass", "fake.wait()", {"errors": 1}),
        ("fake.store(0)", "fake.store(10)", "fake.wait()", {"failed": 1}),
        ("fake.store(0)", "fake.store(10)", "raise SystemError", {"failed": 1}),
        ("fake.store(0)", "fake.store(10)", "pytest.fail('left')", {"failed": 1}),
        ("fake.store(0)", "pass", "fake.store(10)", {"passed": 1, "errors": 1}),
        ("fake.store(0)", "fake.store(10); pytest.skip('none')", "pass", {"failed": 1}),
        ("fake.store(0)", "pytest.skip('none')", "pass", {"skipped": 1}),
    ],
    ids=["setup", "call", "teardown raises", "teardown fails", "teardown", "skips", "right"],
)
def test_a_fault_is_told_once(
    kata: MiniCourse, before: str, stray: str, after: str, outcomes: dict[str, int]
) -> None:
    """By the step that made it; the teardown of what is broken has nothing to add."""
    test = f"""
        import fake
        import pytest

        @pytest.fixture
        def memory():
            {before}
            yield
            {after}

        @pytest.fixture
        def more(memory):
            yield
            {after}

        def test_stray(more):
            {stray}

        def test_after():
            fake.store(1)
    """
    kata.kata(test=test)

    result = kata.run()

    result.assert_outcomes(**{**outcomes, "passed": outcomes.get("passed", 0) + 1})
    if "skipped" not in outcomes:
        check_silence(result)


@pytest.mark.parametrize("step", ["call", "teardown"])
def test_who_leaves_pytest_leaves(kata: MiniCourse, step: str) -> None:
    """`pytest.exit` ends the session, with or without a device that is broken."""
    leave = "pytest.exit('enough')"
    test = f"""
        import fake
        import pytest

        @pytest.fixture
        def memory():
            yield
            {leave if step == "teardown" else "pass"}

        def test_stray(memory):
            fake.store(10)
            {leave if step == "call" else "pass"}

        def test_after(): pass
    """
    kata.kata(test=test)

    result = kata.run()

    assert pytest.ExitCode.INTERRUPTED == result.ret
    result.stdout.fnmatch_lines(["*Exit: enough*"])


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [(), ("-n1",)], ids=["alone", "workers"])
def test_an_import_may_break_the_device(kata: MiniCourse, arguments: tuple[str, ...]) -> None:
    """It is one failed test, and the tests of other modules run where it was not imported."""
    kata.kata("k01_first", "import fake\nfake.store(10)\ndef test_it(): pass\n")
    kata.kata("k02_second", STORE.format(index=1))

    result = kata.run(*arguments)

    result.assert_outcomes(failed=1, passed=7)
    check_silence(result)
    result.stdout.fnmatch_lines([BROKEN, f"FAILED {FIRST} - Failed: fake *"])


def test_without_a_guard_the_tests_of_the_device_are_skipped(kata: MiniCourse) -> None:
    """It is said once why; the others run, as nothing seeds the device that is broken."""
    kata.write("site/torch/__init__.py", TORCH)
    kata.kata("k01_first", STORE.format(index=10).replace("import fake", "import fake, torch"))
    kata.kata("k02_second", STORE.format(index=1))

    result = kata.run("--no-crashguard")

    result.assert_outcomes(failed=1, passed=9, skipped=4)
    check_silence(result)
    result.stdout.fnmatch_lines(
        [
            "fake (4 tests): cannot be used in this process since",
            f"  {FIRST}::test_stray[[]fake[]]: fake error: *",
            "  under the crash guard the remaining tests run in a fresh process *",
        ]
    )
    assert {0} == {process for _, process in read_processes(kata)}


def test_without_a_guard_an_import_may_break_the_device(kata: MiniCourse) -> None:
    """The module has an error, and the tests of the device are skipped."""
    kata.kata("k01_first", "import fake\nfake.store(10)\ndef test_it(): pass\n")
    kata.kata("k02_second", STORE.format(index=1))

    result = kata.run("--no-crashguard", "--continue-on-collection-errors")

    result.assert_outcomes(errors=1, passed=4, skipped=3)
    result.stdout.fnmatch_lines(["*ERROR collecting *", BROKEN])


def test_a_test_that_does_not_name_the_device_has_a_note(kata: MiniCourse) -> None:
    """Without a guard it runs, and cannot but fail; the note says since when."""
    kata.kata(test=f"{STORE.format(index=10)}\ndef test_hidden():\n    fake.store(1)\n")

    result = kata.run("--no-crashguard")

    result.assert_outcomes(failed=2, passed=5, skipped=1)
    since = f"fake cannot be used in this process since {FIRST}::test_stray[[]fake[]]: *"
    result.stdout.fnmatch_lines([f"E   RuntimeError: {ERROR}", f"E   {since}"])


def test_next_shows_the_fault(kata: MiniCourse) -> None:
    """As any other failure; a kata that comes before it is solved."""
    kata.kata("k01_first", STORE.format(index=1))
    kata.kata("k02_second", STORE.format(index=10))

    result = kata.run("katas", "--next")

    assert pytest.ExitCode.TESTS_FAILED == result.ret
    text = result.stdout.str()
    assert " 1 of 2" in text
    assert BROKEN in text
    assert "Crashed" not in text


@pytest.mark.slow
def test_under_watch_each_run_has_a_device(course: MiniCourse) -> None:
    """The process that stays has not used it, and forks the runs."""
    add_device(course, "plugins.loop.hint", "plugins.loop.watch")
    course.kata("k01_first", STORE.format(index=10))
    # The process that stays imports what is slow; this torch is not.
    course.write("site/torch/__init__.py", TORCH)
    for name in ("numpy", "hypothesis"):
        course.write(f"site/{name}.py", "raise ImportError")
    settings = (course.path / "pyproject.toml").read_text()
    without = settings.replace("addopts = [", 'addopts = ["-p", "no:hypothesispytest",')
    course.write("pyproject.toml", without)
    with Terminal(course.path, "katas/lecture01", "--watch") as terminal:
        begin = terminal.shown()
        course.write(FIRST, STORE.format(index=1))
        right = terminal.shown()
        terminal.process.send("q")
        terminal.end()

    assert BROKEN in begin
    assert "lecture01/k01_first is solved" in right
