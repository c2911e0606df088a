"""What hypothesis prints of a tensor: its layout, whatever kind of tensor it is."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING
from typing import Any

import pytest

from plugins.tools.tensor_repr import VALUES
from plugins.tools.tensor_repr import format_nested
from plugins.tools.tensor_repr import print_tensor
from plugins.tools.tensor_repr import show_layouts


if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import MiniCourse


TEST = """
    import torch
    from hypothesis import given
    from hypothesis import strategies as st

    @st.composite
    def views(draw):
        return torch.arange(10).as_strided((2, 2), (1, draw(st.just(3))), 2)

    @given(x=views(), several=st.lists(views(), min_size=1, max_size=1), data=st.data())
    def test(x, several, data):
        data.draw(views(), label="drawn")
        assert False
"""
SHOWN = "tensor([[2, 5], [3, 6]], dtype=torch.int64, size=(2, 2), stride=(1, 3), storage_offset=2)"


def squeeze(text: str) -> str:
    """Return the text with one blank for each run of blanks and line ends."""
    return " ".join(text.replace("\nE", "\n").split())


def pretty(value: object) -> str:
    """Return what hypothesis prints."""
    from hypothesis.vendor.pretty import pretty as printed  # noqa: PLC0415 - see `drawn`

    show_layouts()
    return squeeze(printed(value))


@pytest.mark.torch
@pytest.mark.parametrize("option", [(), ("--hypothesis-profile=default",)], ids=["", "profile"])
def test_a_failure_shows_the_layout(course: MiniCourse, option: tuple[str, ...]) -> None:
    """Of an argument, of what is in a list, and of what the test draws later."""
    course.plugins("plugins.course.session", "plugins.course.seeds")
    course.kata(test=TEST)
    text = squeeze(course.run("katas", *option).stdout.str())

    assert f"x={SHOWN}" in text
    assert f"several=[{SHOWN}]" in text
    assert f"Draw 1 (drawn): {SHOWN}" in text


KINDS: dict[str, tuple[Callable[[Any], object], str]] = {
    "transposed": (
        lambda torch: torch.arange(6).view(2, 3).T,
        (
            "tensor([[0, 3], [1, 4], [2, 5]], dtype=torch.int64, size=(3, 2), stride=(1, 3),"
            " storage_offset=0)"
        ),
    ),
    "expanded": (
        lambda torch: torch.full((1,), 0.5, dtype=torch.float16).expand(3),
        "tensor([0.5, 0.5, 0.5], dtype=torch.float16, size=(3,), stride=(0,), storage_offset=0)",
    ),
    "scalar": (
        lambda torch: torch.tensor(float("nan"), dtype=torch.bfloat16),
        "tensor(nan, dtype=torch.bfloat16, size=(), stride=(), storage_offset=0)",
    ),
    "empty": (
        lambda torch: torch.empty(2, 0, dtype=torch.bool),
        "tensor([[], []], dtype=torch.bool, size=(2, 0), stride=(1, 1), storage_offset=0)",
    ),
    "conjugated": (
        lambda torch: torch.tensor([1 + 2j]).conj(),
        (
            "tensor([1-2j], dtype=torch.complex64, size=(1,), stride=(1,), storage_offset=0,"
            " is_conj=True)"
        ),
    ),
    "negated": (
        lambda torch: torch.tensor([1 + 2j]).conj().imag,
        (
            "tensor([-2.0], dtype=torch.float32, size=(1,), stride=(2,), storage_offset=1,"
            " is_neg=True)"
        ),
    ),
    "grad": (
        lambda torch: torch.ones(1, requires_grad=True),
        (
            "tensor([1.0], dtype=torch.float32, size=(1,), stride=(1,), storage_offset=0,"
            " requires_grad=True)"
        ),
    ),
    "parameter": (
        lambda torch: torch.nn.Parameter(torch.ones(1)),
        (
            "Parameter([1.0], dtype=torch.float32, size=(1,), stride=(1,), storage_offset=0,"
            " requires_grad=True)"
        ),
    ),
    "meta": (
        lambda torch: torch.empty(2, 3, device="meta"),
        "tensor(dtype=torch.float32, size=(2, 3), stride=(3, 1), storage_offset=0, device='meta')",
    ),
    "sparse": (
        lambda torch: torch.eye(2).to_sparse(),
        (
            "tensor([[1.0, 0.0], [0.0, 1.0]], dtype=torch.float32, size=(2, 2),"
            " layout=torch.sparse_coo)"
        ),
    ),
    "long": (
        lambda torch: torch.arange(1000),
        (
            f"tensor([{', '.join(map(str, range(VALUES)))}, ...], dtype=torch.int64, size=(1000,),"
            " stride=(1,), storage_offset=0)"
        ),
    ),
    "large": (
        lambda torch: torch.zeros(9, 9, 9, dtype=torch.uint8),
        (
            f"tensor([{', '.join(['[' + ', '.join(['[0, 0, 0, ...]'] * 3) + ', ...]'] * 3)}, ...],"
            " dtype=torch.uint8, size=(9, 9, 9), stride=(81, 9, 1), storage_offset=0)"
        ),
    ),
}


@pytest.mark.torch
@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_tensor_is_shown(kind: str) -> None:
    """With what is special about it; a large one by its first values."""
    import torch  # noqa: PLC0415 - for tests that need it

    make, expected = KINDS[kind]

    assert squeeze(expected) == pretty(make(torch))


@pytest.mark.torch
@pytest.mark.parametrize("kind", ["csr", "quantized", "nested", "jagged", "fake", "vmap"])
@pytest.mark.filterwarnings("ignore")
def test_no_kind_of_tensor_raises(kind: str) -> None:
    """Whatever cannot be asked of it is left out."""
    import torch  # noqa: PLC0415 - for tests that need it
    from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: PLC0415

    def in_vmap() -> str:
        shown: list[str] = []

        def see(x: Any) -> Any:
            shown.append(pretty(x))
            return x

        torch.vmap(see)(torch.ones(2, 3))
        return shown[0]

    made: dict[str, Callable[[], object]] = {
        "csr": lambda: torch.eye(2).to_sparse_csr(),
        "quantized": lambda: torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8),
        "nested": lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
        "jagged": lambda: torch.nested.nested_tensor(
            [torch.ones(2), torch.ones(3)], layout=torch.jagged
        ),
        "fake": lambda: FakeTensorMode().from_tensor(torch.ones(2)),
    }
    text = in_vmap() if kind == "vmap" else pretty(made[kind]())

    assert "dtype=" in text
    assert text.endswith(")")


@pytest.mark.torch
def test_a_learners_subclass_is_not_asked() -> None:
    """Its ``__torch_function__`` may count what is called, or fail; so may ``__repr__``."""
    import torch  # noqa: PLC0415 - for tests that need it

    base: Any = torch.Tensor

    class Broken(base):  # type: ignore[misc]
        @classmethod
        def __torch_function__(cls, *_: object) -> Any:
            raise AssertionError

        def __repr__(self, **_: Any) -> str:
            raise AssertionError

    assert "Broken([1.0, 1.0], dtype=torch.float32, size=(2,), stride=(1,), storage_offset=0)" == (
        pretty(torch.ones(2).as_subclass(Broken))
    )


def test_four_digits_are_enough() -> None:
    """And what is no number is shown as it is."""
    assert "[0.3333, 1e-20, inf, True, -3, 0.3333+2j]" == format_nested(
        [1 / 3, 1e-20, float("inf"), True, -3, 1 / 3 + 2j], (6,)
    )


def test_nothing_imports_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """The printer is registered under a name."""
    monkeypatch.setitem(sys.modules, "torch", None)

    assert "[1, 2]" == pretty([1, 2])
    assert print_tensor.__module__ == "plugins.tools.tensor_repr"
