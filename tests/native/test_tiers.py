"""The tiers of headers, and the vectors of the processor that some are compiled for."""

from __future__ import annotations

from pathlib import Path

import pytest

from plugins.native.tiers import DEFAULT
from plugins.native.tiers import tiers
from plugins.native.tiers import vector_options


AUTHORING = Path(__file__).parents[2] / "docs/authoring.md"


def test_the_tiers_are_in_the_order_of_their_cost() -> None:
    """A source names the first that serves it; ``iter`` and ``full`` contain ``small``."""
    assert ["stable", "small", "iter", "full", "vec"] == list(tiers())

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
    """On others, the code of a speed kata would die of an illegal instruction."""
    about = tmp_path / "cpuinfo"
    if flags:
        about.write_text(f"{flags}\n")

    options = vector_options(machine, about)

    assert wide == ("-march=x86-64-v3" in options)
    assert wide == (options != DEFAULT)


def test_the_header_of_a_tier_includes_all_of_it() -> None:
    """In their order, by angle brackets."""
    small = tiers()["small"]

    assert [f"#include <{header}>" for header in small.headers] == small.text.splitlines()


@pytest.mark.parametrize("name", tiers())
def test_contributors_can_choose_among_the_tiers(name: str) -> None:
    """The guide has a row for each that a source may name."""
    assert f"| `{name}` |" in AUTHORING.read_text(encoding="utf-8")
