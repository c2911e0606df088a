"""The torch matrix: the versions, their tox environments, and the tour that writes the table."""

from __future__ import annotations

import configparser
import os
import re
import shutil
import signal
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from plugins import ROOT
from plugins.tools.terminal import install_group
from tests.matrix import place as place_module
from tests.matrix.content import content_of
from tests.matrix.place import Place
from tests.matrix.place import PlaceError
from tests.matrix.place import too_full
from tests.matrix.results import Result
from tests.matrix.results import Results
from tests.matrix.results import kind_of
from tests.matrix.results import read_junit
from tests.matrix.table import page
from tests.matrix.tour import main
from tests.matrix.versions import Version
from tests.matrix.versions import read_versions


if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Sequence


VERSIONS = read_versions(ROOT / "pyproject.toml")
with (ROOT / "pyproject.toml").open("rb") as _file:
    GROUPS = tomllib.load(_file)["dependency-groups"]
NEW = Version("torch215", "2.15.0", ("torch215", "course"))
OLD = Version("torch211", "2.11.0", ("torch211", "course"))
LECTURE = """
title = "A lecture"
[syllabus]
"""
KINDS = ("torch", "triton")
PYPROJECT = """
[dependency-groups]
course = ["pytest"]
torch211 = ["torch==2.11.0"]
torch215 = ["torch==2.15.0"]
"""


def expanded(text: str) -> list[str]:
    """Return the environments that tox expands ``a-{b,c}, d`` to."""
    if ", " in text:
        return [name for part in text.split(", ") for name in expanded(part)]
    match = re.search(r"\{([^}]*)\}", text)
    if match is None:
        return [text]
    head, tail = text[: match.start()], text[match.end() :]
    return [name for part in match[1].split(",") for name in expanded(head + part + tail)]


def tox_ini() -> configparser.ConfigParser:
    """Return tox's settings."""
    parser = configparser.ConfigParser(interpolation=None, comment_prefixes=("#",))
    parser.read(ROOT / "tox.ini")
    return parser


def test_tox_has_an_environment_for_each_version() -> None:
    """The label has each group of pyproject.toml, solved and unsolved, and no others."""
    labels = dict(line.split(" = ") for line in tox_ini()["tox"]["labels"].strip().splitlines())

    wanted = [f"{it.name}-{mode}" for it in VERSIONS for mode in ("solved", "unsolved")]
    assert wanted == expanded(labels["matrix"])


def test_tox_installs_the_groups_of_each_version() -> None:
    """Each factor has its torch and its Triton."""
    lines = tox_ini()["testenv"]["dependency_groups"].strip().splitlines()

    installed = [line for line in lines if line.startswith("torch2")]
    wanted = [f"{it.name}: {it.name.replace('torch', kind)}" for it in VERSIONS for kind in KINDS]
    assert wanted == installed


def test_the_matrix_is_five_minors_in_a_row() -> None:
    """The pinned edition is one of them, and each names its minor."""
    minors = [int(version.number.split(".")[1]) for version in VERSIONS]

    assert list(range(minors[0], minors[0] + 5)) == minors
    assert [f"torch2{minor}" for minor in minors] == [version.name for version in VERSIONS]
    assert [{"include-group": "triton213"}] == GROUPS["triton"]


def test_what_is_pinned_lies_in_its_range() -> None:
    """The range has the same packages as the pins, and contains the pins."""
    from packaging.requirements import Requirement  # noqa: PLC0415 - pytest brings it along

    pins = {it.name: it.specifier for it in map(Requirement, GROUPS["course"])}
    ranges = {it.name: it.specifier for it in map(Requirement, GROUPS["range"])}

    assert pins.keys() == ranges.keys()
    for name, specifier in ranges.items():
        (pin,) = pins[name]
        assert specifier.contains(pin.version), f"{name}: {pin} is not in {specifier}"


def test_the_page_is_about_the_versions_of_today() -> None:
    """The committed table has rows for these versions only."""
    text = (ROOT / "tests/MATRIX.md").read_text(encoding="utf-8")

    rows = re.findall(r"^\| (\d\S*) \|", text, re.MULTILINE)
    assert [version.number for version in VERSIONS] == list(dict.fromkeys(rows))


def test_the_readme_names_these_versions() -> None:
    """Without their patches."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")

    (named,) = re.findall(r"with torch ((?:\d+\.\d+(?:, | and )?)+):", text)
    minors = [version.number.rpartition(".")[0] for version in VERSIONS]
    assert minors == re.findall(r"\d+\.\d+", named)


def test_what_maintainers_read_of_tox_can_be_run() -> None:
    """Its labels exist, each environment is in one of them or has a section."""
    text = (ROOT / "docs/maintaining.md").read_text(encoding="utf-8")
    part = text.partition("\n## The torch matrix\n")[2].partition("\n## ")[0]
    labels = dict(line.split(" = ") for line in tox_ini()["tox"]["labels"].strip().splitlines())
    environments = [name for names in labels.values() for name in expanded(names)]
    environments += [name.removeprefix("testenv:") for name in tox_ini() if ":" in name]

    assert labels.keys() == set(re.findall(r"tox run -m (\w+)", part))
    assert set(re.findall(r"tox -e (\S+?)`", part)) <= set(environments)
    assert "torch213-unsolved-latest" in environments
    assert {"matrix", "range", VERSIONS[0].name, VERSIONS[-1].name} <= GROUPS.keys()
    assert f"`{VERSIONS[0].name}` to `{VERSIONS[-1].name}`" in part
    assert f"{place_module.GIGABYTES} GB" in part


def test_versions_come_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    """2.9 comes before 2.10; Triton is installed if it has a group."""
    file = tmp_path / "pyproject.toml"
    file.write_text(
        '[dependency-groups]\ntorch210 = ["torch==2.10.0"]\ntorch29 = ["torch==2.9.1"]\n'
        'triton29 = ["triton"]\ncourse = []\n'
    )

    assert (
        Version("torch29", "2.9.1", ("torch29", "course", "triton29")),
        Version("torch210", "2.10.0", ("torch210", "course")),
    ) == read_versions(file)


def test_a_group_that_is_no_pin_is_refused(tmp_path: Path) -> None:
    """The error names the group, the expected pin and the found one."""
    file = tmp_path / "pyproject.toml"
    file.write_text('[dependency-groups]\ntorch29 = ["torch>=2.9"]\n')

    with pytest.raises(ValueError, match=r"torch29: expected .*, found \['torch>=2.9'\]"):
        read_versions(file)


@pytest.mark.parametrize(
    ("inside", "kind"),
    [
        ("", "passed"),
        ("<failure/>", "failed"),
        ("<error/>", "failed"),
        ('<skipped type="pytest.skip"/>', "skipped"),
        ('<skipped type="pytest.xfail"/>', "red"),
    ],
)
def test_a_test_ends_in_one_of_four_ways(inside: str, kind: str) -> None:
    """An expected failure is red; an unexpected pass is a failure."""
    assert kind == kind_of(ET.fromstring(f"<testcase>{inside}</testcase>"))  # noqa: S314


def test_a_report_is_counted(tmp_path: Path) -> None:
    """Failures are listed by name, skips by reason."""
    report = tmp_path / "report.xml"
    reason = '<properties><property name="not run here" value="cuda: none"/></properties>'
    case = '<testcase classname="katas.lecture02.test_k01" name="test_a">'
    skip = '<skipped type="pytest.skip"/></testcase>'
    report.write_text(
        f"<testsuites>{case}</testcase>{case}<failure/></testcase>"
        f"{case}{reason}{skip}{case}{reason}{skip}</testsuites>"
    )

    assert Result(1, 0, 2, ("test_k01::test_a",), (("cuda: none", 2),)) == read_junit(report, 1)


def test_a_run_without_a_report_has_failed(tmp_path: Path) -> None:
    """So has one that ends with a bad status though no test failed."""
    report = tmp_path / "report.xml"
    assert ("pytest ended with status -9 and left no report",) == read_junit(report, -9).failed

    report.write_text("<testsuites><testcase/></testsuites>")
    assert ("pytest ended with status 3",) == read_junit(report, 3).failed
    assert () == read_junit(report, 0).failed


def test_results_survive_the_process(tmp_path: Path) -> None:
    """Stored results are read back unchanged; a damaged file counts as none."""
    file = tmp_path / "state/results.json"
    result = Result(3, 2, 1, ("a::b",), (("cuda: none", 2),), 1.5, "abc", "2.15.0+cpu")
    Results(file).keep("torch215", "lecture02", "solved", result)

    again = Results(file)
    assert result == again.get("torch215", "lecture02", "solved")
    assert again.get("torch215", "lecture02", "unsolved") is None

    file.write_text('{"torch215 lecture02 solved": {"colour": "red"}}')
    assert {} == Results(file).known


def test_the_page_shows_every_version_and_lecture() -> None:
    """A missing run is marked; failures and reasons follow the table."""
    results = {
        ("torch215", "lecture02", "solved"): Result(
            9, 0, 2, (), (("cuda: no GPU for (2.15.0+cu132)", 2),), 3.4, "", "2.15.0+cpu", "3", "d"
        ),
        ("torch215", "lecture02", "unsolved"): Result(
            1, 8, 2, (), (("cuda: no GPU", 2),), 4.4, "", "2.15.0+cpu", "3", "d"
        ),
        ("torch215", "lecture03", "solved"): Result(
            8, 0, 0, ("test_k01::test_a",), (), 5.0, "", "2.15.0+cpu", "3", "d"
        ),
    }

    text = page([NEW, OLD], ["lecture02", "lecture03"], lambda *key: results.get(key))

    table = [line for line in text.splitlines() if line.startswith("| 2.")]
    assert [
        "| 2.15.0 | lecture02 | 9 passed | 8 red, 1 given | 2 | 8 |",
        "| 2.15.0 | lecture03 | 8 passed, 1 **failed** | not run | 0 | 5 |",
        "| 2.11.0 | lecture02 | not run | not run | not run | not run |",
        "| 2.11.0 | lecture03 | not run | not run | not run | not run |",
    ] == table
    assert "- 2.15.0, lecture03, solved: `test_k01::test_a`\n" in text
    assert "- cuda: no GPU for: 2 tests with 2.15.0\n" in text
    assert "- torch 2.15.0+cpu, Python 3, d\n" in text


def test_versions_that_skip_differently_are_told_apart() -> None:
    """An equal number appears once."""
    numbers = {"torch211": 1, "torch215": 2}

    text = page(
        [OLD, NEW],
        ["lecture02"],
        lambda version, *_: Result(absent=(("torch: too old", numbers[version]), ("mps: no", 3))),
    )

    assert "- mps: no: 3 tests with 2.11.0, 2.15.0\n" in text
    assert "- torch: too old: 1 test with 2.11.0; 2 tests with 2.15.0\n" in text


def checkout(path: Path) -> Path:
    """Make a course of two lectures and two versions of torch."""
    for name, text in {
        "pyproject.toml": PYPROJECT,
        "conftest.py": "",
        "requirements.txt": "",
        "katas/__init__.py": "",
        "katas/lecture02/lecture.toml": LECTURE,
        "katas/lecture03/lecture.toml": LECTURE,
        "plugins/__init__.py": "",
        "tests/MATRIX.md": "",
    }.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text)
    return path


def test_a_result_is_about_the_files_that_were_run(tmp_path: Path) -> None:
    """An edit of the lecture, a plugin or the pins needs another run."""
    root = checkout(tmp_path)
    before = content_of(root, "lecture02")

    (root / "katas/lecture03/k01.py").write_text("another lecture")
    (root / "katas/lecture02/__pycache__").mkdir()
    (root / "katas/lecture02/__pycache__/k01.pyc").write_text("")
    assert before == content_of(root, "lecture02")

    seen = {before}
    for name in ("katas/lecture02/k01.py", "plugins/a.py", "requirements.txt"):
        (root / name).write_text("changed")
        seen.add(content_of(root, "lecture02"))
    assert 4 == len(seen)


def test_only_who_asks_where_versions_differ_depends_on_it(tmp_path: Path) -> None:
    """An entry for one lecture does not repeat the runs of the others."""
    root = checkout(tmp_path)
    (root / "katas/compat.py").write_text("one")
    (root / "katas/lecture02/test_k01.py").write_text("from katas import compat\n")
    before = [content_of(root, lecture) for lecture in ("lecture02", "lecture03")]

    (root / "katas/compat.py").write_text("another")

    after = [content_of(root, lecture) for lecture in ("lecture02", "lecture03")]
    assert [False, True] == [old == new for old, new in zip(before, after, strict=True)]


class FakePlace(Place):
    """A place that installs nothing, and whose pytest reports one test."""

    made: tuple[str, ...] = ()
    ran: tuple[str, ...] = ()
    stop = ""

    def make(self, version: Version, index: str) -> None:
        """Record the version."""
        type(self).made += (version.name,)
        assert index
        self.folder.mkdir(parents=True)

    def torch(self) -> str:
        """Return the version of a CPU wheel."""
        return "2.15.0+cpu"

    def call(self, command: Sequence[str], log: Path | None = None) -> tuple[int, str]:
        """Write the requested report, or be interrupted."""
        lecture, mode = command[3], command[4]
        if type(self).stop == lecture:
            raise KeyboardInterrupt
        type(self).ran += (f"{self.folder.name} {lecture} {mode}",)
        (option,) = (part for part in command if part.startswith("--junitxml="))
        failure = "<failure/>" if "lecture03" in lecture and mode in type(self).stop else ""
        text = f"<testsuites><testcase name='test_a'>{failure}</testcase></testsuites>"
        Path(option.partition("=")[2]).write_text(text)
        assert log is not None
        return int(bool(failure)), ""


@pytest.fixture
def tour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a checkout whose tours install nothing."""
    monkeypatch.setattr("tests.matrix.tour.Place", FakePlace)
    pytest.importorskip("tqdm", reason=install_group("matrix"))
    for name, value in {"made": (), "ran": (), "stop": ""}.items():
        monkeypatch.setattr(FakePlace, name, value)
    before = signal.getsignal(signal.SIGTERM)
    yield checkout(tmp_path)
    signal.signal(signal.SIGTERM, before)


def rows(root: Path) -> list[str]:
    """Return the table of a checkout."""
    text = (root / "tests/MATRIX.md").read_text()
    return [line for line in text.splitlines() if line.startswith("| 2.")]


def test_a_tour_runs_everything_once(tour: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each version is installed, each lecture run both ways; a second tour has nothing to do."""
    assert 0 == main([], tour)

    assert ("torch211", "torch215") == FakePlace.made
    assert 8 == len(FakePlace.ran)
    assert 4 == len(rows(tour))
    assert not any("not run" in row for row in rows(tour))
    assert not list((tour / ".katas/matrix").glob("torch211/"))
    assert "torch215 lecture03 unsolved: 1 passed, 0 skipped" in capsys.readouterr().out

    assert 0 == main([], tour)
    assert 8 == len(FakePlace.ran)


def test_an_interrupted_tour_goes_on_where_it_stopped(tour: Path) -> None:
    """Finished runs are in the table, and the environment is gone."""
    FakePlace.stop = "katas/lecture03"
    with pytest.raises(KeyboardInterrupt):
        main([], tour)

    assert "| 2.11.0 | lecture02 | 1 passed | not run | 0 | 0 |" in rows(tour)
    assert "| 2.11.0 | lecture03 | not run | not run | not run | not run |" in rows(tour)
    assert not (tour / ".katas/matrix/torch211").exists()

    FakePlace.stop = ""
    assert 0 == main([], tour)
    assert 8 == len(FakePlace.ran)


def test_a_tour_that_is_told_to_stop_cleans_up(tour: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By SIGTERM, as in the background; the next tour removes what a killed one left."""

    def told(*_: object) -> tuple[int, str]:
        os.kill(os.getpid(), signal.SIGTERM)
        return 0, ""

    with monkeypatch.context() as patch:
        patch.setattr(FakePlace, "call", told)
        with pytest.raises(SystemExit) as ended:
            main([], tour)

    assert 128 + signal.SIGTERM == ended.value.code
    assert not (tour / ".katas/matrix/torch211").exists()

    (tour / ".katas/matrix/torch215/lib").mkdir(parents=True)
    assert 0 == main(["torch211"], tour)
    assert not (tour / ".katas/matrix/torch215").exists()


def test_what_failed_is_run_again(tour: Path) -> None:
    """The status is that of a failure; once fixed, the next tour's is 0."""
    FakePlace.stop = "--solutions"
    assert 1 == main(["torch215"], tour)
    assert "| 2.15.0 | lecture03 | 0 passed | 1 passed |" not in rows(tour)
    assert "| 2.15.0 | lecture03 | 1 **failed** | 1 passed | 0 | 0 |" in rows(tour)

    FakePlace.stop = ""
    assert 0 == main(["torch215"], tour)
    assert "torch215 katas/lecture03 --solutions" == FakePlace.ran[-1]
    assert 5 == len(FakePlace.ran)


def test_an_edited_lecture_is_run_again(tour: Path) -> None:
    """The others are not run."""
    main([], tour)
    (tour / "katas/lecture03/k01.py").write_text("another solution")
    main(["lecture02", "torch211"], tour)
    assert 8 == len(FakePlace.ran)

    main([], tour)
    assert 12 == len(FakePlace.ran)


def test_names_choose_versions_and_lectures(tour: Path) -> None:
    """An unknown name is refused before anything is installed."""
    main(["torch215", "lecture03"], tour)
    assert (
        "torch215 katas/lecture03 --solutions",
        "torch215 katas/lecture03 --unsolved",
    ) == FakePlace.ran

    with pytest.raises(SystemExit):
        main(["torch214"], tour)


def test_a_broken_lecture_ends_the_tour(tour: Path) -> None:
    """The message is the course's own."""
    (tour / "katas/lecture02/lecture.toml").write_text("title")

    with pytest.raises(SystemExit, match=r"lecture02/lecture\.toml"):
        main([], tour)


def test_what_shows_the_progress_may_be_missing(
    tour: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message is the command that installs it."""
    monkeypatch.setitem(sys.modules, "tqdm", None)

    assert 2 == main([], tour)
    expected = f"tqdm is not installed; {install_group('matrix')}\n"
    assert expected == capsys.readouterr().err


def test_too_full_a_disk_is_said(
    tour: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It refuses before anything is installed; known results are still written."""

    def refuse(*_: object) -> None:
        raise PlaceError("3 GB are free")

    monkeypatch.setattr(FakePlace, "make", refuse)

    assert 2 == main([], tour)
    assert "3 GB are free\n" == capsys.readouterr().err
    assert 4 == len(rows(tour))


def test_free_disk_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message has the free space, the needed space, and that finished runs are kept."""
    disk = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: disk._replace(free=3_200_000_000))
    assert str(too_full(tmp_path)).startswith(f"3 GB are free at {tmp_path}, and")

    monkeypatch.setattr(shutil, "disk_usage", lambda _: disk._replace(free=50_000_000_000))
    assert too_full(tmp_path) is None


class Installing(Place):
    """A place that only records the commands; those with `fails` in them fail."""

    commands: tuple[tuple[str, ...], ...] = ()
    fails = "never"

    def call(self, command: Sequence[str], log: Path | None = None) -> tuple[int, str]:
        """Record the command."""
        assert log is None
        type(self).commands += (tuple(command),)
        failed = any(type(self).fails in part for part in command)
        return int(failed), "no such wheel" if failed else ""


@pytest.fixture
def installing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Installing:
    """Return a place on an empty disk."""
    monkeypatch.setattr(place_module, "too_full", lambda _: None)
    for name, value in {"commands": (), "fails": "never"}.items():
        monkeypatch.setattr(Installing, name, value)
    return Installing(tmp_path / "state/torch215", tmp_path)


def test_wheels_for_the_cpu_are_tried_first(installing: Installing) -> None:
    """Then the groups, which find torch installed, or install what pip finds elsewhere."""
    installing.make(NEW, "https://example.org/cpu")

    *_, cpu, groups = installing.commands
    assert {"--index-url=https://example.org/cpu", "--group", "torch215"} <= set(cpu)
    assert ("--group=torch215", "--group=course") == groups[-2:]
    assert not [part for part in groups if "index" in part]


def test_wheels_for_the_cpu_need_not_be_there(installing: Installing) -> None:
    """An unreachable index is no error; a failed installation is."""
    Installing.fails = "index-url"
    installing.make(NEW, "https://example.org/cpu")

    Installing.fails = "--group=course"
    with pytest.raises(PlaceError, match=r"ended with status 1:\nno such wheel"):
        installing.make(NEW, "https://example.org/cpu")


def test_nothing_is_installed_on_a_full_disk(
    installing: Installing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even an empty environment."""
    monkeypatch.setattr(place_module, "too_full", lambda _: "no room")

    with pytest.raises(PlaceError, match="no room"):
        installing.make(NEW, "https://example.org/cpu")
    assert () == installing.commands


def test_a_run_sees_only_its_own_environment(tmp_path: Path) -> None:
    """What a shell has set for Python, torch or the course does not reach it."""
    place = Place(tmp_path / "torch215", tmp_path)

    seen = place.environment({"PATH": "/bin", "HOME": "/h", "PYTHONPATH": "/x", "TORCH_LOGS": "a"})

    assert {
        "HOME": "/h",
        "PATH": f"{tmp_path}/torch215/bin:/bin",
        "KATAS_BUILD": f"{tmp_path}/torch215/builds",
        "PYTHONHASHSEED": "0",
        "COLUMNS": "80",
    } == seen


def test_a_command_has_its_output_kept(tmp_path: Path) -> None:
    """To a file if one is given; otherwise it is returned."""
    place = Place(tmp_path / "torch215", tmp_path)
    script = [sys.executable, "-c", "import sys; print('said'); sys.exit(3)"]

    assert (3, "said\n") == place.call(script)
    assert (3, "") == place.call(script, tmp_path / "log.txt")
    assert "said\n" == (tmp_path / "log.txt").read_text()


def test_a_command_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the processes that it has started."""
    monkeypatch.setattr(place_module, "SECONDS", 0.5)
    place = Place(tmp_path / "torch215", tmp_path)

    status, output = place.call(["sh", "-c", "sleep 600 & sleep 600"])

    assert (-1, "sh did not end in 0.5 seconds") == (status, output)


@pytest.mark.torch
def test_the_build_of_torch_is_that_of_the_environment(tmp_path: Path) -> None:
    """It is read without importing torch."""
    place = Place(tmp_path / "torch215", tmp_path)
    (tmp_path / "torch215/bin").mkdir(parents=True)
    python = tmp_path / "torch215/bin/python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)

    assert version("torch") == place.torch()
    place.remove()
    assert not place.folder.exists()
