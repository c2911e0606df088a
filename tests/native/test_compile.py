"""How compilers and linkers are run, and the headers that they compile once."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from plugins.native.compile import FOREIGN
from plugins.native.compile import BrokenToolError
from plugins.native.compile import HeadersError
from plugins.native.compile import check_status
from plugins.native.compile import compile_headers
from plugins.native.compile import forget_headers
from plugins.native.compile import headers_ready
from plugins.native.compile import refusal
from plugins.native.compile import run_tool
from plugins.native.compile import tool_environment
from plugins.native.recipe import Recipe
from plugins.native.tiers import Tier
from plugins.native.toolchain import Compiler
from plugins.native.toolchain import Toolchain
from plugins.native.toolchain import Torch
from tests.support.programs import write_program


STAND_IN = Path(__file__).with_name("compiler.sh")


def test_a_tool_runs_where_its_result_has_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With temporary files there too, in English, without input, its errors in its output."""
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    monkeypatch.setenv("TMPDIR", "/elsewhere")
    script = 'pwd; echo "$TMPDIR $LC_ALL $1" >&2; cat; printf "\\377"; exit 3'
    tool = write_program(tmp_path, "tool", script)

    status, output = run_tool([str(tool), "word"], work, tmp_path)

    assert (3, f"{work}\n{work} C word\n\N{REPLACEMENT CHARACTER}") == (status, output)


@pytest.mark.parametrize(
    ("status", "output", "message"),
    [
        (1, "1\n2\n3\n4\n5\n6\n", "ld ended with status 1\n2\n3\n4\n5\n6"),
        (1, "a\nb: error: c\nd\n" + "e\n" * 9, "ld ended with status 1\nb: error: c\nd\ne\ne\ne"),
        (1, "", "ld ended with status 1"),
        (-9, "", "ld was ended by signal 9"),
        (1, "write: No space left on device\nmore", "ld: No space left on device"),
    ],
)
def test_a_tool_that_fails_is_an_error(status: int, output: str, message: str) -> None:
    """With its name, its end, and its first error or last lines; a full disk is named alone."""
    with pytest.raises(BrokenToolError) as caught:
        check_status(status, output, ["/usr/bin/ld", "-o", "x"])

    assert message == str(caught.value)


def test_a_tool_that_succeeds_is_not() -> None:
    """Whatever it prints."""
    check_status(0, "No space left on device", ["ld"])


@pytest.mark.parametrize("name", sorted(FOREIGN))
def test_what_would_change_a_build_does_not_reach_it(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a wrapper of a compiler needs does."""
    monkeypatch.setenv(name, "elsewhere")
    monkeypatch.setenv("CCACHE_DIR", "/cache")

    found = tool_environment(tmp_path)

    assert name not in found
    assert ("/cache", os.environ["PATH"]) == (found["CCACHE_DIR"], found["PATH"])


@pytest.mark.parametrize(("platform", "kept"), [("darwin", True), ("linux", False)])
def test_the_sdk_reaches_a_compiler_of_apple(
    platform: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, kept: bool
) -> None:
    """It is where its headers are; on Linux it is of somebody's cross compilation."""
    monkeypatch.setenv("SDKROOT", "/sdk")
    monkeypatch.setattr("sys.platform", platform)

    assert kept == ("SDKROOT" in tool_environment(tmp_path))


@pytest.fixture
def recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recipe:
    """Return a recipe for the stand-in compiler, with a file of our own."""
    compiler = shutil.copy(STAND_IN, tmp_path / "clang++")
    own = tmp_path / "own.h"
    own.write_text("// our own\n")
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    found = Compiler(str(compiler), clang=True, major=19, version="19", linker="")
    torch = Torch(Path("/torch"), cxx11_abi=True, stamp="torch 2.13.0")
    return Recipe(Toolchain(found, torch), Tier("small", ("a.h",), (8, 13), files={"own.h": own}))


def test_headers_are_compiled_once(recipe: Recipe, tmp_path: Path) -> None:
    """Until they are forgotten; the time of their marker is that of the last use."""
    assert not headers_ready(recipe, tmp_path)
    first = compile_headers(recipe, tmp_path)

    assert headers_ready(recipe, tmp_path)
    assert "#include <a.h>\n" == (first / "tier.h").read_text()
    assert "// our own\n" == (first / "own.h").read_text()
    assert (first / "tier.pch").exists()

    ready = tmp_path / recipe.name / "ready"
    os.utime(ready, (1, 1))
    (tmp_path / "calls").unlink()
    assert first == compile_headers(recipe, tmp_path)
    assert not (tmp_path / "calls").exists()
    assert time.time() - ready.stat().st_mtime < 1000

    forget_headers(recipe, tmp_path)
    forget_headers(recipe, tmp_path)
    assert not headers_ready(recipe, tmp_path)
    assert first != compile_headers(recipe, tmp_path)
    assert not first.exists()


def test_headers_are_those_that_name_their_folder(recipe: Recipe, tmp_path: Path) -> None:
    """A file of ours that changes after the recipe was read makes another folder, next time."""
    name = recipe.name
    (tmp_path / "own.h").write_text("// edited\n")

    assert "// our own\n" == (compile_headers(recipe, tmp_path) / "own.h").read_text()
    assert name != Recipe(recipe.toolchain, recipe.tier).name


def test_headers_that_do_not_compile_leave_no_marker(recipe: Recipe, tmp_path: Path) -> None:
    """The next build tries again."""
    (tmp_path / "calls.once").write_text("tier.pch broken\n")

    with pytest.raises(HeadersError, match="ld: error: no such library"):
        compile_headers(recipe, tmp_path)

    assert not headers_ready(recipe, tmp_path)
    assert "ld: error: no such library" == refusal(recipe, tmp_path)
    compile_headers(recipe, tmp_path)
    assert headers_ready(recipe, tmp_path)
    assert "" == refusal(recipe, tmp_path)
