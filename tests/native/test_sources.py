"""C++ sources: their tier, the headers they must not include, and the name of their library."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from plugins.native.sources import SourceError
from plugins.native.sources import Unit
from plugins.native.sources import library_sources
from plugins.native.sources import read_unit
from plugins.native.sources import unit_name
from tests.support.native import LOUD
from tests.support.native import native_kata


if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def csrc(tmp_path: Path) -> Path:
    """Return the folder of a lecture's sources."""
    folder = tmp_path / "katas/lecture01/csrc"
    folder.mkdir(parents=True)
    return folder


def read(csrc: Path, text: str, name: str = "k01.cpp") -> Unit:
    """Write a source and read it back as the kata's."""
    (csrc / name).write_text(text)
    return read_unit("lecture01_k01", [csrc / name], csrc.parents[2], csrc)


@pytest.mark.parametrize("name", ["stable", "small", "iter", "full", "vec"])
def test_the_first_line_names_the_tier(csrc: Path, name: str) -> None:
    """Spaces after the name are allowed."""
    assert name == read(csrc, f"// tier: {name}  \nint x;").tier.name


@pytest.mark.parametrize("line", ["", "\n// tier: small", "// tier: large", "// tier: small one"])
def test_a_source_without_a_tier_is_refused(csrc: Path, line: str) -> None:
    """The message shows the line that is expected, and where."""
    expected = (
        r"^katas/lecture01/csrc/k01\.cpp:1: expected // tier: NAME,"
        r" with a name out of stable, small, iter, full, vec$"
    )
    with pytest.raises(SourceError, match=expected):
        read(csrc, line)


@pytest.mark.parametrize(
    ("name", "text"), [("k01.cpp", "// tier: small\n"), ("k01.loud", "int x;\n")]
)
def test_the_mark_of_utf8_is_left_out(csrc: Path, name: str, text: str) -> None:
    """Compilers take it, and some editors write it; a header may begin with it, too."""
    (csrc / "a.h").write_text("int y;", encoding="utf-8-sig")
    (csrc / name).write_text(f'{text}#include "a.h"\n', encoding="utf-8-sig")

    unit = read_unit("lecture01_k01", [csrc / name], csrc.parents[2], csrc, [LOUD])

    assert [f'{text}#include "a.h"\n', "int y;"] == [file.text for file in unit.files]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_another_encoding_is_named(csrc: Path, encoding: str) -> None:
    """No compiler reads it, and without the message every line would be wrong."""
    (csrc / "k01.cpp").write_bytes("\ufeff// tier: small\n".encode(encoding))

    with pytest.raises(SourceError, match=r"^katas/lecture01/csrc/k01\.cpp: .* UTF-16; save it in"):
        read_unit("lecture01_k01", [csrc / "k01.cpp"], csrc.parents[2], csrc)


@pytest.mark.parametrize("header", ["torch/extension.h", "torch/torch.h", "torch/all.h"])
def test_all_of_pytorch_is_refused(csrc: Path, header: str) -> None:
    """An edit would take 20 seconds; the message names the line and the alternative."""
    with pytest.raises(SourceError, match=rf"k01\.cpp:3: #include <{header}> .*the tier"):
        read(csrc, f"// tier: small\n\n # include <{header}>")


def test_the_same_content_has_the_same_name(csrc: Path) -> None:
    """Wherever it is: an undo, or a copy of a solution, is built already."""
    text = "// tier: small\nint x;"

    one, other = read(csrc, text), read(csrc, text)

    assert one.key("recipe") == other.key("recipe")
    assert one.key("recipe").startswith("lecture01_k01-")


def test_other_content_has_another_name(csrc: Path) -> None:
    """The source, the headers beside it that it includes, and the recipe all count."""
    text = '// tier: small\n#include "more.h"\n#include <vector>'
    keys = [read(csrc, text).key("recipe"), read(csrc, text).key("other")]
    for more in ('#include "most.h"', '#include "most.h"\n'):
        (csrc / "more.h").write_text(more)
        keys.append(read(csrc, text).key("recipe"))
    (csrc / "most.h").write_text('#include "more.h"')
    keys.append(read(csrc, text).key("recipe"))
    keys.append(read(csrc, f"{text}\n").key("recipe"))

    assert 6 == len(set(keys))


def test_a_solution_uses_the_headers_of_the_exercise(csrc: Path) -> None:
    """Headers and further sources are beside the exercise; a header that is nowhere is not read."""
    answers = csrc.parent / "solutions/csrc"
    answers.mkdir(parents=True)
    (answers / "k01.cpp").write_text('// tier: small\n#include "given.h"\n#include "none.h"')
    (csrc / "given.h").write_text("int given();")
    (csrc / "given.cpp").write_text("int given() { return 1; }")
    sources = [answers / "k01.cpp", csrc / "given.cpp"]

    unit = read_unit("lecture01_k01", sources, csrc.parents[2], csrc)

    assert ["k01.cpp", "given.cpp", "given.h"] == [file.name for file in unit.files]
    assert ["k01.cpp", "given.cpp"] == [file.name for file in unit.sources]
    assert "katas/lecture01/solutions/csrc/k01.cpp" == unit.files[0].shown
    assert (answers, csrc) == unit.folders


def test_a_source_outside_the_root_is_shown_in_full(csrc: Path, tmp_path: Path) -> None:
    """The gate's copies of solutions are; the compiler gets the name in a first line."""
    (csrc / "k01.cpp").write_text("// tier: vec\n")

    unit = read_unit("k", [csrc / "k01.cpp"], tmp_path / "elsewhere", csrc)

    assert f'#line 1 "{csrc}/k01.cpp"\n// tier: vec\n' == unit.files[0].numbered


def test_a_library_is_named_like_the_operators_in_it(csrc: Path) -> None:
    """By lecture and number; another language's has its ending, and is built before."""
    lecture = csrc.parent
    both = native_kata(lecture, "k02_cpp", "csrc/k02.cpp", "csrc/k02.loud")

    assert "lecture01_k02" == unit_name(both)
    found = library_sources(both, [LOUD])
    assert ["lecture01_k02_loud", "lecture01_k02"] == list(found)
    assert [["csrc/k02.loud"], ["csrc/k02.cpp"]] == list(found.values())
    assert {"lecture01_k02": ["csrc/k02.cpp"]} == library_sources(both, [])
    loud = native_kata(lecture, "k03_loud", "csrc/k03.loud")
    assert {"lecture01_k03_loud": ["csrc/k03.loud"]} == library_sources(loud, [LOUD])
    assert {} == library_sources(native_kata(lecture, "k01_python"), [LOUD])


def test_a_source_in_another_language_becomes_cpp(csrc: Path) -> None:
    """With all headers that it includes, in copies that a C++ compiler takes for C++."""
    (csrc / "k.loud").write_text('#include "k.hl"\n#include "k.h"\nINT A;\n')
    (csrc / "k.hl").write_text("INT B;\n")
    (csrc / "k.h").write_text("INT C;\n")

    unit = read_unit("k", [csrc / "k.loud"], csrc, csrc, [LOUD])

    assert LOUD.tier is unit.tier
    assert ["k.loud.cpp", "k.hl", "k.h"] == [file.copy for file in unit.files]
    assert ["k.loud"] == [file.name for file in unit.sources]
    first, *others = [file.numbered for file in unit.files]
    assert first.startswith('// k.loud k.hl k.h\n#line 1 "k.loud"\n#include')
    assert ['#line 1 "k.hl"\nint b;\n', '#line 1 "k.h"\nint c;\n'] == others


def test_cpp_may_include_a_header_in_another_language(csrc: Path) -> None:
    """It is known by its suffix; nothing stands before the source then."""
    (csrc / "k.cpp").write_text('// tier: vec\n#include "k.hl"\nINT A;\n')
    (csrc / "k.hl").write_text("INT B;\n")

    unit = read_unit("k", [csrc / "k.cpp"], csrc, csrc, [LOUD])

    assert "vec" == unit.tier.name
    assert ["INT A;", "int b;"] == [file.rewritten.splitlines()[-1] for file in unit.files]
    assert ["", ""] == [file.before for file in unit.files]


def test_what_cannot_be_rewritten_is_an_error_with_its_line(csrc: Path) -> None:
    """The line is the learner's."""
    (csrc / "k.loud").write_text("INT A;\n?\n")

    with pytest.raises(SourceError, match=r"^k.loud:2: no questions$"):
        read_unit("k", [csrc / "k.loud"], csrc, csrc, [LOUD])
