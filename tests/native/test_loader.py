"""A library that cannot be loaded has a reason, and Python lives on."""

from __future__ import annotations

import signal
import subprocess
from typing import TYPE_CHECKING

import pytest

from plugins.native.loader import UNLOADABLE
from plugins.native.loader import explain_exit
from plugins.native.loader import load_library
from plugins.native.loader import probe_library


if TYPE_CHECKING:
    from pathlib import Path


pytestmark = [
    pytest.mark.torch,
    pytest.mark.tool("g++"),
]


def library(folder: Path, body: str) -> Path:
    """Compile a library whose static initialisers are `body`."""
    source = folder / "a.cpp"
    source.write_text(f"#include <stdexcept>\n#include <cstdlib>\n#include <cstdio>\n{body}\n")
    target = folder / "a.so"
    command = ["g++", "-shared", "-fPIC", "-O0", str(source), "-o", str(target)]
    subprocess.run(command, check=True)
    return target


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("int x = 1;", None),
        (
            "namespace at { struct Tensor; void foo(const Tensor&); } auto* address = &at::foo;",
            "at::foo(at::Tensor const&) is declared and used, but defined nowhere",
        ),
        (
            'static int f() { throw std::runtime_error("no such key"); } int x = f();',
            "no such key",
        ),
        ("static int f() { return *(volatile int*)0; } int x = f();", "loading it died of SIGSEGV"),
        ("static int f() { abort(); } int x = f();", "loading it died of SIGABRT"),
        (
            'static int f() { fputs("gone", stderr); _Exit(3); } int x = f();',
            "loading it ended Python with status 3: gone",
        ),
        (
            "static int f() { for (;;) { } } int x = f();",
            "loading it did not end within 1 s: a static initialiser loops",
        ),
    ],
    ids=["good", "undefined", "throws", "segfault", "abort", "exit", "loop"],
)
def test_a_library_is_tried_in_a_child(tmp_path: Path, body: str, reason: str | None) -> None:
    """The end of the child is the reason."""
    import torch  # noqa: F401, PLC0415 - as in the process that loads a library

    # Only a loop is cut short: on a busy machine the others may take longer than a second.
    seconds = 1 if "for (;;)" in body else 60
    assert reason == probe_library(library(tmp_path, body), seconds=seconds)


def test_a_file_that_is_no_library_is_refused(tmp_path: Path) -> None:
    """In the words of the dynamic loader."""
    (tmp_path / "a.so").write_text("text")

    assert str(tmp_path / "a.so") in str(probe_library(tmp_path / "a.so"))


def test_the_stack_of_the_loader_is_left_out() -> None:
    """PyTorch's exceptions contain it, and nothing in it is the learner's."""
    output = (
        "terminate called after throwing an instance of 'c10::Error'\n"
        "  what():  expected ) but found 'arrow' here:\nf(Tensor self arrow\n"
        "Exception raised from reportError at parse.cpp:12 (most recent call first):\n"
        "frame #0: c10::Error::Error + 0x9f (0x7f in libc10.so)\n"
    )

    reason = explain_exit(-signal.SIGABRT, output)

    assert "expected ) but found 'arrow' here:\nf(Tensor self arrow" == reason


def test_a_folder_mounted_noexec_is_named() -> None:
    """The loader's own words tell nobody."""
    said = "/b/k.so: failed to map segment from shared object"

    reason = explain_exit(UNLOADABLE, said) or ""

    assert f"{said}\nIs its folder mounted noexec? KATAS_BUILD=/some/folder" in reason
    assert "noexec" not in (explain_exit(UNLOADABLE, "wrong ELF class") or "")


def test_a_library_is_loaded_once(tmp_path: Path) -> None:
    """A second set-up of a fixture loads nothing; a broken library is not loaded."""
    import torch  # noqa: PLC0415 - after the test has been chosen

    good = library(tmp_path, "int x = 1;")

    assert load_library(good) is None
    # Another file: a program whose libraries are cut short dies of SIGBUS when it ends.
    good.unlink()
    good.write_text("text")
    assert load_library(good) is None
    assert str(good) in torch.ops.loaded_libraries
    assert load_library(tmp_path / "none.so") is not None
