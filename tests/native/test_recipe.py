"""The command lines for clang, for g++ and for macOS, and the names of what they make."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from plugins.native.recipe import Recipe
from plugins.native.tiers import Tier
from plugins.native.toolchain import Compiler
from plugins.native.toolchain import Toolchain
from plugins.native.toolchain import Torch


# Nothing here runs a compiler, so any file will do.
CLANG = Compiler(__file__, clang=True, major=19, version="clang 19", linker="mold")
GXX = Compiler(__file__, clang=False, major=12, version="g++ 12", linker="")
TORCH = Torch(Path("/torch"), cxx11_abi=True, stamp="torch 2.13.0")
STUBS, FAULTS = ("libtorch_cpu.so", "libc10.so"), "faults.cpp.o"
TIER = Tier("small", ("torch/library.h",), (8, 13))


def recipe(compiler: Compiler = CLANG, tier: Tier = TIER, platform: str = "linux") -> Recipe:
    """Return a recipe for a torch that does not exist."""
    return Recipe(Toolchain(compiler, TORCH), tier, platform)


def uses(compiler: Compiler, platform: str = "linux", tier: Tier = TIER) -> list[str]:
    """Return the output of each command of a whole build."""
    made = recipe(compiler, tier, platform)
    commands = [*made.prepare(), made.compile(Path("a.cpp"), Path("a.o"))]
    commands.append(made.link([Path("a.o")], Path("a.so")))
    return [command[command.index("-o") + 1] for command in commands]


def test_clang_compiles_the_headers_and_their_functions_once() -> None:
    """The functions are in an object, which is linked into every library."""
    assert [*STUBS, FAULTS, "tier.pch", "tier.o", "a.o", "a.so"] == uses(CLANG)

    assert "tier.o" in recipe().link([], Path("a.so"))


def test_the_headers_instantiate_what_sources_would() -> None:
    """Where their functions are compiled too; else that would be compiled in each source."""
    tier = replace(TIER, instances=("a::B<int>",))
    text = {made: recipe(made, tier).files["tier.h"] for made in (CLANG, GXX)}

    assert text[CLANG] == "#include <torch/library.h>\ntemplate struct a::B<int>;\n"
    assert text[GXX] == "#include <torch/library.h>\n"


def test_gxx_compiles_the_headers_once() -> None:
    """It cannot make the object."""
    assert [*STUBS, FAULTS, "tier.h.gch", "a.o", "a.so"] == uses(GXX)

    assert "tier.o" not in recipe(GXX).link([], Path("a.so"))


def test_where_speed_is_the_point_functions_are_compiled_with_the_kata() -> None:
    """The compiler can then inline them into its loops."""
    tier = replace(TIER, compiled=False)

    assert [*STUBS, FAULTS, "tier.pch", "a.o", "a.so"] == uses(CLANG, tier=tier)


def test_macos_resolves_symbols_when_the_library_is_loaded() -> None:
    """Its linker needs no stubs for that, and has other options for the rest."""
    assert [FAULTS, "tier.pch", "tier.o", "a.o", "a.so"] == uses(CLANG, "darwin")

    assert "-Wl,-undefined,dynamic_lookup" in recipe(platform="darwin").link([], Path("a.so"))


def test_a_library_has_the_lines_of_its_source_and_no_more() -> None:
    """A crash names them; types and variables would take a fifth longer. g++ asks it of headers."""
    compiled = {made: recipe(made).compile(Path("a.cpp"), Path("a.o")) for made in (CLANG, GXX)}
    levels = [[each for each in words if each.startswith("-g")] for words in compiled.values()]

    assert [["-gdwarf-4", "-g1"]] * 2 == levels
    assert ("-g1" in recipe(GXX).options, "-g1" in recipe(CLANG).options) == (True, False)
    assert FAULTS in recipe().link([], Path("a.so"))


def test_the_linker_is_named_if_it_is_not_the_default() -> None:
    """The others take a third of its time."""
    assert "-fuse-ld=mold" in recipe().link([], Path("a.so"))

    assert not [option for option in recipe(GXX).link([], Path("a.so")) if "-fuse-ld" in option]


def test_std_string_is_the_one_of_torch() -> None:
    """A library with the other one cannot be loaded."""
    old = Recipe(Toolchain(CLANG, replace(TORCH, cxx11_abi=False)), TIER)

    assert "-D_GLIBCXX_USE_CXX11_ABI=1" in recipe().options

    assert "-D_GLIBCXX_USE_CXX11_ABI=0" in old.options


def test_functions_have_the_names_that_gxx_gives_them() -> None:
    """A newer clang needs an option for that; an older one, g++ and Apple's do not."""
    newer = [recipe(), recipe(replace(CLANG, major=18))]
    others = [recipe(replace(CLANG, major=17)), recipe(GXX), recipe(platform="darwin")]

    for made, names in [*((made, True) for made in newer), *((made, False) for made in others)]:
        assert names == ("-fclang-abi-compat=17" in made.options)
        assert names == ("-fclang-abi-compat=17" in made.compile(Path("a.cpp"), Path("a.o")))


def test_own_sources_of_a_tier_are_linked(tmp_path: Path) -> None:
    """They are compiled once, with options of their own; all its files are part of its name."""
    for name in ("help.cpp", "help.h"):
        (tmp_path / name).write_text(name)
    files = {"help.cpp": tmp_path / "help.cpp", "deep/help.h": tmp_path / "help.h"}
    tier = replace(TIER, compiled=False, files=files, linked=("-fown",))
    made = recipe(tier=tier)

    assert [*STUBS, FAULTS, "help.cpp.o", "tier.pch", "a.o", "a.so"] == uses(CLANG, tier=tier)
    own = [words for words in made.prepare() if "-fown" in words]
    assert [["help.cpp", "-o", "help.cpp.o"]] == [words[-3:] for words in own]
    assert "help.h" == made.files["deep/help.h"]
    for file in files.values():
        before = recipe(tier=tier).name
        file.write_text("other")
        assert before != recipe(tier=tier).name


def test_headers_are_compiled_again_for_another_compiler_torch_or_tier() -> None:
    """Nothing else shares the folder of a tier."""
    others = [
        recipe(GXX),
        recipe(replace(CLANG, version="clang 20")),
        recipe(replace(CLANG, linker="lld")),
        Recipe(Toolchain(CLANG, replace(TORCH, stamp="torch 2.14.0")), TIER),
        recipe(tier=replace(TIER, headers=("ATen/ATen.h",))),
        recipe(tier=replace(TIER, options=("-O2",))),
    ]

    assert len(others) + 1 == len({made.name for made in (recipe(), *others)})

    assert recipe().name == recipe().name
