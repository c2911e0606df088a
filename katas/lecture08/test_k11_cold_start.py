"""Tests of k11_cold_start: Python's audit hook reports every import, even a hidden one."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch

from katas.lecture08 import k11_cold_start as kata
from katas.lecture08.conftest import Network
from plugins.kit import unchanged


if TYPE_CHECKING:
    from pathlib import Path


needs_package = pytest.mark.backend("inductor")
# Loads and answers in a fresh process that records each import and each new process.
PROGRAM = """
import json, sys, torch
from pathlib import Path
before = set(sys.modules)
from katas.lecture08 import k11_cold_start as kata

# At its top your file may import what Python brings along.
known = {"katas", *sys.stdlib_module_names}
more = {name for name in set(sys.modules) - before if name.partition(".")[0] not in known}
heard = []
events = "import", "subprocess.Popen", "os.fork", "os.posix_spawn", "os.system", "os.exec"
sys.addaudithook(lambda event, args: heard.append((event, str(args[:1]))) if event in events else 0)
before = set(sys.modules)
answers = kata.load(Path(sys.argv[1]))(torch.ones(2, 4))
more = sorted(more | set(sys.modules) - before)
print(json.dumps([[y.tolist() for y in answers], more, heard]))
"""


# Imports a module, then fails.
EXITS = "import json\nraise SystemExit(3)"


class Counted:
    """Stands in for the loader's class, and counts the loaders."""

    def __init__(self, loader: Any) -> None:
        self.loader = loader
        self.made = 0

    def __call__(self, *args: Any) -> Any:
        """Make a loader."""
        self.made += 1
        return self.loader(*args)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)


@pytest.fixture
def probes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Python find two modules, one of which imports the other, and both of which print.

    The shell finds a different Python, without the packages of a virtual environment.
    """
    for name, text in (("kata_probe_a", "import kata_probe_b"), ("kata_probe_b", "")):
        (tmp_path / f"{name}.py").write_text(f"{text}\nprint({name!r}, end='')\n", "utf-8")
    for name in ("python", "python3"):
        (tmp_path / name).write_text("#!/bin/sh\necho another_python_which_PATH_names\n", "utf-8")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    monkeypatch.syspath_prepend(str(tmp_path))


def package(request: pytest.FixtureRequest) -> Path:
    """Return the package; while `load` is not written, fail before it is built."""
    try:
        kata.load(request.path)
    except NotImplementedError:
        raise
    except Exception:  # noqa: BLE001, S110 - this file is no package, and any error will do
        pass
    else:
        text = f"yours loads {request.path.name}, which is no package, expected an error"
        raise AssertionError(text)
    path: Path = request.getfixturevalue("aoti_package")
    return path


@pytest.mark.usefixtures("probes")
def test_a_module_and_what_it_imports() -> None:
    """A fresh Python imports both modules, although this one has them; this one imports nothing."""
    import kata_probe_a  # type: ignore[import-not-found] # noqa: F401, PLC0415 - written above

    before = set(sys.modules)
    try:
        yours = kata.imported("import kata_probe_a")
        more = set(sys.modules) - before
    finally:
        for name in ("kata_probe_a", "kata_probe_b"):
            sys.modules.pop(name, None)
    right = {"kata_probe_a", "kata_probe_b"}
    assert right == yours, f"yours {sorted(yours)[:5]} ({len(yours)}), expected {sorted(right)}"
    assert not more, (
        f"your function imported {sorted(more)} in this process, expected that in another"
    )


def test_the_program_prints() -> None:
    """Ignore the program's output; ``torch.nn`` is already there; submodules have full names."""
    program = (
        "print('torch\\njson\\n', end=' ')\nimport torch.nn, wsgiref.headers\n"
        "for _ in 'ab':\n  print(end='x')"
    )
    yours, right = kata.imported(program), {"wsgiref", "wsgiref.headers"}
    assert right == yours, f"yours {sorted(yours)[:9]} ({len(yours)}), expected {sorted(right)}"


def test_a_program_that_fails() -> None:
    """A failing program raises an error, which is better than a wrong count."""
    with pytest.raises(subprocess.CalledProcessError):
        pytest.fail(
            f"the program exits with 3, but yours is {kata.imported(EXITS)}, expected a"
            " CalledProcessError: subprocess.run has an argument for that"
        )


@needs_package
@pytest.mark.time_limit(600)  # the first run of all builds the package
def test_the_answer(request: pytest.FixtureRequest) -> None:
    """Answers are the eager model's, in a list; a second call gives a second answer."""
    path = package(request)
    run, model = kata.load(path), Network().eval()
    torch.manual_seed(3)
    x, other = torch.randn(2, 4), torch.randn(2, 4)
    with unchanged(x=x, other=other):
        (y,), (z,) = run(x), run(other)
    again = other.clone()
    run(again)
    (w,) = run(again.neg_())  # the same tensor, with different content
    for found, given in ((y, x), (z, other), (w, again)):
        torch.testing.assert_close(
            found, model(given).detach(), msg=lambda text: f"yours against the model's: {text}"
        )


@needs_package
@pytest.mark.time_limit(600)
def test_the_file_may_be_gone(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A package is loaded once: a service may be updated while it answers."""
    path = tmp_path / "copy.pt2"
    shutil.copy(package(request), path)
    module = torch._C._aoti  # noqa: SLF001 - the kata's point
    counted = Counted(module.AOTIModelPackageLoader)
    monkeypatch.setattr(module, "AOTIModelPackageLoader", counted)
    run = kata.load(path)
    path.unlink()
    found = [run(torch.zeros(2, 4))[0].shape for _ in range(2)]
    assert found == [(2, 3)] * 2, f"shapes: yours {found}, expected (2, 3) twice"
    assert counted.made <= 1, (
        f"your code loaded the package {counted.made} times for two answers, expected once: each"
        " load unpacks the file and opens its library"
    )


@needs_package
@pytest.mark.time_limit(600)
def test_no_module_more(request: pytest.FixtureRequest) -> None:
    """A fresh process loads the file and answers once, without importing anything."""
    path = package(request)
    done = subprocess.run(  # noqa: S603 - the program above
        [sys.executable, "-c", PROGRAM, str(path)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=request.config.rootpath,
    )
    assert not done.returncode, f"your program fails in a fresh process:\n{done.stderr[-1500:]}"
    answers, more, heard = json.loads(done.stdout.splitlines()[-1])
    assert len(answers) == 1, f"yours has {len(answers)} outputs, expected a list of one"
    assert not more, (
        f"modules imported before the first answer: yours {len(more)}, expected 0;"
        f" the first are {', '.join(more[:6])}"
    )
    assert not heard, f"your code causes {heard[:3]}, expected no import and no new process"
