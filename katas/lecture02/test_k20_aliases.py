"""Tests of k20_aliases: the schemas' text, ``OpOverload.is_view`` and real runs are the oracle."""

from __future__ import annotations

import re

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from katas.lecture02.k20_aliases import Effects
from katas.lecture02.k20_aliases import effects
from katas.lecture02.k20_aliases import observe
from katas.lecture02.k20_aliases import survey
from plugins.kit import unchanged


aten = torch.ops.aten
NAMES = sorted(
    name
    for name in torch._C._dispatch_get_all_op_names()  # noqa: SLF001 - the list of operators
    if name.startswith("aten::")
)
NOTED = re.compile(r"\(\w+(?P<write>!?)(?: -> [^)]*)?\)\S* (?P<name>\w+)")
NONE: frozenset[str] = frozenset()
SELF = frozenset({"self"})


def overload(name: str) -> torch._ops.OpOverload:
    """Return the operator of that name from ``torch.ops``."""
    packet, _, kind = name.removeprefix("aten::").partition(".")
    return getattr(getattr(aten, packet), kind or "default")


def read(name: str) -> Effects:
    """Return the effects, computed another way: parse the text of the schema."""
    text = str(overload(name)._schema)  # noqa: SLF001 - its text
    found = NOTED.findall(text[: text.rindex(" -> ")])
    return Effects(
        frozenset(name for write, name in found if write),
        frozenset(name for write, name in found if not write),
    )


def says(name: str) -> None:
    """Compare your reading of a schema with its text."""
    expected, yours = read(name), effects(name)

    assert expected == yours, f"{overload(name)._schema}\nyours {yours}, expected {expected}"  # noqa: SLF001


def does(
    expected: Effects, operator: torch._ops.OpOverload, *args: object, **named: object
) -> None:
    """Compare what you observe with what the operator does."""
    yours = observe(operator, *args, **named)

    assert expected == yours, f"{operator}: yours {yours}, expected {expected}"


def test_a_mark_is_a_write() -> None:
    """``Tensor(a!) self`` is written to, and so is ``out``."""
    for name in ("aten::add_.Tensor", "aten::add.out", "aten::relu_"):
        says(name)


def test_no_mark_is_a_view() -> None:
    """``Tensor(a) self`` may be returned."""
    says("aten::transpose.int")
    says("aten::detach")


def test_views_in_a_list_are_views() -> None:
    """``Tensor(a -> *) self`` is returned in pieces."""
    says("aten::split.Tensor")
    says("aten::unbind.int")


def test_no_annotation_is_no_effect() -> None:
    """Most operators read their arguments and create something new; names prove nothing."""
    says("aten::add.Tensor")
    says("aten::__or__.Tensor")


@given(name=st.sampled_from(NAMES))
def test_effects_are_those_of_the_text(name: str) -> None:
    """For any operator: its schema is printed and parsed again."""
    says(name)


def test_the_survey_is_what_torch_believes() -> None:
    """``is_view`` and ``is_mutable`` are what functionalization looks at."""
    for name, found in survey().items():
        operator = overload(name)
        theirs = (operator._schema.is_mutable, operator.is_view)  # noqa: SLF001
        yours = (bool(found.writes), bool(found.views))
        assert theirs == yours, f"{name} (writes, views): yours {yours}, PyTorch's {theirs}"
        assert not (found.writes and found.views), (
            f"{name}: you say that it writes and returns a view, but no operator does both"
        )


def test_a_write_is_observed() -> None:
    """The version counter moves, in the argument that was written to."""
    x, y = torch.zeros(3), torch.ones(3)

    does(Effects(SELF, NONE), aten.add_.Tensor, x, y)
    assert [1.0, 1.0, 1.0] == x.tolist(), (
        f"run the operator on the arguments themselves: x is {x.tolist()}"
    )


def test_a_write_of_what_was_there_is_a_write() -> None:
    """Autograd cares that somebody wrote, not what."""
    does(Effects(SELF, NONE), aten.mul_.Scalar, torch.ones(3), 1.0)


def test_an_argument_by_name_is_observed() -> None:
    """``out`` can be given by name only."""
    x, out = torch.ones(3), torch.empty(3)

    does(Effects(frozenset({"out"}), NONE), aten.add.out, x, x.clone(), out=out)
    assert [2.0, 2.0, 2.0] == out.tolist(), (
        f"run the operator on the arguments themselves: out is {out.tolist()}"
    )


def test_a_view_is_observed() -> None:
    """Even a view with another offset, or one returned in a list."""
    x = torch.arange(12.0).reshape(3, 4)

    does(Effects(NONE, SELF), aten.select.int, x, 0, 2)
    does(Effects(NONE, SELF), aten.split.Tensor, x, 2)
    does(Effects(NONE, SELF), aten.contiguous.default, x)  # x itself is returned


def test_no_effect_is_observed() -> None:
    """New results, results that are not tensors, results in a tuple."""
    x = torch.arange(12.0).reshape(3, 4)
    other = x.clone()
    # Switched on here, because an earlier call may have left it off.
    with torch.enable_grad(), unchanged(x=x, other=other):
        seen = [
            observe(aten.add.Tensor, x, other),
            observe(aten.equal.default, x, other),
            observe(aten.max.dim, x, 0),
        ]

    assert seen == [Effects(NONE, NONE)] * 3, f"yours {seen}, expected no writes and no views"


def test_a_schema_says_what_may_happen() -> None:
    """Reshaping a transpose copies, although the schema must allow for a view."""
    x = torch.arange(12.0).reshape(3, 4)
    seen = [observe(aten.reshape.default, y, [12]) for y in (x, x.t())]

    assert [Effects(NONE, SELF), Effects(NONE, NONE)] == seen, (
        f"reshape of a row-major tensor and of a transpose: yours {seen}, expected a view, a copy"
    )
    says("aten::reshape")


def test_a_schema_can_keep_a_secret() -> None:
    """Batch norm updates its running statistics; no annotation or version counter says so."""
    x, mean, var = torch.rand(4, 3), torch.zeros(3), torch.ones(3)
    run = (x, None, None, mean, var, True, 0.1, 1e-5)
    seen = observe(aten.native_batch_norm.default, *run)

    assert frozenset({"running_mean", "running_var"}) == seen.writes, (
        f"yours {set(seen.writes)}, expected running_mean and running_var: compare the values too"
    )
    says("aten::native_batch_norm")
    honest = effects("aten::_native_batch_norm_legit").writes
    assert seen.writes == honest, (
        "_native_batch_norm_legit declares writes to running_mean and running_var: "
        f"yours {set(honest)}"
    )


def test_what_happens_counts_whatever_is_announced() -> None:
    """Three operators that lie: one announces a write and makes none, two return views silently."""
    x = torch.arange(3.0)
    with torch.library._scoped_library("lecture02_k20", "DEF") as library:  # noqa: SLF001
        library.define("idle(Tensor(a!) x) -> Tensor")
        library.define("first(Tensor x) -> (Tensor, Tensor)")
        library.define("second(Tensor x) -> (Tensor, Tensor)")
        every = "CompositeExplicitAutograd"
        library.impl("idle", torch.clone, every)
        library.impl("first", lambda x: (x[1:], x.clone()), every)
        library.impl("second", lambda x: (x.clone(), x[1:]), every)
        lies = torch.ops.lecture02_k20

        does(Effects(NONE, NONE), lies.idle.default, x)
        does(Effects(NONE, frozenset({"x"})), lies.first.default, x)
        does(Effects(NONE, frozenset({"x"})), lies.second.default, x=x)


def test_a_small_change_is_a_write() -> None:
    """The running statistics move by less than any tolerance, and no version counter shows it."""
    x = torch.arange(12.0, dtype=torch.float64).sqrt().reshape(4, 3)
    mean, var = torch.zeros(3, dtype=torch.float64), torch.ones(3, dtype=torch.float64)
    run = (x, None, None, mean, var, True, 1e-12, 1e-5)
    seen = observe(aten.native_batch_norm.default, *run)

    assert seen.writes == {"running_mean", "running_var"}, (
        f"the operator writes to running_mean and running_var; yours: {set(seen.writes)}"
    )


SAMPLES = {
    "aten::abs": (),
    "aten::abs_": (),
    "aten::t": (),
    "aten::t_": (),
    "aten::unsqueeze": (0,),
    "aten::expand": ([5, 2, 3],),
    "aten::repeat": ([2, 1],),
    "aten::as_strided": ([2], [1], 1),
    "aten::diagonal": (),
    "aten::flip": ([0],),
    "aten::unfold": (1, 2, 1),
    "aten::chunk": (2, 1),
    "aten::zero_": (),
    "aten::cumsum_": (0,),
    "aten::detach": (),
    "aten::clone": (),
    "aten::sum.dim_IntList": ([0],),
    "aten::flatten.using_ints": (),
    "aten::squeeze_": (),
    "aten::fill_.Scalar": (2.0,),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_these_schemas_keep_their_word(name: str) -> None:
    """On a row-major tensor you observe exactly what the schema announces."""
    x = torch.arange(1.0, 7.0).reshape(2, 3)

    does(effects(name), overload(name), x, *SAMPLES[name])
