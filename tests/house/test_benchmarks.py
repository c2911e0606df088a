"""The benchmarks, as far as any machine can check them."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from plugins import ROOT
from plugins.course.lectures import read_course


@pytest.mark.torch
@pytest.mark.backend("cxx")
def test_every_kernel_computes_what_it_is_compared_with() -> None:
    """At a small size, by the same operators on the CPU."""
    import torch  # noqa: PLC0415 - the harness has tests without torch

    gpu = import_module("benchmarks.gpu")
    works = gpu.works(lambda kata: gpu.built(kata, "cpu"), 12, "cpu")

    assert ["k03", "k04", "k05", "k06", "k07", "k08", "k09", "k10"] == [w.kata for w in works]
    for work in works:
        expected, actual = work.torchs(), work.ours()
        # A transpose may come as a view, a sum of ints as int64.
        actual = actual.reshape(expected.shape).to(expected.dtype)
        torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.torch
def test_without_a_gpu_it_says_so() -> None:
    """In one line, with an exit code that is not 0."""
    import torch  # noqa: PLC0415 - the harness has tests without torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU here")
    command = [sys.executable, "-m", "benchmarks.gpu"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert 1 == done.returncode
    assert done.stderr.startswith("no GPU can be used by this PyTorch")


def test_the_katas_of_the_benchmark_of_watch_exist() -> None:
    """An exercise of each kind, with its tests and its solution."""
    watch = import_module("benchmarks.watch")

    assert {".py", ".cpp", ".cu"} == {Path(name).suffix for name in watch.KATAS.values()}
    for name in watch.KATAS.values():
        lecture, _, file = name.partition("/")
        assert (ROOT / "katas" / name).is_file()
        assert (ROOT / watch.test_of(name)).is_file()
        assert (ROOT / "katas" / lecture / "solutions" / file).is_file()


def test_the_large_course_has_names_for_all_its_lectures() -> None:
    """The course itself comes first; then come the names that are free, in order."""
    collect = import_module("benchmarks.collect")

    first, second, third = collect.names(["lecture01", "lecture03"], 3)
    assert {"lecture01": "lecture01", "lecture03": "lecture03"} == first
    assert {"lecture01": "lecture00", "lecture03": "lecture02"} == second
    assert {"lecture01": "lecture04", "lecture03": "lecture05"} == third
    assert 50 == len(collect.names(["lecture01", "lecture03"], 50))
    with pytest.raises(ValueError, match="no names are left for 51 times 2 lectures"):
        collect.names(["lecture01", "lecture03"], 51)


def test_each_lecture_of_the_large_course_is_its_own(tmp_path: Path) -> None:
    """None imports one of another copy."""
    collect = import_module("benchmarks.collect")
    collect.make(tmp_path, 2)
    folders = [sorted((root / "katas").glob("lecture*/")) for root in (ROOT, tmp_path)]
    real, large = (read_course(each) for each in folders)

    assert () == large.errors
    assert 2 * len(real.lectures) == len(large.lectures)
    assert all(re.fullmatch(r"lecture\d\d", lecture.name) for lecture in large.lectures)
    tests = [kata.test for kata in large.katas]
    assert 2 * sum(len(lecture.katas) for lecture in real.lectures) == len(tests)
    ours = {lecture.name for lecture in real.lectures}
    for test in tests:
        # At the beginning of a line: lecture 28 has a course of its own in a text.
        pattern = re.compile(r"^\s*(?:from|import) katas\.(lecture\d\d)", re.MULTILINE)
        imported = set(pattern.findall(test.read_text(encoding="utf-8")))
        assert imported <= {test.parent.name}, test
    copies = {lecture.name for lecture in large.lectures} - ours
    assert len(ours) == len(copies)


@pytest.mark.torch
def test_the_large_course_has_the_same_tests(tmp_path: Path) -> None:
    """A copy of a lecture is collected as the lecture is."""
    collect = import_module("benchmarks.collect")
    collect.make(tmp_path, 2)
    lectures = sorted(path.name for path in (ROOT / "katas").glob("lecture*/"))
    pair = (lectures[0], collect.names(lectures, 2)[1][lectures[0]])
    folders = (f"katas/{name}" for name in pair)
    command = [sys.executable, "-m", "pytest", *folders, "--collect-only", "-q"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    ids = [line.removeprefix("katas/").partition("/") for line in done.stdout.splitlines()]
    first, second = ([test for name, _, test in ids if name == lecture] for lecture in pair)

    assert first == second
    assert 100 < len(first)
