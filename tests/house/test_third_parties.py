"""docs/third-parties.md holds: its files are written, and its commands run, as they stand there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from plugins import ROOT
from tests.conftest import cleared
from tests.support.fork import SETTINGS
from tests.support.fork import git


PAGE = (ROOT / "docs/third-parties.md").read_text(encoding="utf-8")
# A line that names a file and ends in a colon, and the block below it.
FILE = re.compile(r"`(?P<name>katas-roots/[^`]+)`[^\n`]*:\n\n```\w+\n(?P<text>.*?)```", re.DOTALL)
COMMANDS = re.compile(r"```console\n(.*?)```", re.DOTALL)
PACKAGE = "katas-roots"
EXERCISE = "katas_roots/lecture77/k01_root.py"
ADDRESS = "https://code.example/you/katas-roots"
# The status that each command ends with, and what it prints, in their order.
AUTHOR = {
    "python -m plugins.feed ../katas-roots/feed.xml --file "
    "../katas-roots/katas_roots/episodes.toml": (0, "added 1: Newton's method\n1 added"),
    "python -m pip install --editable ../katas-roots": (0, "Successfully installed katas-roots"),
    "pytest lecture77 --unsolved": (0, " xfailed"),
    "pytest lecture77 --solutions": (0, " passed"),
    "nox -s verify -- lecture77 k01_root --write": (0, "1 of 1 katas proved and entered"),
    "pytest --course": (0, "lecture77  Roots  "),
}
MORE = {
    'nox -s new -- ../katas-roots/katas_roots/lecture77 cube "The cube root"': (
        0,
        "../katas-roots/katas_roots/lecture77/.meta/k02_cube/wrong.toml",
    ),
}
CLONE = {
    "git clone https://code.example/you/katas-roots ../katas-roots": (0, "Cloning into"),
    "python -m pip install --editable ../katas-roots": (0, "Successfully installed katas-roots"),
    "pytest lecture77 --next": (1, "hint    pytest lecture77/k01_root --hint"),
    "pytest lecture77/k01_root": (1, "FAILED lecture77/test_k01_root.py::test_of_four[cpu]"),
    "pytest lecture77/test_k01_root.py::test_of_two": (1, "= 1 failed"),
    "pytest lecture77/k01_root --hint": (0, "Hint 1 of 3: If a guess is too large"),
    "pytest lecture77/k01_root --solution=now": (
        0,
        "the reference on the right",
    ),
    "pytest --pyargs katas_roots.lecture77": (1, "#1 Newton's method, 12:34: how a guess"),
    "python -m plugins.reset lecture77/k01_root": (0, "is the stub again, as of "),
}
INDEX = {
    "python -m pip install katas-roots": (0, "Successfully installed katas-roots"),
    "pytest lecture77 --next": (1, "hint    pytest lecture77/k01_root --hint"),
    "python -m plugins.reset lecture77/k01_root": (0, "as of katas-roots 0.1.0."),
}
# By the name of a program, as pip installs it.
PROGRAMS = {
    "pytest": "#!{python}\nimport sys\n\nimport pytest\n\nsys.exit(pytest.main())\n",
    "nox": "#!{python}\nimport sys\n\nfrom nox.__main__ import main\n\nsys.exit(main())\n",
}


class Desk:
    """A checkout of a small course and a virtual environment, with room for the package beside."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.course, self.package = folder / "course", folder / PACKAGE
        (self.course / "katas").mkdir(parents=True)
        for name in (
            *("conftest.py", "pyproject.toml", "episodes.toml", "katas/__init__.py"),
            *("noxfile.py", "requirements.txt"),
        ):
            shutil.copy(ROOT / name, self.course / name)
        for name in ("plugins", "tests"):
            (self.course / name).symlink_to(ROOT / name)
        venv = folder / "venv"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
        # What is installed around these tests, below what is installed here.
        paths = sysconfig.get_paths("venv", vars={"base": str(venv), "platbase": str(venv)})
        others = {sysconfig.get_path(name) for name in ("purelib", "platlib")}
        Path(paths["purelib"], "others.pth").write_text("\n".join([*others, ""]))
        for name, text in PROGRAMS.items():
            (venv / "bin" / name).write_text(text.format(python=venv / "bin/python"))
            (venv / "bin" / name).chmod(0o755)
        self.environment = {
            **{name: value for name, value in os.environ.items() if name not in cleared()},
            **SETTINGS,
            **environment,
            "PATH": f"{venv / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": "",
            "PIP_NO_INDEX": "1",
            # The value says whether there is isolation, whatever the name says.
            "PIP_NO_BUILD_ISOLATION": "0",
        }

    def run(self, command: str, status: int = 0) -> str:
        """Run a command in the checkout, and return what it prints."""
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.course,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert status == done.returncode, done.stdout
        return done.stdout

    def run_all(self, commands: list[str], expected: dict[str, tuple[int, str]]) -> None:
        """Run the commands one after the other; each ends and prints as expected."""
        assert [*expected] == commands
        for command in commands:
            status, text = expected[command]
            assert text in self.run(command, status)

    def solve(self, exercise: Path) -> None:
        """Write an answer into the file that ``--next`` names, go on, and start over."""
        text = self.run("pytest lecture77 --next", 1)
        (named,) = re.findall(r"^edit +(.*):\d+$", text, re.MULTILINE)
        assert exercise == (self.course / named).resolve()
        stub = exercise.read_text()
        exercise.write_text((exercise.parent / "solutions/k01_root.py").read_text())
        assert "lecture77/k01_root is solved" in self.run("pytest lecture77 --next")
        text = self.run("python -m plugins.reset lecture77/k01_root")
        (kept,) = re.findall(r"^your version +(.*)$", text, re.MULTILINE)
        assert stub == exercise.read_text()
        assert "guess = x" in (self.course / kept).read_text()


def commands_below(heading: str) -> list[str]:
    """Return the commands between a heading and the next one of its level or above."""
    level = heading.partition(" ")[0]
    part = PAGE.partition(f"\n{heading}\n")[2]
    end = re.search(rf"^#{{1,{len(level)}}} ", part, re.MULTILINE)
    blocks = COMMANDS.findall(part[: end.start() if end else None])
    return [line for block in blocks for line in block.splitlines()]


def write_package(folder: Path) -> None:
    """Write the files of the page; a file that comes again goes on where it ended."""
    for found in FILE.finditer(PAGE):
        file = folder / found["name"]
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a", encoding="utf-8") as stream:
            stream.write(found["text"])


@pytest.fixture(scope="module")
def author(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """An author who has done all that the page says, and committed it."""
    desk = Desk(tmp_path_factory.mktemp("author"))
    write_package(desk.package.parent)
    commands = [
        *commands_below("## Episodes of another podcast"),
        *commands_below("## Prove it"),
    ]
    desk.run_all(commands, AUTHOR)
    (desk.package / ".gitignore").write_text(".katas/\n*.egg-info/\n__pycache__/\n")
    for command in ("init -q", "add -A", "commit -qm Begin"):
        git(desk.package, *command.split())
    return desk


def test_each_block_of_the_page_is_a_file_or_commands() -> None:
    """All files are those of the tree at its beginning, and every command is run below."""
    kinds = re.findall(r"^```(\w+)$", PAGE, re.MULTILINE)
    names = [found["name"] for found in FILE.finditer(PAGE)]
    (tree,) = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
    made = f"{PACKAGE}/katas_roots/episodes.toml"

    assert sorted({*names, made}) == sorted(tree.split())
    assert len(kinds) == len(names) + kinds.count("console") + kinds.count("text")
    lines = [line for block in COMMANDS.findall(PAGE) for line in block.splitlines()]
    assert [*AUTHOR, *MORE, *CLONE, *INDEX] == lines


@pytest.mark.torch
@pytest.mark.slow
def test_an_author_writes_the_package(author: Desk) -> None:
    """Every file of the tree is there, and the device is one that is asked for."""
    (tree,) = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)

    assert [] == [name for name in tree.split() if not (author.package.parent / name).is_file()]
    text = author.run("pytest lecture77 --solutions -m xpu -v")
    assert "test_k01_root.py::test_of_four[xpu] " in text
    assert "xpu (1 test): PyTorch finds no Intel GPU" in text or " passed" in text


@pytest.mark.torch
@pytest.mark.slow
def test_a_further_kata_begins_in_the_package(author: Desk) -> None:
    """Its tests import from the package, and fail for the right reason."""
    author.run_all(commands_below("## Another kata"), MORE)
    text = author.run("pytest lecture77/k02_cube --unsolved")
    git(author.package, "clean", "-fdq")
    git(author.package, "checkout", "-q", ".")

    assert " xfailed" in text


@pytest.mark.torch
@pytest.mark.slow
def test_a_learner_clones_it(author: Desk, tmp_path: Path) -> None:
    """Runs, edits and resets the kata in the clone."""
    desk = Desk(
        tmp_path,
        GIT_CONFIG_COUNT="1",
        GIT_CONFIG_KEY_0=f"url.{author.package}.insteadOf",
        GIT_CONFIG_VALUE_0=ADDRESS,
    )
    *commands, last = commands_below("### With a clone")
    desk.run_all(commands, {each: CLONE[each] for each in [*CLONE][:-1]})
    desk.solve(desk.package / EXERCISE)
    (desk.package / EXERCISE).write_text("# an answer\n")
    git(desk.package, "commit", "-qam", "Answer")
    desk.run_all([last], {last: CLONE[last]})


@pytest.mark.torch
@pytest.mark.slow
def test_a_learner_installs_it(author: Desk, tmp_path: Path) -> None:
    """Runs, edits and resets the kata in ``site-packages``."""
    index = tmp_path / "index"
    author.run(f"python -m pip wheel --no-deps --wheel-dir {index} {author.package}")
    desk = Desk(tmp_path, PIP_FIND_LINKS=str(index))
    *commands, last = commands_below("### From an index")
    desk.run_all(commands, {each: INDEX[each] for each in [*INDEX][:-1]})
    (exercise,) = (tmp_path / "venv").rglob(EXERCISE)
    desk.solve(exercise)
    exercise.write_text("# an answer\n")
    desk.run_all([last], {last: INDEX[last]})


@pytest.mark.torch
@pytest.mark.slow
def test_other_projects_of_the_environment_go_on(author: Desk, tmp_path: Path) -> None:
    """Each hook of the plugin is optional."""
    (tmp_path / "test_other.py").write_text("def test_other(): pass\n")

    assert "1 passed" in author.run(f"cd {tmp_path} && pytest")
    plugin = (author.package / "katas_roots/plugin.py").read_text()
    assert plugin.count("def pytest_kata_") == plugin.count("@pytest.hookimpl(optionalhook=True)\n")
