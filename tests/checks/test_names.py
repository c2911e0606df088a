"""Which names a file uses, however it comes by them."""

from __future__ import annotations

import importlib
import math
import sys
import warnings
from types import ModuleType
from typing import TYPE_CHECKING
from typing import Any

import pytest

from plugins.checks.names import callables
from plugins.checks.names import forbidden_as
from plugins.checks.names import names_in
from plugins.checks.names import origin
from plugins.checks.names import resolve


if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.mark.parametrize(
    "source",
    [
        "import torch\ntorch.func.jacrev",
        "from torch.func import jacrev",
        "from torch.func import jacrev as j",
        "import torch as t\nt.func.jacrev",
        "import torch\nt = torch\nu = t.func\nu.jacrev",
        "import torch\nu = t.func\nt = torch\nu.jacrev",
        "import torch\ngetattr(torch.func, 'jacrev')",
        "import torch\ngetattr(torch.func, 'jacrev', None)",
        "import torch\nvars(torch.func)['jacrev']",
        "import torch\ntorch.func.__dict__['jacrev']",
        "from operator import attrgetter\nimport torch\nattrgetter('func.jacrev')(torch)",
        "import operator\nimport torch\noperator.attrgetter('jacrev')(torch.func)",
        "def f():\n    from torch.func import jacrev",
        "import torch\nclass A:\n    def f(self, g=torch.func.jacrev): ...",
    ],
)
def test_a_name_is_spelled_as_pytorch_spells_it(source: str) -> None:
    """Through aliases, assignments, getattr, vars and attrgetter."""
    assert "torch.func.jacrev" in names_in(source)


@pytest.mark.parametrize(
    "source",
    [
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch.fx",
        "import typing\nif typing.TYPE_CHECKING:\n    from torch import fx",
        "import torch\ndef f(x: torch.fx.Node) -> torch.fx.Graph: ...",
        "import torch\nx: torch.fx.Node = None",
        "import torch\nasync def f() -> torch.fx.Graph: ...",
        "import torch\n# torch.fx.Graph\n'torch.fx'",
    ],
)
def test_what_only_a_type_checker_reads_does_not_count(source: str) -> None:
    """Annotations, and imports for them."""
    assert not [name for name in names_in(source) if name.startswith("torch.fx")]


def test_the_other_branch_of_a_check_for_types_counts() -> None:
    """``else:`` is what runs."""
    source = (
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    a\nelse:\n    import torch.fx\n"
        "if b:\n    import c"
    )

    assert {"torch.fx", "c"} <= names_in(source)


def test_what_cannot_be_read_has_a_question_mark() -> None:
    """A computed name of torch, and attributes of anything."""
    names = names_in(
        "import torch\ngetattr(torch, name)\nf()[0].view(1)\nvars(x)\nf(1)(2)\ng(x)('a')(y)"
    )

    assert {"torch.?", "*.view"} <= names


@pytest.mark.torch
def test_names_lead_to_what_is_called() -> None:
    """Functions by their code, also behind decorators; methods of classes; builtins by name."""
    import torch  # noqa: PLC0415 - for tests that need it

    names = ("torch.func.jacrev", "torch.reshape", "torch.fx.Graph", "torch.fx.proxy", "torch.no")
    codes, builtins = callables(names)

    for name, function in (
        ("torch.func.jacrev", torch.func.jacrev),
        ("torch.fx.Graph", torch.fx.Graph.lint),
        ("torch.fx.proxy", torch.fx.proxy.Proxy.__iter__),
    ):
        code = function.__code__
        assert (code, name) == codes[id(code)]
    assert [("torch.reshape", torch.reshape, False)] == builtins["reshape"]


@pytest.mark.torch
def test_a_builtin_that_any_class_has_leads_to_no_name() -> None:
    """The deprecated class in torch.nn.parallel has a `__new__`: who makes an object calls one."""
    _, builtins = callables(("torch.nn.parallel",))

    assert "__new__" not in builtins


@pytest.mark.torch
@pytest.mark.parametrize(
    ("given", "called", "expected"),
    [
        ("torch.exp", "torch.exp", "torch.exp"),
        ("torch.exp", "torch.ones(1).exp", "torch.exp"),
        ("torch.exp", "math.exp", ""),
        ("torch.Tensor.add", "torch.add", "torch.Tensor.add"),
        ("torch.add", "set().add", ""),
        ("torch.sum", "sum", ""),
        ("builtins.open", "open", "builtins.open"),
        ("builtins", "len", "builtins"),
        ("builtins", "math.exp", ""),
        ("torch._C", "torch._C._get_tracing_state", "torch._C"),
        ("torch._C", "torch.add", ""),
        ("torch._C", "torch.ones(1).add", ""),
        ("torch._C", "set().add", ""),
        ("torch._C", "{}.get", ""),
        ("torch.Size", "torch.Size((1,)).numel", "torch.Size"),
        ("torch.Size", "torch.ones(1).numel", ""),
        ("torch.jit", "torch.jit.CompilationUnit().find_function.__func__", "torch.jit"),
    ],
)
def test_a_builtin_is_judged_by_what_it_is(given: str, called: str, expected: str) -> None:
    """Not by its name: many classes have an `add`. A function is forbidden as a method too."""
    import torch  # noqa: PLC0415 - for tests that need it

    # What a profiler is told is called, bound to what it is called on.
    function = eval(called, {"torch": torch, "math": math})  # noqa: S307
    _, found = callables((given,))

    assert expected == forbidden_as(function, found.get(function.__name__, ()))


@pytest.mark.torch
def test_a_base_class_in_python_counts() -> None:
    """Only in C has a base the methods of what everybody uses."""
    import torch  # noqa: PLC0415 - for tests that need it

    codes, _ = callables(("torch.fx.proxy",))

    assert id(torch.fx.proxy.TracerBase.create_proxy.__code__) in codes


@pytest.mark.torch
def test_a_method_belongs_to_the_class_that_defines_it() -> None:
    """A subclass in another module only inherits it, and a class has those of `type`."""
    import torch  # noqa: PLC0415 - for tests that need it

    class Fields(dict[str, int]):
        """A class of another module."""

    assert ("builtins", tuple.count) == origin(torch.Size((1,)).count)
    assert ("builtins", vars(dict)["fromkeys"]) == origin(Fields.fromkeys)
    assert ("builtins", type.mro) == origin(torch.Tensor.mro)
    assert ("math", math.exp) == origin(math.exp)


def test_a_module_is_imported_to_resolve_a_name() -> None:
    """What does not exist is None."""
    assert resolve("xml.dom.minidom.parseString") is not None
    assert resolve("xml.dom.nothing") is None


def test_class_methods_and_static_methods_are_methods() -> None:
    """As in `dict.fromkeys`, and of a class in Python."""
    codes, _ = callables(("fractions.Fraction",))

    assert "from_float" in {code.co_name for code, _ in codes.values()}


def test_functions_that_are_alike_are_two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though they stand on the same line of two files: Python calls their code equal."""
    names = ("alike_one", "alike_other")
    for name in names:
        (tmp_path / f"{name}.py").write_text("def f(x): return x\n")
    monkeypatch.syspath_prepend(tmp_path)
    one, other = map(importlib.import_module, names)
    codes, _ = callables(("alike_one.f", "alike_other.f"))

    assert one.f.__code__ == other.f.__code__
    assert ["alike_one.f", "alike_other.f"] == [name for _, name in codes.values()]


class Deprecated:
    """Warns of whatever is asked of it, as `torch.distributed.reduce_op` does."""

    def __getattribute__(self, name: str) -> Any:
        """Warn, and answer."""
        warnings.warn("deprecated", FutureWarning, stacklevel=2)
        return object.__getattribute__(self, name)


@pytest.fixture
def warned(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[warnings.WarningMessage]]:
    """Have a module `old` with deprecated names, and return what warnings are shown."""
    old: Any = ModuleType("old")
    old.thing = Deprecated()
    old.f = test_what_cannot_be_read_has_a_question_mark
    monkeypatch.setitem(sys.modules, "old", old)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield caught


def test_a_look_up_of_a_deprecated_name_does_not_warn(
    warned: list[warnings.WarningMessage],
) -> None:
    """In a module with such a name among others, or by its own name, whatever the filter."""
    codes, _ = callables(("old", "old.thing", "old.f"))
    assert ([], ["old.f"]) == (warned, [name for _, name in codes.values()])

    warnings.simplefilter("error")
    assert codes == callables(("old", "old.thing", "old.f"))[0]


@pytest.mark.torch
@pytest.mark.parametrize("name", ["torch.distributed", "torch", "torch.nn.parallel", "torch.jit"])
def test_a_look_up_in_torch_does_not_warn(name: str) -> None:
    """Katas forbid these; some of their names are deprecated."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        codes, _ = callables((name,))

    assert codes


def test_a_file_is_read_without_its_warnings() -> None:
    """Python has told of the escape already, or tells of it at the import."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "torch.fx" in names_in("import torch.fx\nx = '\\d'")
