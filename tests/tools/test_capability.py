"""Capabilities: how they are probed, collected and named by a mark."""

from __future__ import annotations

import pytest

from plugins.tools.capability import Capability
from plugins.tools.capability import collect_by_name
from plugins.tools.capability import resolve_mark


def present(name: str) -> Capability:
    """Return a capability that is here."""
    return Capability(name, lambda: None)


def test_a_probe_is_called_once_when_first_asked() -> None:
    """Declaring a capability runs nothing, and the answer is kept."""
    calls: list[None] = []
    capability = Capability("gloo", lambda: calls.append(None))

    assert [] == calls
    assert capability.missing is None
    assert capability.missing is None
    assert [None] == calls


def test_a_reason_is_one_line() -> None:
    """The summary has one line for it."""
    capability = Capability("gloo", lambda: "no gloo;\n  install it")

    assert capability.missing == "no gloo; install it"


def test_a_probe_that_raises_gives_a_reason() -> None:
    """A broken driver or package skips a test instead of ending the session."""

    def probe() -> str | None:
        raise OSError("libfoo.so:\ncannot open shared object file")

    assert (
        Capability("gloo", probe).missing
        == "its probe failed with OSError: libfoo.so: cannot open shared object file"
    )


def test_the_order_is_fixed() -> None:
    """The CPU comes first, then the alphabet; the order of the plugins has no influence."""
    known = collect_by_name("device", [[present("xpu"), present("cuda")], [], [present("cpu")]])

    assert list(known) == ["cpu", "cuda", "xpu"]


def test_two_of_one_name_are_refused() -> None:
    """A test could mean either."""
    with pytest.raises(pytest.UsageError, match=r"^two plugins declare the device 'cpu'$"):
        collect_by_name("device", [[present("cpu")], [present("cpu")]])


def test_a_name_must_be_good_for_a_mark() -> None:
    """A name with a colon could not be selected by ``-m``."""
    with pytest.raises(
        pytest.UsageError, match=r"^the device 'cuda:0' cannot be written as a mark$"
    ):
        collect_by_name("device", [[present("cuda:0")]])


def test_a_mark_names_capabilities() -> None:
    """They come in the order of the mark."""
    known = {name: present(name) for name in ("gloo", "nvcc")}

    assert resolve_mark(pytest.mark.backend("nvcc", "gloo").mark, known, "test_x.py::test_y") == [
        known["nvcc"],
        known["gloo"],
    ]


@pytest.mark.parametrize(
    ("mark", "asked"),
    [
        (pytest.mark.backend("gloo", "nvc"), "'gloo', 'nvc'"),
        (pytest.mark.backend(["gloo"]), r"\['gloo'\]"),
        (pytest.mark.backend(name="gloo"), "'name'"),
        (pytest.mark.backend(), ""),
    ],
    ids=["unknown", "list", "keyword", "nothing"],
)
def test_a_mark_that_names_nothing_known_fails(mark: pytest.MarkDecorator, asked: str) -> None:
    """One line has the test, the mark and the known names."""
    known = {name: present(name) for name in ("gloo", "nvcc")}
    expected = rf"^test_x.py::test_y: backend\({asked}\): expected one or more of gloo, nvcc$"

    with pytest.raises(pytest.fail.Exception, match=expected):
        resolve_mark(mark.mark, known, "test_x.py::test_y")
