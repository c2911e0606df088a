"""Tests of k05_operator: torchgen, torch.lerp and tinytorch's own CI check your parts."""

from __future__ import annotations

import importlib.util
import re
import sys
from types import ModuleType
from types import SimpleNamespace
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from hypothesis import example
from hypothesis import given
from hypothesis import strategies as st
from torchgen.model import Location
from torchgen.model import NativeFunction

from katas.lecture28 import k05_operator as kata
from katas.lecture28.repository import newest
from plugins.kit import forbids


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterator
    from pathlib import Path

    from katas.lecture28.repository import Clone


one = pytest.mark.step(1, "the schema")
two = pytest.mark.step(2, "the kernel and the meta function")
three = pytest.mark.step(3, "the derivative")
four = pytest.mark.step(4, "the samples")
five = pytest.mark.step(5, "the contribution")

NATIVE, DERIVATIVES = "tinytorch/native_functions.yaml", "tinytorch/derivatives.yaml"
KERNELS, OPINFO, DOCS = "tinytorch/kernels.py", "test/opinfo.py", "docs/ops.md"
README = "README.md"
FUNC = "lerp(Tensor self, Tensor end, Tensor weight) -> Tensor"
# Stand-ins for the parts that later steps provide.
ENTRY = f"\n- func: {FUNC}\n  dispatch:\n    CPU: lerp_cpu\n    Meta: lerp_meta\n"
KERNEL = """

def lerp_cpu(self, end, weight):
    return [a * (1 - w) + b * w for a, b, w in zip(self, end, weight, strict=True)]


def lerp_meta(self, end, weight):
    return self
"""
FORMULAS = f"""
- name: {FUNC}
  self: "[g * (1 - w) for g, w in zip(grad, weight)]"
  end: "[g * w for g, w in zip(grad, weight)]"
  weight: "[g * (b - a) for g, a, b in zip(grad, self, end)]"
"""


def loaded(folder: Path, path: str) -> ModuleType:
    """Import a file of tinytorch without changing sys.path."""
    spec = importlib.util.spec_from_file_location(f"made_{path.partition('/')[0]}", folder / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    before, writes = list(sys.path), sys.dont_write_bytecode
    sys.modules[spec.name] = module
    try:
        sys.dont_write_bytecode = True
        spec.loader.exec_module(module)
    finally:
        sys.path[:], sys.dont_write_bytecode = before, writes
        del sys.modules[spec.name]
    return module


def tree(folder: Path, **parts: str) -> Path:
    """Write tinytorch with these parts of lerp appended, and return its folder."""
    places = {
        "native": NATIVE,
        "kernels": KERNELS,
        "derivatives": DERIVATIVES,
        "opinfo": OPINFO,
    }
    added = {places[name]: text for name, text in parts.items()}
    folder /= f"tree{len([*folder.iterdir()])}"
    for path, text in newest().items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text + added.get(path, ""), "utf-8")
    return folder


def operators(folder: Path) -> SimpleNamespace:
    """Generate the operators of a tree, and return them."""
    text = loaded(folder, "tools/codegen.py").generate()
    names: dict[str, Any] = {"kernels": loaded(folder, KERNELS)}
    try:
        exec(text.partition("\n")[2], names)  # noqa: S102 - as an import of the file would
    except SyntaxError as error:
        raise AssertionError(f"the generated code does not compile: {error}") from None
    return SimpleNamespace(**names)


def entry_of(folder: Path, text: str) -> tuple[list[str], dict[str, str]]:
    """Return lerp's arguments and fields, as tinytorch's generator reads them."""
    codegen = loaded(tree(folder, native=text), "tools/codegen.py")
    try:
        found = codegen.read("native_functions.yaml")
    except SystemExit as error:
        raise AssertionError(f"the generator stops: {error}") from None
    assert "lerp" in found, f"yours:\n{text}\nthe generator finds {[*found]}, expected lerp too"
    arguments, fields = found["lerp"]
    return arguments, fields


@one
def test_the_arguments_are_those_of_pytorch(tmp_path: Path) -> None:
    """Names and order of ``torch.ops.aten.lerp.Tensor``, as torchgen reads your entry."""
    text = kata.schema()
    arguments, _ = entry_of(tmp_path, text)
    expected = [each.name for each in torch.ops.aten.lerp.Tensor._schema.arguments]  # noqa: SLF001
    assert arguments == expected, f"arguments: yours {arguments}, PyTorch's {expected}"
    assert text.endswith("\n"), (
        "your text does not end in a newline: the next entry would run into it"
    )


@one
def test_torchgen_reads_the_entry(tmp_path: Path) -> None:
    """PyTorch's own generator accepts it: a schema, and kernels for known keys."""
    text = kata.schema()
    _, fields = entry_of(tmp_path, text)
    func = next(line for line in text.splitlines() if "func:" in line).partition("func: ")[2]
    table = re.search(r"^( +)dispatch: *\n((?:\1 +.*\n)*)", text, re.MULTILINE)
    assert table, f"yours:\n{text}\nno field dispatch, expected a table of kernels in it"
    dispatch = {key: fields[key] for key in re.findall(r"^ +(\w+):", table[2], re.MULTILINE)}
    place = Location("native_functions.yaml", 0)
    found, _ = NativeFunction.from_yaml({"func": func, "dispatch": dispatch}, place, set())
    returns = [str(each.type) for each in found.func.returns]
    assert returns == ["Tensor"], f"torchgen reads the results {returns}, expected one Tensor"
    expected = {"CPU": kata.lerp_cpu.__name__, "Meta": kata.lerp_meta.__name__}
    assert dispatch == expected, f"kernels: yours {dispatch}, expected {expected}"


@one
def test_the_generator_makes_the_operator(tmp_path: Path) -> None:
    """``ops.lerp`` calls the kernel, ``ops.lerp_meta`` the meta function."""
    ops = operators(tree(tmp_path, native=kata.schema(), kernels=KERNEL))
    made = [name for name in ("lerp", "lerp_meta") if hasattr(ops, name)]
    assert made == ["lerp", "lerp_meta"], f"the generator produced {made}, expected both"
    yours = ops.lerp([1.0], [3.0], [0.25]), ops.lerp_meta(1, 1, 1)
    assert yours == ([1.5], 1), f"lerp and lerp_meta: yours {yours}, expected ([1.5], 1)"


# Finite numbers with finite differences.
FLOATS = st.sampled_from([0.0, -0.0, 1.0, -1.0, 2.0**0.5, -(3.0**0.5), 1e16, -1e16, 1e-300])
WEIGHTS = st.sampled_from([0.0, 1.0, 0.5, 0.25, -0.25, -1.5, 2.0, 1 / 3, 0.9])


def refuses(call: Callable[..., object], *inputs: object) -> bool:
    """Return whether a call raises a ValueError."""
    try:
        call(*inputs)
    except ValueError:
        return True
    return False


@two
def test_half_way() -> None:
    """Each element has its own weight."""
    yours = kata.lerp_cpu([0.0, 1.0, 4.0], [10.0, 3.0, 0.0], [0.5, 0.25, 0.75])
    assert yours == [5.0, 1.5, 1.0], f"yours {yours}, PyTorch's [5.0, 1.5, 1.0]"
    assert kata.lerp_cpu([], [], []) == [], "no elements: expected []"


@two
def test_both_ends() -> None:
    """A weight of 1 gives end, although 1e16 + (1 - 1e16) is not 1."""
    for a, b in ((1e16, 1.0), (1.0, 1e16), (0.1, 0.7), (-3e200, 2.0**0.5)):
        yours = kata.lerp_cpu([a, a], [b, b], [0.0, 1.0])
        assert yours == [a, b], (
            f"from {a} to {b} with weights 0 and 1: yours {yours}, PyTorch's {[a, b]}. Start"
            " from the nearer end: self for |weight| < 0.5, else end (ATen/native/Lerp.h)"
        )


@two
@example([(2.0**0.5, 1e16, 0.5), (1.0, 1e16, -1e-17), (1e16, 1.0, -0.5)])
@example([(2.0**0.5, 1.0, 0.0)])
@example([(1e16, 1.0, 1 - 2.0**-53)])
@given(st.lists(st.tuples(FLOATS, FLOATS, WEIGHTS), min_size=1, max_size=4))
def test_as_torch_lerp(rows: list[tuple[float, float, float]]) -> None:
    """The values agree for any numbers with finite differences; the inputs do not change."""
    self, end, weight = ([row[place] for row in rows] for place in range(3))
    before = repr((self, end, weight))
    yours = kata.lerp_cpu(self, end, weight)
    assert repr((self, end, weight)) == before, "your code changes its inputs, expected no change"
    assert not any(yours is each for each in (self, end, weight)), (
        "you return an input itself, expected a new list: the schema says Tensor, not Tensor(a)"
    )
    tensors = [torch.tensor(each, dtype=torch.float64) for each in (self, end, weight)]
    expected = torch.lerp(*tensors)
    close = torch.isclose(
        torch.tensor(yours, dtype=torch.float64), expected, rtol=1e-12, atol=1e-12
    )
    assert close.all(), (
        f"self {self}\nend {end}\nweight {weight}\nyours     {yours}\nPyTorch's {expected.tolist()}"
        "\nPyTorch starts from self for |weight| < 0.5, else from end: see ATen/native/Lerp.h"
    )


@two
def test_the_size_alone() -> None:
    """The meta function gets no elements, but returns the size of the result."""
    for size in (0, 1, 5):
        yours = kata.lerp_meta(size, size, size)
        assert yours == size, f"three inputs of size {size}: yours {yours}, expected {size}"


@two
@pytest.mark.parametrize("odd", [0, 1, 2])
def test_sizes_that_differ(odd: int) -> None:
    """Kernel and meta function refuse the same inputs, so planning by sizes fails too."""
    sizes = [3, 3, 3]
    sizes[odd] = 2
    assert refuses(kata.lerp_cpu, *([0.5] * size for size in sizes)), (
        f"sizes {sizes}: your kernel returns a result, PyTorch raises. Which loop ends early?"
    )
    assert refuses(kata.lerp_meta, *sizes), (
        f"sizes {sizes}: your meta function returns a size, PyTorch raises, as in the kernel"
    )


def backward(folder: Path, text: str) -> Any:
    """Return the function that the generator makes from your formulas."""
    ops = operators(tree(folder, native=ENTRY, kernels=KERNEL, derivatives=text))
    assert hasattr(ops, "lerp_backward"), f"yours:\n{text}\nno lerp_backward is generated"
    return ops.lerp_backward


@three
def test_each_input_has_a_formula(tmp_path: Path) -> None:
    """There are formulas for self, end and weight, under the schema from the other file."""
    text = kata.derivative()
    yours = [*backward(tmp_path, text)([1.0], [1.0], [2.0], [0.5])]
    assert yours == ["self", "end", "weight"], (
        f"your formulas are for {yours}, expected self, end, weight"
    )
    names = [line.partition("name: ")[2] for line in text.splitlines() if "name:" in line]
    assert names == [FUNC], f"name: yours {names}, expected the schema {FUNC!r}"
    assert text.endswith("\n"), (
        "your text does not end in a newline: the next entry would run into it"
    )


@three
def test_the_formulas_are_right(tmp_path: Path) -> None:
    """Compared with autograd on torch.lerp, for a gradient other than 1."""
    lists = ([2.0**0.5, -1.0, 0.3, 5.0], [0.0, 3.0**0.5, -7.0, 5.0], [0.25, 1.5, -0.5, 1.0])
    grad = [1.0, -2.0, 0.5, 3.0**0.5]
    yours = backward(tmp_path, kata.derivative())(grad, *lists)
    inputs = [torch.tensor(each, dtype=torch.float64, requires_grad=True) for each in lists]
    right = torch.autograd.grad(
        torch.lerp(*inputs), inputs, torch.tensor(grad, dtype=torch.float64)
    )
    for name, expected in zip(("self", "end", "weight"), right, strict=True):
        assert yours[name] == pytest.approx(expected.tolist(), rel=1e-12, abs=1e-12), (
            f"gradient of {name}: yours {yours[name]}, PyTorch's {expected.tolist()}, for grad"
            f" {grad}, self {lists[0]}, end {lists[1]}, weight {lists[2]}"
        )


def kernel(body: str, size: str = "self") -> str:
    """Return kernels that have a fault."""
    return (
        f"\n\ndef lerp_cpu(self, end, weight):\n    return {body}\n"
        f"\n\ndef lerp_meta(self, end, weight):\n    return {size}\n"
    )


ROWS = "for a, b, w in zip(self, end, weight)]"
FAULTS = {
    "swaps self and end": kernel(f"[b + w * (a - b) {ROWS}"),
    "ignores the weight": kernel(f"[(a + b) / 2 {ROWS}"),
    "returns end": kernel("[*end]"),
    "returns self": kernel("[*self]"),
    "clamps a weight above 1": kernel(f"[a + min(w, 1) * (b - a) {ROWS}"),
    "clamps a weight below 0": kernel(f"[a + max(w, 0) * (b - a) {ROWS}"),
    "takes the first weight": kernel("[a + weight[0] * (b - a) for a, b in zip(self, end)]"),
    "takes the size of a weight": kernel(f"[a + abs(w) * (b - a) {ROWS}"),
    "fails without an element": kernel(
        f"[a + w * (b - a) {ROWS}[: len(self) + 0 * self[0:].index(self[0])]"
    ),
    "has a result of one element by its size": kernel(f"[a + w * (b - a) {ROWS}", "1"),
    "forgets an element by its size": kernel(f"[a + w * (b - a) {ROWS}", "max(self - 1, 0)"),
}


def opinfo(folder: Path) -> Any:
    """Return your OpInfo, the last in the file, if the file can be imported."""
    text = kata.info()
    try:
        found = loaded(tree(folder, opinfo=text), "test/opinfo.py").op_db[-1]
    except (SyntaxError, NameError, TypeError) as error:
        raise AssertionError(f"yours:\n{text}\ntest/opinfo.py then fails: {error}") from None
    assert found.name == "lerp", f"yours:\n{text}\nthe last OpInfo is {found.name}, expected lerp"
    assert text.endswith("\n"), (
        "your text does not end in a newline: the next entry would run into it"
    )
    return found


def verdict(folder: Path, kernels: str, derivatives: str = FORMULAS) -> str:
    """Return what tinytorch's tests say about lerp with your OpInfo, "" if they pass."""
    info = opinfo(folder)
    made = tree(folder, native=ENTRY, kernels=kernels, derivatives=derivatives)
    ops, run = operators(made), loaded(made, "test/run.py")
    try:
        found: Iterator[str] = run.problems_of("lerp", ops, info)
        return next(found, "")
    except (IndexError, ValueError, ZeroDivisionError) as error:
        return repr(error)


@four
def test_a_right_kernel_passes(tmp_path: Path) -> None:
    """The samples are valid: three lists of equal size, with comparable numbers."""
    yours = verdict(tmp_path, KERNEL)
    assert yours == "", f"with your samples tinytorch's tests reject a correct kernel: {yours}"
    reference = opinfo(tmp_path).reference
    for a, b, w in ((1.0, 3.0, 0.25), (-2.0, 2.0**0.5, 1.5), (0.5, -4.0, -1.0)):
        found = reference(a, b, w)
        right = torch.lerp(*(torch.tensor(each, dtype=torch.float64) for each in (a, b, w))).item()
        assert found == pytest.approx(right, rel=1e-12), (
            f"from {a} to {b} by {w}: the reference in your OpInfo gives {found}, PyTorch's {right}"
        )


@four
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_seen(fault: str, tmp_path: Path) -> None:
    """With your samples, tinytorch's own tests reject a kernel with this fault."""
    yours = verdict(tmp_path, FAULTS[fault])
    assert yours, f"a kernel that {fault} passes with your samples: add a sample for which it fails"


@four
@pytest.mark.parametrize("name", ["self", "end", "weight"])
def test_a_wrong_formula_is_seen(name: str, tmp_path: Path) -> None:
    """Your samples reveal a formula that returns the gradient unchanged."""
    lines = [f"  {name}: grad" if f" {name}: " in line else line for line in FORMULAS.splitlines()]
    yours = verdict(tmp_path, KERNEL, "\n".join([*lines, ""]))
    assert yours, (
        f"with {name}'s formula replaced by grad, your samples still pass, expected a failure"
    )


@pytest.fixture
def contributed(tinytorch: Callable[..., Clone]) -> Callable[[], Clone]:
    """Return a function that creates a clone and runs your `contribute`."""

    def make() -> Clone:
        clone = tinytorch()
        kata.contribute(clone.run)
        return clone

    return make


@five
def test_the_places() -> None:
    """There are five files; the kernel and the meta function share one."""
    yours = kata.places()
    expected = sorted((NATIVE, DERIVATIVES, KERNELS, OPINFO, DOCS))
    assert sorted(yours) == expected, f"yours {sorted(yours)}, expected {expected}"
    open_ended = [path for path, text in yours.items() if not text.endswith("\n")]
    assert not open_ended, f"your texts for {open_ended} do not end in a newline, expected one"
    section = re.search(r"^## lerp\n\s*([^#\s].*)", yours[DOCS], re.MULTILINE)
    assert section, (
        f"{DOCS}: yours {yours[DOCS]!r}, expected '## lerp' and a sentence about its result"
    )


@five
def test_ci_is_green(contributed: Callable[[], Clone]) -> None:
    """One commit on upstream's main, and tinytorch's own CI passes for it."""
    clone = contributed()
    log = clone.log("upstream/main..HEAD")
    assert [each.subject for each in log] == ["Add lerp"], (
        f"above upstream/main your branch has {[*map(str, log)]}, expected one commit: Add lerp"
    )
    said = clone.ci("HEAD")
    assert said == "", f"CI is red and prints\n{said}\nexpected all operators to pass"


@five
def test_what_a_reviewer_sees(contributed: Callable[[], Clone]) -> None:
    """The commit changes five files and two numbers; its branch lerp is pushed to the fork."""
    clone = contributed()
    readme = clone.show("HEAD", README)
    assert "six operators" in readme, (
        f"your {README} says {readme.splitlines()[2]!r}, expected six operators: CI checks only"
        " docs/ops.md. Where else does upstream state the number?"
    )
    expected = sorted((NATIVE, DERIVATIVES, KERNELS, OPINFO, DOCS, README))
    yours = sorted(clone.changed("HEAD"))
    assert yours == expected, f"the commit changes {yours}, expected {expected}"
    before = newest()[README].replace("five operators", "six operators")
    assert readme == before, (
        f"{README}: yours\n{readme}\nexpected only the number to change\n{before}"
    )
    assert clone.status() == "", f"your commit lacks these changes:\n{clone.status()}"
    for path, text in kata.places().items():
        before = newest()[path].replace("has 5 operators", "has 6 operators")
        assert clone.show("HEAD", path) == before + text, (
            f"{path}: yours is not the old file with your text from `places` appended once"
        )
    here = clone.git("rev-parse", "--abbrev-ref", "HEAD")
    assert here == "lerp", f"your clone is on {here}, expected branch lerp: main is upstream's"
    head, main = clone.git("rev-parse", "HEAD"), clone.git("rev-parse", "main")
    assert main == clone.git("rev-parse", "upstream/main"), "main has moved, expected a new branch"
    pushed = dict(line.split()[::-1] for line in clone.git("ls-remote", "origin").splitlines())
    assert pushed.get("refs/heads/lerp") == head, (
        f"the fork has {sorted(pushed)}, expected refs/heads/lerp with your commit: push it"
    )
    assert pushed["refs/heads/main"] == main, "the fork's main has moved, expected it to stay"
    theirs = [*clone.upstream.refs()]
    assert theirs == ["refs/heads/main"], f"upstream has {theirs}, expected main: push to your fork"


def test_without_torch() -> None:
    """Compute without torch: tinytorch has only lists of floats."""
    with forbids(kata) as fresh:
        yours = fresh.lerp_cpu([0.0, 1.0], [1.0, 3.0], [0.5, 1.0]), fresh.lerp_meta(2, 2, 2)
    assert yours == ([0.5, 3.0], 2), f"yours {yours}, expected ([0.5, 3.0], 2)"
