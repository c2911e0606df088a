"""The compiler, linker and torch that are found among stand-ins on PATH."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from plugins.native import toolchain
from plugins.native.toolchain import ToolchainError
from plugins.native.toolchain import find_compiler
from plugins.native.toolchain import find_toolchain
from plugins.native.toolchain import find_torch
from plugins.native.toolchain import identify_compiler
from plugins.tools.terminal import install_command


if TYPE_CHECKING:
    from pathlib import Path


DEBIAN = "g++ (Debian 12.2.0-14+deb12u1) 12.2.0"


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder that is all of PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("KATAS_CXX", raising=False)
    monkeypatch.setattr(toolchain, "KEGS", ())
    return folder


def program(file: Path, version: str = "") -> Path:
    """Write a program that answers every call with `version`."""
    file.write_text(f"#!/bin/sh\necho '{version}'\n")
    file.chmod(0o755)
    return file


def clang(folder: Path, name: str, major: int) -> Path:
    """Write a clang of version `major`."""
    return program(folder / name, f"Debian clang version {major}.1.7 (3~deb12u1)")


@pytest.mark.parametrize("found", [("clang++-19", "clang++"), ("clang++", "clang++-14")])
def test_the_newest_clang_is_used_under_any_name(programs: Path, found: tuple[str, str]) -> None:
    """The name with a number may be newer than the one without, or older."""
    newer, older = found
    clang(programs, newer, 19)
    clang(programs, older, 14)
    program(programs / "g++", DEBIAN)

    compiler = find_compiler()

    assert (newer, True, 19) == (compiler.name, compiler.clang, compiler.major)


def test_gxx_is_the_fallback(programs: Path) -> None:
    """A clang that is too old for the fast recipe counts as none."""
    clang(programs, "clang++", 13)
    program(programs / "g++", DEBIAN)

    compiler = find_compiler()

    assert ("g++", False, 12) == (compiler.name, compiler.clang, compiler.major)


def test_the_others_are_tried_in_their_order(
    programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each once, whatever its names; a compiler that was asked for has none beside it."""
    clang(programs, "clang++-19", 19)
    clang(programs, "clang++-14", 14)
    (programs / "clang++").symlink_to("clang++-14")
    gxx = program(programs / "g++", DEBIAN)
    (programs / "c++").symlink_to("g++")
    stand_in_torch(programs.parent, monkeypatch)

    def names() -> list[str]:
        return [compiler.name for compiler in find_toolchain().compilers()]

    assert ["clang++-19", "clang++", "g++"] == names()
    monkeypatch.setenv("KATAS_CXX", str(gxx))
    assert ["g++"] == names()
    monkeypatch.delenv("KATAS_CXX")
    old = replace(find_toolchain(), replaceable=False)
    assert ["clang++-19"] == [compiler.name for compiler in old.compilers()]


def test_a_compiler_called_cxx_is_found_last(programs: Path) -> None:
    """On some systems it has no other name."""
    program(programs / "c++", "g++ (GCC) 14.2.1 20240912 (Red Hat 14.2.1-3)")

    assert ("c++", 14) == (find_compiler().name, find_compiler().major)


def test_without_a_compiler_the_reason_says_how_to_get_one(programs: Path) -> None:
    """A g++ that does not know C++20 is none either."""
    program(programs / "g++", "g++ (GCC) 9.4.0")

    with pytest.raises(ToolchainError, match=r"no C\+\+ compiler .*apt install clang lld"):
        find_compiler()


def test_katas_cxx_names_the_compiler(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a name on PATH or a path, and wins over a newer clang."""
    clang(programs, "clang++-19", 19)
    gxx = program(programs / "g++", DEBIAN)

    for asked in ("g++", str(gxx)):
        monkeypatch.setenv("KATAS_CXX", asked)

        assert str(gxx) == find_compiler().path


@pytest.mark.parametrize(
    "content", [None, "no interpreter in this file", "#!/bin/sh\necho cat 1\n"]
)
def test_katas_cxx_must_be_a_compiler(
    programs: Path, monkeypatch: pytest.MonkeyPatch, content: str | None
) -> None:
    """A missing program, one that cannot be started and one of another kind are refused."""
    if content:
        (programs / "cat++").write_text(content)
        (programs / "cat++").chmod(0o755)
    monkeypatch.setenv("KATAS_CXX", "cat++")

    with pytest.raises(ToolchainError, match=r"KATAS_CXX=cat\+\+ is not a C\+\+ compiler"):
        find_compiler()


def test_the_fastest_linker_that_the_compiler_can_drive_is_used(programs: Path) -> None:
    """In the order of mold, lld and the default; lld may stand beside clang only."""
    found = []
    gxx = program(programs / "g++", "g++ (GCC) 11.4.0")
    found.append(find_compiler().linker)
    real = programs.parent / "llvm"
    real.mkdir()
    program(real / "ld.lld")
    (programs / "clang++-19").symlink_to(clang(real, "clang", 19))
    found.append(find_compiler().linker)
    program(programs / "ld.mold")
    found.append(find_compiler().linker)
    (programs / "clang++-19").unlink()
    found.append(find_compiler().linker)
    program(programs / "ld.lld")
    found.append(find_compiler().linker)
    program(gxx, DEBIAN)
    found.append(find_compiler().linker)

    # g++ can use mold since version 12.
    assert ["", "lld", "mold", "", "lld", "mold"] == found


def test_another_compiler_under_the_same_name_has_another_stamp(programs: Path) -> None:
    """An update of the compiler is a new compiler."""
    gxx = program(programs / "g++", DEBIAN)
    before = find_compiler().stamp
    os.utime(gxx, (1, 1))
    touched = find_compiler().stamp
    program(gxx, "g++ (GCC) 13.1.0")

    assert 3 == len({before, touched, find_compiler().stamp})


def test_a_compiler_is_asked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For each file: under --watch, each run and each build is a fork that has heard it."""
    asked = tmp_path / "asked"
    compiler = tmp_path / "c++"
    for version in ("12", "13"):
        text = f"#!/bin/sh\necho asked >> {asked}\necho 'g++ (GCC) {version}.1.0'\n"
        compiler.write_text(text)
        compiler.chmod(0o755)
        monkeypatch.setenv("KATAS_CXX", str(compiler))

        assert version == f"{find_compiler().major}" == f"{find_compiler().major}"
    compiler.unlink()

    assert 2 == len(asked.read_text().splitlines())
    assert identify_compiler(str(compiler)) is None


def stand_in_torch(
    folder: Path, monkeypatch: pytest.MonkeyPatch, exported: bytes | None = None
) -> Path:
    """Write a torch whose import fails and whose library exports one name."""
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    package = folder / "torch"
    (package / "lib").mkdir(parents=True)
    (package / "__init__.py").write_text("raise ImportError('it must not be imported')")
    (package / "version.py").write_text("__version__ = '2.13.0'")
    if exported is not None:
        (package / "lib/libc10.so").write_bytes(b"\x7fELF" + exported)
    return package


@pytest.mark.parametrize(
    ("exported", "abi"),
    [(b"_ZN3c105ErrorC1ENSt7__cxx1112basic_string", True), (b"_ZN3c105ErrorC1ESs", False)],
)
def test_torch_is_read_from_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exported: bytes, *, abi: bool
) -> None:
    """Its folder and its std::string are found without an import."""
    package = stand_in_torch(tmp_path, monkeypatch, exported)

    assert (package, abi) == (find_torch().folder, find_torch().cxx11_abi)


def test_another_torch_has_another_stamp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So has the same version, installed again: its headers are newer than what was compiled."""
    package = stand_in_torch(tmp_path, monkeypatch)
    stamps = [find_torch().stamp]
    os.utime(package / "version.py", (1, 1))
    stamps.append(find_torch().stamp)
    (package / "version.py").write_text("__version__ = '2.14.0'")
    os.utime(package / "version.py", (1, 1))
    stamps.append(find_torch().stamp)

    assert 3 == len(set(stamps))


@pytest.mark.parametrize("module", [None, "torch.py"])
def test_a_missing_torch_has_its_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str | None
) -> None:
    """A file called torch.py is not one."""
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    if module:
        (tmp_path / module).write_text("")

    how = re.escape(install_command("-r requirements.txt"))
    with pytest.raises(ToolchainError, match=f"torch is not installed; {how}"):
        find_torch()
