"""Tests of k03_picture: colours on paper, and a file to look at."""

from __future__ import annotations

from math import inf
from math import nan

import pytest
from expecttest import assert_expected_inline

from katas.lecture17.k03_picture import colour
from katas.lecture17.k03_picture import svg


def compare(value: float, limit: float, expected: str) -> None:
    """Compare one colour."""
    __tracebackhide__ = True
    yours = colour(value, limit)
    assert yours == expected, f"{value} with a limit of {limit}: yours {yours}, expected {expected}"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        *[(4.0, "#ff0000"), (2.0, "#ff8080"), (1.0, "#ffbfbf")],
        *[(-4.0, "#0000ff"), (-2.0, "#8080ff"), (-1.0, "#bfbfff"), (-0.5, "#dfdfff")],
    ],
)
def test_colours(value: float, expected: str) -> None:
    """Red for positive, blue for negative, and paler towards 0."""
    compare(value, 4.0, expected)


def test_zero_is_white() -> None:
    """Both signs of 0 are white, tiny values too, and a map of zeros."""
    for value, limit in ((0.0, 4.0), (-0.0, 4.0), (1e-9, 4.0), (-1e-9, 4.0), (0.0, 0.0)):
        compare(value, limit, "#ffffff")


def test_beyond_the_limit() -> None:
    """The strongest colour stays: a map may use the limit of another one."""
    for value, expected in ((9.0, "#ff0000"), (inf, "#ff0000"), (-9.0, "#0000ff")):
        compare(value, 4.0, expected)


def test_nan_is_seen() -> None:
    """NaN is grey, and no number is grey."""
    compare(nan, 4.0, "#808080")
    compare(nan, 0.0, "#808080")


def test_a_map() -> None:
    """The largest magnitude of a number, here of -4, is the limit; a given limit is used."""
    assert_expected_inline(
        svg([[0.0, 2.0, -4.0], [nan, inf, 1.0]]),
        """\
<svg xmlns="http://www.w3.org/2000/svg" width="30" height="20">
<rect x="0" y="0" width="10" height="10" fill="#ffffff"/>
<rect x="10" y="0" width="10" height="10" fill="#ff8080"/>
<rect x="20" y="0" width="10" height="10" fill="#0000ff"/>
<rect x="0" y="10" width="10" height="10" fill="#808080"/>
<rect x="10" y="10" width="10" height="10" fill="#ff0000"/>
<rect x="20" y="10" width="10" height="10" fill="#ffbfbf"/>
</svg>
""",
    )
    assert_expected_inline(
        svg([[2.0, -4.0]], 8.0),
        """\
<svg xmlns="http://www.w3.org/2000/svg" width="20" height="10">
<rect x="0" y="0" width="10" height="10" fill="#ffbfbf"/>
<rect x="10" y="0" width="10" height="10" fill="#8080ff"/>
</svg>
""",
    )


def test_a_limit_of_0() -> None:
    """0 is a limit like any other, and not None: every number is white."""
    yours = svg([[2.0, -1.0]], 0.0)
    assert yours.count('fill="#ffffff"') == 2, (
        f"the given limit is 0, so both squares should be white; is 0 taken for None? {yours}"
    )


def test_nothing_to_see() -> None:
    """A map of zeros is white, one of NaN is grey, one of infinities is not: none raises."""
    for value, expected in ((0.0, "#ffffff"), (nan, "#808080"), (inf, "#ff0000")):
        yours = svg([[value]])
        assert f'fill="{expected}"' in yours, (
            f"a map of {value}: yours {yours}, expected {expected}"
        )
