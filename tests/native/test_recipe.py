"""The command lines for clang, for g++ and for macOS, and the names of what they make."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from plugins.prelude import DEFAULT
from plugins.prelude import Tier
from plugins.prelude import tiers
from plugins.prelude import vector_options
from plugins.recipe import Recipe
from plugins.toolchain import Compiler
from plugins.toolchain import Toolchain
from plugins.toolchain import Torch


# Any file is a compiler to someone who does not run it.
CLANG = Compiler(__file__, clang=True, major=19, version="clang 19", linker="mold")
GXX = Compiler(__file__, clang=False, major=12, version="g++ 12", linker="")
TORCH = Torch(Path("/torch"), cxx11_abi=True, stamp="torch 2.13.0")
TIER = Tier("small", ("torch/library.h",), (8, 13))


def recipe(compiler: Compiler = CLANG, tier: Tier = TIER, platform: str = "linux") -> Recipe:
    """Return a recipe for a torch that does not exist."""
    return Recipe(Toolchain(compiler, TORCH), tier, platform)


def uses(compiler: Compiler, platform: str = "linux", tier: Tier = TIER) -> list[str]:
    """Return what the last argument or output of each command of a whole build is."""
    made = recipe(compiler, tier, platform)
    commands = [*made.prepare(), made.compile(Path("a.cpp"), Path("a.o"))]
    commands.append(made.link([Path("a.o")], Path("a.so")))
    return [command[command.index("-o") + 1] for command in commands]


def test_clang_compiles_the_headers_and_their_functions_once() -> None:
    """The functions stand in an object, which every library is linked with."""
    assert ["libtorch_cpu.so", "libc10.so", "tier.pch", "tier.o", "a.o", "a.so"] == uses(CLANG)

    assert "tier.o" in recipe().link([], Path("a.so"))


def test_gxx_compiles_the_headers_once() -> None:
    """It has nothing like the object."""
    assert ["libtorch_cpu.so", "libc10.so", "tier.h.gch", "a.o", "a.so"] == uses(GXX)

    assert "tier.o" not in recipe(GXX).link([], Path("a.so"))


def test_where_speed_is_the_point_functions_are_compiled_with_the_kata() -> None:
    """So that they can become part of its loops."""
    tier = replace(TIER, compiled=False)

    assert ["libtorch_cpu.so", "libc10.so", "tier.pch", "a.o", "a.so"] == uses(CLANG, tier=tier)


def test_macos_resolves_symbols_when_the_library_is_loaded() -> None:
    """Its linker needs no stubs for that, and has other words for the rest."""
    assert ["tier.pch", "tier.o", "a.o", "a.so"] == uses(CLANG, "darwin")

    assert "-Wl,-undefined,dynamic_lookup" in recipe(platform="darwin").link([], Path("a.so"))


def test_the_linker_is_named_if_it_is_not_the_default() -> None:
    """The others link in a third of its time."""
    assert "-fuse-ld=mold" in recipe().link([], Path("a.so"))

    assert not [option for option in recipe(GXX).link([], Path("a.so")) if "-fuse-ld" in option]


def test_std_string_is_the_one_of_torch() -> None:
    """A library with the other one cannot be loaded."""
    old = Recipe(Toolchain(CLANG, replace(TORCH, cxx11_abi=False)), TIER)

    assert "-D_GLIBCXX_USE_CXX11_ABI=1" in recipe().options

    assert "-D_GLIBCXX_USE_CXX11_ABI=0" in old.options


def test_functions_have_the_names_that_gxx_gives_them() -> None:
    """A newer clang would look for others; an older one, g++ and Apple's need not be told."""
    told = [recipe(), recipe(replace(CLANG, major=18))]
    others = [recipe(replace(CLANG, major=17)), recipe(GXX), recipe(platform="darwin")]

    for made, names in [*((made, True) for made in told), *((made, False) for made in others)]:
        assert names == ("-fclang-abi-compat=17" in made.options)
        assert names == ("-fclang-abi-compat=17" in made.compile(Path("a.cpp"), Path("a.o")))


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


def test_the_tiers_are_in_the_order_of_their_cost() -> None:
    """A source names the first that serves it; each larger one holds the smaller ones."""
    assert ["stable", "small", "iter", "full", "vec", "simt"] == list(tiers())

    small = set(tiers()["small"].headers)
    assert small < set(tiers()["iter"].headers)
    assert small < set(tiers()["full"].headers)


@pytest.mark.parametrize(
    ("machine", "flags", "wide"),
    [
        ("x86_64", "flags : fpu fma avx2 bmi1", True),
        ("x86_64", "flags : fpu avx bmi1", False),
        ("x86_64", None, False),
        ("aarch64", "Features : asimd", False),
    ],
)
def test_vectors_are_as_wide_as_the_processor_allows(
    tmp_path: Path, machine: str, flags: str | None, *, wide: bool
) -> None:
    """Elsewhere the code of a speed kata would die of an illegal instruction."""
    about = tmp_path / "cpuinfo"
    if flags:
        about.write_text(f"{flags}\n")

    options = vector_options(machine, about)

    assert wide == ("-march=x86-64-v3" in options)
    assert wide == (options != DEFAULT)
