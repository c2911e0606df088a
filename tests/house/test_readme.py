"""The claims of the README hold."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from typing import TYPE_CHECKING

import pytest

from plugins import ROOT


if TYPE_CHECKING:
    from pathlib import Path


README = (ROOT / "README.md").read_text(encoding="utf-8")
# With what it leaves to other pages.
PAGES = {
    name: (ROOT / name).read_text(encoding="utf-8")
    for name in ("README.md", "docs/commands.md", "docs/optional.md")
}
ALL = "\n".join(PAGES.values())


def blocks() -> list[str]:
    """Return the console blocks of the README in their order."""
    return [block.strip() for block in re.findall(r"```console\n(.*?)```", README, re.DOTALL)]


def run(*arguments: str) -> str:
    """Return what a run of pytest with these arguments prints."""
    command = [sys.executable, "-m", "pytest", *arguments]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=600
    ).stdout


def test_it_opens_with_the_way_in_and_the_two_commands() -> None:
    """Only the title stands before them, and all are on the first screen of the page."""
    way, first, second = blocks()[:3]
    cpu, install, watch = way.splitlines()

    assert cpu.startswith("python -m pip install torch==2.13.0 --index-url https://")
    assert cpu in PAGES["docs/optional.md"].replace("`", "\n")
    assert f"{install} && pytest katas/lecture04" == first
    assert install == "python -m pip install -r requirements.txt"
    assert watch == "pytest katas --watch --next"
    assert second == "python -m pip install tox && tox"
    assert "" == README.partition("\n")[2].partition("```")[0].strip()
    assert second in README.splitlines()[:40]
    assert cpu.split()[4] in (ROOT / "requirements.txt").read_text().split()


def test_it_is_short() -> None:
    """What is reference is on other pages, which it links."""
    assert len(README.split()) <= 2500
    for name in PAGES.keys() - {"README.md"}:
        assert f"]({name})" in README


def test_ci_runs_the_second_command_twice() -> None:
    """Word for word, first with g++ alone; then it makes some proofs with everybody's command."""
    lines = (ROOT / ".ci/run").read_text(encoding="utf-8").splitlines()
    commands = [line.strip() for line in lines if line and not line.strip().startswith("#")]
    runs = [line for line in commands if line.endswith("second_command")]

    assert ["second_command() {", blocks()[2], "}"] == commands[
        (at := commands.index("second_command() {")) : at + 3
    ]
    assert 2 == len(runs)
    assert runs[0].startswith('PATH="$scratch/venv/bin:$scratch/bare" ')
    assert "second_command" == runs[1]
    # Proofs are not made with libraries that lie in the checkout.
    assert 'export TOX_WORK_DIR="$scratch/tox"' in commands[:at]
    assert commands[-1].startswith("python -m tests.gate.verify --again --minutes ")


def test_the_first_run_of_ci_has_nothing_optional(tmp_path: Path) -> None:
    """Of what CI installs, it sees what the README requires, and no other program."""
    if not shutil.which("dpkg"):
        pytest.skip("dpkg, which knows the programs of a package, is not on PATH: apt install dpkg")
    text = (ROOT / ".ci/packages").read_text(encoding="utf-8")
    assigned = re.findall(r'packages="(?:\$packages )?([^"$]+)"', text)
    looped = re.findall(r"for name in ([^;]+); do", text)
    packages = {name for words in assigned + looped for name in words.split()}
    subprocess.run([ROOT / ".ci/bare", tmp_path / "bare"], check=True)
    linked = {file.name for file in (tmp_path / "bare").iterdir()}

    assert {"g++", "git", "clang-14", "cmake", "slurmctld"} <= packages
    assert {"g++", "git", "python3", "sh"} <= linked
    for package in packages - {"g++", "git"}:
        found = subprocess.run(
            ["dpkg", "-L", package], capture_output=True, text=True, check=False
        ).stdout
        programs = set(re.findall(r"^/(?:usr/)?s?bin/(\S+)$", found, re.MULTILINE))
        assert set() == programs & linked, f"{package} is not hidden"


def test_requirements_are_the_groups() -> None:
    """The learner's requirements and tox's groups hold the same pins."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        groups = tomllib.load(file)["dependency-groups"]
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]

    assert sorted(pins) == sorted([*groups["torch213"], *groups["course"]])


def options_of(text: str) -> set[str]:
    """Return the long options of pytest that a text shows in commands."""
    commands = re.findall(r"`?(pytest [^`\n]*)", text)
    return {option for line in commands for option in re.findall(r"--[a-z]+(?:-[a-z]+)*", line)}


def test_options_in_the_readme_exist() -> None:
    """Each is in ``pytest --help``; each of ours there is in the README."""
    text = run("--help")
    ours = text.partition("\nkatas:\n")[2].partition("\n\n")[0]
    shown = options_of(ALL) - {"--help", "--markers"}

    assert set() == {option for option in shown if option not in text}
    assert set() == set(re.findall(r"^  (--[a-z]+(?:-[a-z]+)*)", ours, re.MULTILINE)) - shown


def test_markers_are_those_of_the_readme() -> None:
    """The table holds the marks that the plugins declare, and ``-m`` selects by one of them."""
    found, without = (
        set(re.findall(r"@pytest\.mark\.(\w+)", run("--markers", *options)))
        for options in ((), ("--noconftest",))
    )
    table = ALL.partition("| mark | meaning |")[2].partition("\n\n")[0]
    rows = [line.split("|")[1] for line in table.splitlines()[2:]]
    named = {mark for row in rows for mark in re.findall(r"`(\w+)`", row)}

    assert found - without == named
    assert set(re.findall(r"-m (\w+)`", ALL)) <= named


@pytest.mark.parametrize(
    "name", sorted(set(re.findall(r"`((?:katas|plugins|tests)/[^` ]*)`", ALL)))
)
def test_files_in_the_readme_exist(name: str) -> None:
    """A path in the text is a path in the repository."""
    assert (ROOT / name).exists()


def test_links_to_files_lead_somewhere() -> None:
    """Relative links name files of the repository."""
    links = [
        (ROOT / name).parent / link.partition("#")[0]
        for name, text in PAGES.items()
        for link in re.findall(r"\]\(([^)]+)\)", text)
        if "://" not in link
    ]

    assert links
    assert [] == [link for link in links if not link.exists()]


def test_there_is_no_notebook() -> None:
    """The course is read in an editor and run by pytest."""
    assert [] == list((ROOT / "katas").rglob("*.ipynb"))
