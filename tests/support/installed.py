"""A lecture of another package, as pip installs it, without the seconds that pip takes."""

from __future__ import annotations

import json
import shutil
from base64 import urlsafe_b64encode
from hashlib import sha256
from typing import TYPE_CHECKING
from typing import Any


if TYPE_CHECKING:
    from pathlib import Path


PLUGIN = """
from pathlib import Path

import pytest


@pytest.hookimpl(optionalhook=True)
def pytest_kata_lectures():
    return [Path(__file__).parent / "lecture77"]
"""
TABLE = """
title = "Roots"

[syllabus]
a = "Roots"

[[kata]]
name = "k01_root"
title = "The square root"
kind = "lab"
syllabus = ["a"]
episodes = [{ slug = "strides", why = "why strides fits" }]
upstream = ["aten/src/ATen/native/UnaryOps.cpp: sqrt"]
hints = ["the first hint", "the second hint", "the third hint"]
"""
STUB = """def root(x):
    # TODO
    raise NotImplementedError("root")
"""
SOLUTION = """def root(x):
    return x ** 0.5
"""
# The learner's line is below the place to write.
WRONG = """def root(x):
    assert x < 5, "not yet"
    return x / 2
"""
TEST = """from some_roots.lecture77.k01_root import root


def test_four():
    assert root(4) == 2


def test_nine():
    assert root(9) == 3
"""
INIT = "from katas import overlay\n\n__path__ = overlay(__path__)\n"
METADATA = "Metadata-Version: 2.1\nName: some-roots\nVersion: 1.2\n"
FILES = {
    "some_roots/__init__.py": "",
    "some_roots/plugin.py": PLUGIN,
    "some_roots/lecture77/__init__.py": INIT,
    "some_roots/lecture77/lecture.toml": TABLE,
    "some_roots/lecture77/k01_root.py": STUB,
    "some_roots/lecture77/test_k01_root.py": TEST,
    "some_roots/lecture77/solutions/k01_root.py": SOLUTION,
}
INSTALLED = "some_roots/lecture77/k01_root.py"
# Stands in for pip: it installs what lies beside it, or fails.
PIP = """
import pathlib, shutil, sys

source = pathlib.Path(__file__).with_name("fetched")
if not source.exists():
    sys.exit("no network")
print(*sys.argv[1:], file=source.with_name("asked").open("w"))
shutil.copytree(source, sys.argv[sys.argv.index("--target") + 1], dirs_exist_ok=True)
"""


def write_package(folder: Path) -> Path:
    """Write the files of the package, and return the folder of its lecture."""
    for name, text in FILES.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder / "some_roots/lecture77"


def install_package(site: Path, *, editable: Path | None = None) -> Path:
    """Install the package into `site`, or name it there if it is editable; return the lecture."""
    lecture = write_package(editable or site)
    about = site / "some_roots-1.2.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(METADATA)
    (about / "entry_points.txt").write_text("[pytest11]\nsome_roots = some_roots.plugin\n")
    names = [] if editable else [*FILES]
    digests = (urlsafe_b64encode(sha256(FILES[name].encode()).digest()).decode() for name in names)
    lines = [f"{name},sha256={it.rstrip('=')},1\n" for name, it in zip(names, digests, strict=True)]
    (about / "RECORD").write_text("".join([*lines, f"{about.name}/RECORD,,\n"]))
    return lecture


def say_where_from(site: Path, **about: Any) -> None:
    """Write down that the package came from an address and not from an index."""
    (site / "some_roots-1.2.dist-info/direct_url.json").write_text(json.dumps(about))


def stand_in_for_pip(folder: Path) -> Path:
    """Write a pip that installs the package; return what it installs, to be changed."""
    folder.mkdir()
    (folder / "pip.py").write_text(PIP)
    write_package(folder / "fetched")
    return folder / "fetched"


def forget_fetched(folder: Path) -> None:
    """Take away what the stand-in installs: it is offline."""
    shutil.rmtree(folder / "fetched")
