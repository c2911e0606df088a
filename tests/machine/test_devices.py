"""The argument ``device``: which tests are collected, which run, and why others are skipped."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.fakedevice import add_device
from tests.support.warm import PYTEST


if TYPE_CHECKING:
    from tests.conftest import MiniCourse


PLUGINS = (
    "plugins.course.session",
    "plugins.machine.absent",
    "plugins.machine.devices",
    "plugins.machine.builtin",
)
# Stands in for PyTorch: says what a GPU machine's would, and counts how often it is asked.
TORCH = """
import os
from pathlib import Path
from types import SimpleNamespace

__version__ = "9.9.9"
version = SimpleNamespace(cuda={built!r}, hip=None)


def ask(device):
    with Path(__file__).with_name("asked").open("a") as file:
        file.write(device + " ")
    {on_ask}


def cuda_is_available():
    ask("cuda")
    return {cuda} and os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] == "1"


def mps_is_available():
    ask("mps")
    return {mps}


cuda = SimpleNamespace(is_available=cuda_is_available)
backends = SimpleNamespace(
    mps=SimpleNamespace(is_available=mps_is_available, is_built=lambda: {mps})
)
"""
EVERY = """
def test_every(device):
    assert isinstance(device, str)
"""


@pytest.fixture
def course(course: MiniCourse) -> MiniCourse:
    """Return a course with the plugins for devices and a PyTorch that has only the CPU."""
    course.plugins(*PLUGINS)
    course.imported = PYTEST
    course.monkeypatch.delenv("PYTORCH_NVML_BASED_CUDA_CHECK", raising=False)
    course.path_first(course.path / "standin")
    stand_in(course)
    return course


def stand_in(
    course: MiniCourse, *, cuda: bool = False, mps: bool = False, on_ask: str = "pass"
) -> None:
    """Write the package ``torch`` that the course will import."""
    built = "13.0" if cuda else None
    text = TORCH.format(cuda=cuda, mps=mps, built=built, on_ask=on_ask)
    course.write("standin/torch/__init__.py", text)


def asked(course: MiniCourse) -> list[str]:
    """Return the devices that PyTorch was asked for."""
    file = course.path / "standin" / "torch" / "asked"
    return file.read_text().split() if file.exists() else []


def ids(course: MiniCourse, *args: str) -> list[str]:
    """Return the ids of the tests that pytest collects."""
    result = course.run("--collect-only", "-q", *args)
    return [line.partition("::")[2] for line in result.outlines if "::" in line]


def test_ids_are_the_same_on_every_machine(course: MiniCourse) -> None:
    """They come from the declared devices; collecting probes none."""
    course.kata(test=EVERY)
    expected = ["test_every[cpu]", "test_every[cuda]", "test_every[mps]"]

    assert expected == ids(course)
    stand_in(course, cuda=True, mps=True)
    assert expected == ids(course)
    assert [] == asked(course)


@pytest.mark.parametrize("name", ["cuda", "mps"])
def test_a_device_that_is_here_runs(course: MiniCourse, name: str) -> None:
    """The others are skipped."""
    stand_in(course, cuda=name == "cuda", mps=name == "mps")
    course.kata(test=EVERY)

    result = course.run("-v")

    result.assert_outcomes(passed=2, skipped=1)
    result.stdout.fnmatch_lines([f"*::test_every[[]{name}[]] PASSED*"])


def test_missing_devices_are_skipped_with_the_reason(course: MiniCourse) -> None:
    """The summary names each and how to get it."""
    course.kata(test=EVERY)

    result = course.run()

    result.assert_outcomes(passed=1, skipped=2)
    result.stdout.fnmatch_lines(
        [
            "*= not run here =*",
            "cuda (1 test): this PyTorch (9.9.9) is built without CUDA;",
            "  on a machine with a GPU, install a CUDA build:",
            "mps (1 test): this PyTorch is built without MPS;",
        ]
    )


def test_a_device_is_probed_once_and_only_if_a_test_needs_it(course: MiniCourse) -> None:
    """Two tests on a device probe it once; a deselected device is not probed."""
    course.kata(test=EVERY + "def test_again(device): pass")

    course.run("-m", "cpu").assert_outcomes(passed=2, deselected=4)
    assert [] == asked(course)
    course.run().assert_outcomes(passed=2, skipped=4)
    assert ["cuda", "mps"] == asked(course)


def test_a_probe_that_raises_is_a_reason(course: MiniCourse) -> None:
    """A broken driver skips its tests; those on the CPU run."""
    stand_in(course, cuda=True, on_ask='raise RuntimeError("driver too old")')
    course.kata(test=EVERY)

    result = course.run()

    result.assert_outcomes(passed=1, skipped=2)
    result.stdout.fnmatch_lines(
        ["cuda (1 test): its probe failed with RuntimeError: driver too old"]
    )


def test_the_marker_narrows(course: MiniCourse) -> None:
    """To the devices it names, in the usual order; the closest marker decides."""
    course.kata(
        test="""
        import pytest

        pytestmark = pytest.mark.device("cpu")

        def test_module(device): pass

        @pytest.mark.device("mps", "cpu")
        def test_own(device): pass

        def test_none(): pass
        """
    )

    assert ["test_module[cpu]", "test_own[cpu]", "test_own[mps]", "test_none"] == ids(course)


def test_an_unknown_device_in_the_marker_is_an_error(course: MiniCourse) -> None:
    """Collection fails on every machine, and lists the known names."""
    course.kata(
        test="""
        import pytest

        @pytest.mark.device("cdua")
        def test_typo(device): pass
        """
    )

    result = course.run()

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["*::test_typo: device('cdua'): expected one or more of cpu, cuda, mps"]
    )


def test_a_test_can_be_marked_with_a_device(course: MiniCourse) -> None:
    """It needs the device without naming the argument, and is skipped where it is missing."""
    course.kata(
        test="""
        import pytest

        @pytest.mark.cuda
        def test_streams(): pass
        """
    )

    course.run().assert_outcomes(skipped=1)


@pytest.mark.parametrize("options", [["--device=cpu,cuda"], ["--device=cpu", "--device", "cuda"]])
def test_the_option_leaves_other_devices_out(course: MiniCourse, options: list[str]) -> None:
    """Their tests are deselected; tests without a device stay."""
    stand_in(course, cuda=True)
    course.kata(test=EVERY + "def test_of_no_device(): pass")

    course.run(*options).assert_outcomes(passed=3, deselected=1)


def test_the_option_refuses_an_unknown_device(course: MiniCourse) -> None:
    """The error lists the known names."""
    result = course.run("--device=gpu")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["ERROR: --device: expected one or more of cpu, cuda, mps; found 'gpu'"]
    )


def test_the_option_refuses_a_missing_device(course: MiniCourse) -> None:
    """A run that asked for a GPU must not pass by skipping everything."""
    course.kata(test=EVERY)

    result = course.run("--device=cuda")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --device: cuda cannot be used here: *without CUDA; *"])


def test_hypothesis_and_other_parameters_go_together_with_it(course: MiniCourse) -> None:
    """Each device gets all examples and all parameters."""
    course.kata(
        test="""
        import pytest
        from hypothesis import given
        from hypothesis import strategies

        @pytest.mark.parametrize("size", [0, 3])
        @given(value=strategies.integers(0, 9))
        def test_all(device, size, value):
            assert (device, size in (0, 3), 0 <= value <= 9) == ("cpu", True, True)
        """
    )

    result = course.run("-v", "--device=cpu")

    result.assert_outcomes(passed=2, deselected=4)
    result.stdout.fnmatch_lines(["*::test_all[[]cpu-0[]] PASSED*", "*[[]cpu-3[]] PASSED*"])


def test_a_fixture_can_name_the_device(course: MiniCourse) -> None:
    """A test that uses such a fixture runs on all devices."""
    course.kata(
        test="""
        import pytest

        @pytest.fixture
        def place(device): return f"on {device}"

        def test_place(place): assert place == "on cpu"
        """
    )

    course.run().assert_outcomes(passed=1, skipped=2)


def test_workers_agree(course: MiniCourse) -> None:
    """With xdist the same tests run and the same summary follows, once."""
    course.kata(test=EVERY)

    result = course.run("-n2")

    result.assert_outcomes(passed=1, skipped=2)
    assert 1 == result.stdout.str().count("cuda (1 test): ")


def test_markers_are_documented(course: MiniCourse) -> None:
    """``pytest --markers`` lists them all."""
    course.run("--markers").stdout.fnmatch_lines(
        [
            "@pytest.mark.device(name, ...): *, of cpu, cuda, mps.",
            "@pytest.mark.cpu: *",
            "@pytest.mark.cuda: *",
            "@pytest.mark.mps: *",
        ]
    )


def test_an_untouched_kata_shows_its_smallest_case(course: MiniCourse) -> None:
    """On a device alone and without git, as on a machine that has a copy of the course.

    A test that calls nothing, but reads what the source becomes, fails in a way of its own.
    """
    course.imported = PYTEST
    add_device(course)
    course.kata(
        stub="def double(x):\n    # TODO\n    raise NotImplementedError('double')\n",
        test="""
            from katas.lecture01.k01_first import double

            def test_one(device):
                assert 2 == double(1)

            def test_many(device):
                assert 8 == double(4)

            def test_what_it_becomes():
                assert "fma" in "nothing"
        """,
    )

    result = course.run("--device=fake")

    result.assert_outcomes(failed=3)
    failures = [line for line in result.outlines if line.startswith("____")]
    assert ["test_one[fake]"] == [line.strip("_ ") for line in failures]
    result.stdout.fnmatch_lines(["  2 more tests wait for double"])
