"""The fixture ``extension``: which katas it builds, which process does, and what it shows."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import TYPE_CHECKING
from typing import Any

import pytest

from plugins.course.model import Course
from plugins.course.model import Lecture
from plugins.course.notes import status_key
from plugins.native.plugin import Native
from plugins.native.plugin import announce_build
from plugins.native.plugin import begun_key
from plugins.native.plugin import build_source
from plugins.native.plugin import builds_ahead
from plugins.native.plugin import native_katas
from plugins.native.plugin import native_key
from plugins.native.plugin import no_cxx
from plugins.native.plugin import pytest_report_header
from plugins.native.plugin import resume_dots
from plugins.native.sources import SourceError
from tests.support.native import LOUD
from tests.support.native import native_kata
from tests.support.warm import PYTEST


if TYPE_CHECKING:
    from pathlib import Path

    from plugins.native.sources import Unit
    from tests.conftest import MiniCourse


PLUGINS = (
    "plugins.course.session",
    "plugins.course.solutions",
    "plugins.machine.absent",
    "plugins.machine.backends",
    "plugins.native.plugin",
)
# Brings a language, and answers the hook with an extension of its own.
ANSWER = """
from dataclasses import replace

def pytest_kata_languages():
    return ["tests.support.native:LOUD"]

def pytest_kata_extension(extension, libraries, kata, loaded):
    return replace(extension, problem=f"{kata.name} {extension.source} {loaded} {libraries}")
"""


@pytest.fixture
def lectures(tmp_path: Path) -> Course:
    """Return two lectures with one Python kata, two in C++ and one in another language."""
    one, two = tmp_path / "katas/lecture01", tmp_path / "katas/lecture02"
    katas = (
        native_kata(one, "k01_python"),
        native_kata(one, "k02_cpp", "csrc/k02.cpp", "csrc/k02.loud"),
        native_kata(one, "k03_loud", "csrc/k03.loud"),
    )
    other = (native_kata(two, "k01_cpp", "csrc/k01.cpp"),)
    return Course((Lecture("lecture01", "", {}, katas, one), Lecture("", "", {}, other, two)), ())


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["katas"], ["lecture01/k02_cpp", "lecture01/k03_loud", "lecture02/k01_cpp"]),
        (["katas/lecture01"], ["lecture01/k02_cpp", "lecture01/k03_loud"]),
        (["katas/lecture02/test_k01_cpp.py::test_a[x-1]"], ["lecture02/k01_cpp"]),
        (["katas/lecture01/test_k01_python.py", "tests"], []),
        ([], []),
    ],
)
def test_katas_are_selected_by_the_arguments(
    lectures: Course, tmp_path: Path, args: list[str], expected: list[str]
) -> None:
    """Those with sources to build, in the order in which their tests run."""
    assert expected == [kata.id for kata in native_katas(lectures, args, tmp_path, (LOUD,))]


def config(**values: object) -> Any:
    """Return a session's options, and whether it is a worker of xdist."""
    worker = values.pop("worker", None)
    extra = {"workerinput": {"workerid": worker}} if worker else {}
    stash = pytest.Stash()
    stash[begun_key] = bool(values.pop("begun", False))
    return SimpleNamespace(getoption=values.get, stash=stash, **extra)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, True),
        ({"dist": "no"}, True),
        ({"dist": "load"}, False),
        ({"worker": "gw0"}, True),
        ({"worker": "gw1"}, False),
        ({"collectonly": True}, False),
        ({"cacheshow": "*"}, False),
        ({"progress_json": "-"}, False),
        ({"help": True}, False),
        ({"markers": True, "worker": "gw0"}, False),
        ({"begun": True}, False),
    ],
)
def test_one_process_that_runs_tests_builds_ahead(
    values: dict[str, object], *, expected: bool
) -> None:
    """Not xdist's controller or other workers, nor where no test is run or --watch has begun."""
    assert expected == builds_ahead(config(**values))


def test_the_clock_of_a_watch_shows_a_build_and_then_the_test(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The line that a terminal would forget is not written: it would tear the clock."""
    monkeypatch.setattr("plugins.native.plugin.describe_build", lambda *_: "building it ...")
    told: list[str] = []
    reporter = SimpleNamespace(isatty=True)
    session: Any = SimpleNamespace(
        pluginmanager=SimpleNamespace(getplugin=lambda _: reporter),
        stash={status_key: told.append},
    )
    builder: Any = SimpleNamespace(ready=lambda unit: unit == "ready")
    unit: Any
    for unit in ("ready", "new"):
        with announce_build(session, builder, [unit], "lecture01/k01", "test_k01.py::test_it[1]"):
            told.append(unit)

    with (
        pytest.raises(SourceError),
        announce_build(session, builder, [unit], "lecture01/k01", "test_k01.py::test_wrong"),
    ):
        raise SourceError

    assert ["ready", "building it ...", "new", "test_it[1]"] == told[:4]
    assert ["building it ...", "test_wrong"] == told[4:]
    assert ("", "") == capsys.readouterr()


def test_the_backend_needs_fork_and_a_compiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of them has its sentence."""
    session: Any = SimpleNamespace(stash={native_key: Native(tmp_path, (), ())})
    monkeypatch.setenv("KATAS_CXX", "no-such-compiler")

    assert "KATAS_CXX=no-such-compiler is not a C++ compiler that can be run" == no_cxx(session)
    monkeypatch.delattr(os, "fork")
    assert str(no_cxx(session)).endswith("on Windows, use WSL")


def test_a_session_has_one_builder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is made when first needed; so are the toolchain and the folder."""
    monkeypatch.setenv("KATAS_BUILD", str(tmp_path / "build"))
    toolchain = object()
    monkeypatch.setattr("plugins.native.plugin.find_toolchain", lambda: toolchain)
    native = Native(tmp_path, (), ())

    assert not (tmp_path / "build").exists()
    assert native.builder is native.builder
    assert (toolchain, tmp_path / "build") == (native.builder.toolchain, native.builder.folder)


def test_a_test_may_build_a_source_of_its_own(tmp_path: Path) -> None:
    """With the session's builder; without a tier the source is refused."""
    built: list[Unit] = []
    builder = SimpleNamespace(build=built.append)
    session: Any = SimpleNamespace(
        stash={native_key: SimpleNamespace(builder=builder, languages=())}
    )
    source = tmp_path / "own.cpp"
    source.write_text("// tier: stable\n")

    build_source(session, "lecture01_k09", source)

    (unit,) = built
    assert ("lecture01_k09", "stable", "own.cpp") == (
        unit.name,
        unit.tier.name,
        unit.files[0].shown,
    )
    source.write_text("int x;")
    with pytest.raises(SourceError, match=r"^own.cpp:1: expected // tier: NAME"):
        build_source(session, "lecture01_k09", source)


@pytest.mark.parametrize(("name", "loaded"), [("extension", True), ("unloaded", False)])
def test_another_language_may_replace_the_extension(
    course: MiniCourse, name: str, *, loaded: bool
) -> None:
    """Even if there is no library; without an answer it stays."""
    course.plugins(*PLUGINS)
    course.imported = PYTEST
    course.monkeypatch.setenv("KATAS_CXX", "no-such-compiler")
    source = "katas/lecture01/csrc/k01_first.loud"
    csrc = ("csrc/k01_first.loud",)
    course.kata(test=f"def test_it({name}): pass", csrc=csrc, stub="INT X;\n")
    conftest = course.path / "conftest.py"
    before, (language, answer) = conftest.read_text(), ANSWER.split("\n\ndef pytest_kata_ext")

    course.run().stdout.fnmatch_lines(["*lecture.toml has no C++ source for test_k01_first.py"])
    conftest.write_text(f"{before}{language}\n")
    course.run().stdout.fnmatch_lines([f"{source} could not be built: KATAS_CXX=no-such-*"])
    conftest.write_text(f"{before}{language}\n\ndef pytest_kata_ext{answer}")
    course.run().stdout.fnmatch_lines([f"k01_first {source} {loaded} {{}}"])


@pytest.mark.parametrize(("shows", "resumed"), [(True, ["k.py::test_it"]), (False, [])])
def test_dots_go_on_in_a_terminal(shows: bool, resumed: list[str]) -> None:  # noqa: FBT001
    """Behind the name of their file, unless ``-q`` shows none; the line of the build is gone."""
    named: list[str] = []
    written: list[str] = []
    reporter: Any = SimpleNamespace(
        isatty=True,
        showfspath=shows,
        rewrite=lambda text, **_: written.append(text),
        write_fspath_result=lambda nodeid, _: named.append(nodeid),
    )
    config: Any = SimpleNamespace(pluginmanager=SimpleNamespace(getplugin=lambda _: None))

    resume_dots(config, reporter, "k.py::test_it")

    assert named == resumed
    assert ["", ""] == written


@pytest.mark.parametrize(
    ("clang", "refused", "lines"),
    [
        (True, [], []),
        (
            False,
            [],
            ["katas: cc builds the C++ katas; clang is five times faster: docs/optional.md"],
        ),
        (
            True,
            ["vec"],
            ["katas: cc cannot build the tier vec, g++ does (KATAS_CXX=cc says why)"],
        ),
    ],
)
def test_the_header_tells_of_compilers(
    *, clang: bool, refused: list[str], lines: list[str]
) -> None:
    """That g++ builds, or that the first compiler is passed over for a tier; each in one row."""
    builder = SimpleNamespace(
        passed_over=lambda tier: ["cc"] * (tier.name in refused),
        recipe_of=lambda _tier: SimpleNamespace(
            toolchain=SimpleNamespace(compiler=SimpleNamespace(name="g++"))
        ),
    )
    toolchain = SimpleNamespace(compiler=SimpleNamespace(name="cc", clang=clang))
    native = SimpleNamespace(katas=("a",), toolchain=toolchain, builder=builder, languages=())
    config: Any = SimpleNamespace(stash={native_key: native})

    assert lines == pytest_report_header(config)
    assert all(len(line) <= 80 for line in lines)
    native.katas = ()
    assert [] == pytest_report_header(config)
