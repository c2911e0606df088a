"""Tests of k10_schema: the oracle is the check in PyTorch's own CI."""
# ruff: noqa: SLF001 - schemas are parsed and listed in torch._C

from __future__ import annotations

from typing import Any

import torch
from hypothesis import assume
from hypothesis import example
from hypothesis import given
from hypothesis import strategies as st

from katas.lecture28 import k10_schema as kata
from plugins.kit import forbids


OLD = "f(Tensor x, int n=1, *, bool k=False) -> Tensor"


def parsed(text: str) -> Any:
    """Return a schema for an operator that no library contains."""
    return torch._C.parse_schema(text)


def pytorchs(old: Any, new: Any) -> bool:
    """Return PyTorch's verdict: whether the new schema accepts what the old one accepted."""
    check = getattr(new, "is_backward_compatible_with", None)
    assert check is not None, (
        "this torch has no is_backward_compatible_with: please report it to the course"
    )
    return bool(check(old))


def compare(old: str, new: str, why: str) -> None:
    """Compare your verdict on one change with PyTorch's."""
    __tracebackhide__ = True
    yours, expected = kata.compatible(parsed(old), parsed(new)), pytorchs(parsed(old), parsed(new))
    assert yours == expected, (
        f"\nold  {old}\nnew  {new}\nyours {yours}, PyTorch's {expected}: {why}"
    )


def fits(old: str, new: str, why: str) -> None:
    """Compare your verdict on one argument with PyTorch's, for operators with only this one."""
    __tracebackhide__ = True
    before, after = (parsed(f"f({each}) -> ()") for each in (old, new))
    yours = kata.accepts(after.arguments[0], before.arguments[0])
    expected = pytorchs(before, after)
    assert yours == expected, f"{old} -> {new}: yours {yours}, PyTorch's {expected}: {why}"


def test_an_argument_of_another_type() -> None:
    """A wider type accepts what the narrower one accepted, not the other way round."""
    fits("Tensor x", "Tensor x", "nothing has changed")
    fits("Tensor x", "Tensor? x", "each Tensor is a Tensor?")
    fits("Tensor? x", "Tensor x", "None is no Tensor")
    fits("int n", "Scalar n", "each int is a Scalar, and Python's rules are others")
    fits("int n", "float n", "in a schema an int is no float")
    fits("SymInt n", "int n", "programs see a SymInt as an int, which is its `type`")


def test_an_argument_of_another_form() -> None:
    """Name, list length and alias must be equal."""
    fits("Tensor x", "Tensor y", "x=... is no longer an argument")
    fits("int[2] n", "int[] n", "int[2] takes a single int, too")
    fits("Tensor(a!) x", "Tensor(a) x", "who relied on the write does not get it")


def test_an_argument_by_keyword() -> None:
    """A keyword-only argument can no longer be passed by position."""
    fits("int n", "*, int n", "f(3) was fine, and is not any more")
    fits("*, int n", "int n", "f(n=3) is still fine")


def test_an_argument_with_a_default() -> None:
    """Callers that leave an argument out rely on its default."""
    fits("int n=1", "int n=2", "f() meant 1")
    fits("int n=1", "int n", "f() is refused")
    fits("int n", "int n=0", "each call has given n")
    fits("int? n=None", "int? n", "None is a default, too")
    fits("Scalar n=1", "Scalar n=1.0", "1 and 1.0 lead to other dtypes")


def test_an_argument_is_added() -> None:
    """An added argument comes after all others and has a default."""
    compare(OLD, OLD.replace(")", ", bool j=True)", 1), "it is behind, and has a default")
    compare(OLD, OLD.replace(")", ", bool j)", 1), "no old call gives j")
    compare(OLD, OLD.replace("bool k", "bool j=True, bool k"), "the second place was that of k")
    compare(OLD, OLD.replace("*, ", "int m=1, *, "), "the second place was that of k")


def test_an_argument_goes() -> None:
    """No argument may be removed: even the last one may have been passed."""
    compare(OLD, "f(Tensor x, int n=1) -> Tensor", "f(x, k=True) is refused")
    compare(OLD, "f(Tensor x, *, bool k=False, int n=1) -> Tensor", "the order is another")


def test_results() -> None:
    """Callers that unpack two results, or rely on a Tensor, still get them."""
    compare("f(Tensor x) -> Tensor?", "f(Tensor x) -> Tensor", "each Tensor is a Tensor?")
    compare(
        "f(Tensor x) -> Tensor", "f(Tensor x) -> Tensor?", "None comes back, and was never seen"
    )
    compare("f(Tensor x) -> Tensor", "f(Tensor x) -> (Tensor, Tensor)", "a tuple comes back")
    compare("f(Tensor x) -> (Tensor, Tensor)", "f(Tensor x) -> Tensor", "there was a second one")
    compare("f(Tensor(a) x) -> Tensor(a)", "f(Tensor(a) x) -> Tensor", "it was a view")


def test_names() -> None:
    """A different name or overload is a different operator."""
    compare("f(Tensor x) -> Tensor", "g(Tensor x) -> Tensor", "f is gone")
    compare("f(Tensor x) -> Tensor", "f.out(Tensor x) -> Tensor", "programs hold the overload too")


def test_arguments_for_out() -> None:
    """Arguments for out= are compared separately: added arguments may come before them."""
    old = "f(Tensor x, *, Tensor(a!) out) -> Tensor(a!)"
    compare(old, old.replace("*", "int n=0, *"), "x is in its place, and out in its row")
    compare(old, old.replace("*", "int n, *"), "no old call gives n")
    compare(old, old.replace("out", "result"), "out=... is no longer an argument")
    compare("f(Tensor x, *, Tensor(a!) out) -> ()", "f(Tensor x) -> ()", "out=... is refused")
    maybe = old.replace("(a!) out", "(a!)? out")
    compare(old, maybe, "each tensor fits")
    compare(maybe, old, "out=None is refused")
    two = "f(Tensor x, *, Tensor(a!) a, Tensor(b!) b) -> (Tensor(a!), Tensor(b!))"
    compare(two, two.replace("!) a,", "!) c,"), "a=... is no longer an argument")
    plain = "f(Tensor x) -> ()"
    added = plain.replace("x", "x, *, Tensor(a!) out")
    yours = kata.compatible(parsed(plain), parsed(added))
    assert yours is False, (
        f"\nold  {plain}\nnew  {added}\nyours {yours}, expected False: f(x) is refused without out."
        " PyTorch's check requires a default only before out=, and accepts this schema"
    )


TYPES = ("int n", "int n=1", "int? n=1", "int n=2", "float n", "int[2] n=[1,2]", "int m=1")
LISTS = st.lists(st.sampled_from(("Tensor x", "Tensor? x", "Tensor(a!) x", *TYPES)), max_size=3)
OUTS = st.lists(st.sampled_from(("Tensor(b!) out", "Tensor(b!) b", "Tensor(c!) out")), max_size=1)
RESULTS = st.sampled_from(("Tensor", "Tensor?", "Tensor(b!)", "(Tensor, int)", "()"))


@st.composite
def schemas(draw: st.DrawFn) -> str:
    """Draw a schema with arguments, some of them keyword-only, perhaps out, and results."""
    arguments, outs = draw(LISTS), draw(OUTS)
    # After the star, a mutated argument would be an out= argument.
    first = max((place for place, each in enumerate(arguments, 1) if "!" in each), default=0)
    star = draw(st.integers(first, len(arguments)))
    keywords = [*arguments[star:], *outs]
    # Positional arguments without a default come first.
    places = sorted(arguments[:star], key=lambda each: "=" in each)
    row = [*places, *(["*", *keywords] if keywords else [])]
    return f"f({', '.join(row)}) -> {draw(RESULTS)}"


@example("f(Tensor x, int n=1) -> Tensor", "f(Tensor x, int? n=1, *, int m=1) -> Tensor")
@example("f(Tensor x, *, int n=1) -> Tensor", "f(Tensor x, int n=1, int m=1) -> Tensor")
@given(schemas(), schemas())
def test_any_two_schemas(old: str, new: str) -> None:
    """Your verdict is PyTorch's for any two schemas."""
    # If out= is removed, PyTorch's check may read past a list's end; if it is added, see above.
    assume(("!) out" in old or "!) b" in old) == ("!) out" in new or "!) b" in new))
    compare(old, new, "see `accepts` and `compatible`")


def test_overloads() -> None:
    """A compatible overload does not help another one, and the order does not matter."""
    before = ["h() -> int", "f(int n) -> int", "f.wide(int n, int m=1) -> int", "g(int n) -> int"]
    after = ["f.wide(int n, int m=2) -> int", "i() -> int", "g(int? n) -> int", "f(int n) -> int"]
    old, new = [*map(parsed, before)], [*map(parsed, after)]
    yours = kata.broken(old, new)
    expected = [str(each) for each in old if not any(pytorchs(each, other) for other in new)]
    assert yours == expected, (
        f"old {before}\nnew {after}\nbroken: yours  {yours}\nexpected       {expected}"
    )
    other = parsed("f(str n) -> int")
    for twice in ([other, *new], [*new, other]):
        yours = kata.broken(old[1:2], twice)
        assert yours == [], (
            f"f is in the new list twice, once unchanged: yours {yours}, expected []"
        )


def test_a_release_of_pytorch() -> None:
    """No schema of this PyTorch breaks itself; if `relu` is removed, only `relu` is broken."""
    every = [each for each in torch._C._jit_get_all_schemas() if each.name == "aten::add"]
    relu = [each for each in torch._C._jit_get_all_schemas() if each.name == "aten::relu"]
    assert kata.broken(every, every) == [], (
        "the same release twice: your code reports something broken"
    )
    yours = kata.broken(every + relu, every)
    expected = [str(each) for each in relu]
    assert yours == expected, (
        f"relu is removed: your code reports {yours} as broken, expected {expected}"
    )


class Read:
    """A schema or an argument without its own checks."""

    def __init__(self, found: Any) -> None:
        self._found = found

    def __getattr__(self, name: str) -> Any:
        """Return a field; wrap arguments and results in this class too."""
        assert "compatible" not in name, (
            f"your code calls {name} of the schema: write that yourself"
        )
        value = getattr(self._found, name)
        return [Read(each) for each in value] if isinstance(value, list) else value

    def __str__(self) -> str:
        return str(self._found)


def test_without_the_check_itself() -> None:
    """Compare argument by argument, without the schema's own methods."""
    names = [
        f"torch.Tensor.{each}"
        for each in ("is_backward_compatible_with", "check_forward_compatible_with")
    ]
    other = OLD.replace("n=1", "n=2")
    with forbids(kata, *names) as fresh:
        for new, expected in ((OLD, True), (other, False)):
            before, after = Read(parsed(OLD)), Read(parsed(new))
            yours = fresh.compatible(before, after)
            assert yours is expected, f"{OLD} -> {new}: yours {yours!r}, expected {expected}"
            lost = fresh.broken([before], [after])
            right = [] if expected else [OLD]
            assert lost == right, (
                f"{OLD} -> {new}: your code reports {lost} as broken, expected {right}"
            )
