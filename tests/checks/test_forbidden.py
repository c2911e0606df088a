"""`forbids` catches what an exercise uses, in each way in which a watch was walked around."""

from __future__ import annotations

import importlib
import importlib.machinery
import json
import sys
import threading
import warnings
from types import ModuleType
from typing import TYPE_CHECKING
from typing import Any

import pytest

from plugins.checks.forbidden import Absent
from plugins.checks.forbidden import forbids
from plugins.checks.forbidden import place_in_exercise
from plugins.checks.forbidden import reimported
from plugins.checks.forbidden import watched_operators


if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import FrameType

torch = pytest.importorskip("torch", reason="these tests need torch")
pytestmark = pytest.mark.torch
THREAD = """
import threading
def inside(work):
    errors = []
    def run():
        try: work()
        except BaseException as error: errors.append(error)
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if errors: raise errors[0]
"""
CACHE = """
import functools
@functools.cache
def table(): return torch.ones(2)
table()
"""
COMPUTED = """
functions = torch.func
def work(): functions.__getattribute__("jac" + "rev")(torch.sin)(torch.ones(1))
"""


@pytest.fixture
def exercise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """Return a function that writes an exercise and imports it."""
    monkeypatch.syspath_prepend(tmp_path)
    name = f"exercise_{tmp_path.name}"

    def write(text: str) -> ModuleType:
        (tmp_path / f"{name}.py").write_text(f"import torch\n{text}\n")
        module = importlib.import_module(name)
        monkeypatch.setitem(sys.modules, name, module)
        return module

    return write


@pytest.mark.parametrize(
    "text",
    [
        "def answer(): return torch.ones(2)",
        "TABLE = [torch.ones(2)]\ndef answer(): return TABLE",
        f"{CACHE}\ndef answer(): return table()",
        f"{THREAD}\ndef answer(): inside(lambda: torch.ones(2))",
        "def answer(): return torch._C._VariableFunctions.ones(2)",
        "def answer(): return torch.ops.aten.ones([2])",
        "def answer(): return getattr(torch, 'o' + 'nes')(2)",
        "import importlib\ndef answer(): return importlib.import_module('torch').ones(2)",
        "import sys\ndef answer(): return sys.modules['torch'].ones(2)",
        "def answer(): return __import__('torch').ones(2)",
        "def answer():\n    import torch.nn\n    return torch.nn.Linear",
        "def answer():\n    with torch._C.DisableTorchFunction(): return torch.ones(2)",
        "import gc\ndef answer(): return [x for x in gc.get_objects()]",
        "def answer(): return eval('torch.ones(2)')",
        "import subprocess\ndef answer(): return subprocess.run(['python', '-c', 'import torch'])",
        "from os import popen\ndef answer(): return popen('python -c \"import torch\"')",
        "import plugins.kit as kit\ndef answer(): return kit.tensors()",
        "import dataclasses as d\ndef answer(): return d.sys.modules['hypothesis']",
        "import builtins\nbuiltins.table = 1\ndef answer(): return builtins.table",
        "def answer(): return open(__file__).read()",
    ],
)
def test_a_prediction_cannot_be_looked_up(exercise: Callable[[str], ModuleType], text: str) -> None:
    """At import, from a cache, in a thread, through private names, texts and modules."""
    module = exercise(text)

    with pytest.raises(AssertionError, match=r"on paper|the file uses"), forbids(module) as fresh:
        fresh.answer()


def test_a_prediction_may_name_torch(exercise: Callable[[str], ModuleType]) -> None:
    """In annotations, and in given code that nobody calls; torch is there again afterwards."""
    written = exercise(
        "from dataclasses import dataclass\n"
        "GIVEN = {'view': lambda x: x.view(torch.int32)}\n"
        "@dataclass\nclass Answer:\n    strides: tuple\n"
        "def answer() -> 'torch.Tensor': return Answer((2, 1))"
    )

    with forbids(written) as fresh:
        assert (2, 1) == fresh.answer().strides
        assert fresh is not written
    assert sys.modules["torch"] is torch
    assert sys.modules[written.__name__] is written


@pytest.mark.parametrize(
    "text",
    [
        "from torch.func import jacrev",
        "t = torch\nu = t.func\ndef answer(): return u.jacrev",
        "def answer(): return getattr(torch.func, 'jacrev')",
        "def answer(): return torch._functorch.eager_transforms.jacrev",
        "name = 'jac' + 'rev'\ndef answer(): return getattr(torch, name)",
        "from torch import func\ndef answer(): return getattr(func, 'jac' + 'rev')",
        f"{COMPUTED}\ndef answer(): work()",
        f"{COMPUTED}{THREAD}\ndef answer(): inside(work)",
        f"{COMPUTED}\nwork()",
    ],
)
def test_a_name_is_forbidden_however_it_is_had(
    exercise: Callable[[str], ModuleType], text: str
) -> None:
    """At the top of the file, by another name, by private names, computed, in a thread."""
    module = exercise(f"def answer(): pass\n{text}")

    with pytest.raises(AssertionError, match=r"jacrev|torch(\.func)?\.\?|torch\._"):  # noqa: SIM117
        with forbids(module, "torch.func.jacrev") as fresh:
            fresh.answer()


@pytest.mark.parametrize(
    "text",
    [
        "def answer(x): return x.reshape(2, 2)",
        "def answer(x): return torch.reshape(x, (2, 2))",
        "name = 're' + 'shape'\ndef answer(x): return x.__getattribute__(name)(2, 2)",
    ],
)
def test_a_method_is_forbidden_on_everything(
    exercise: Callable[[str], ModuleType], text: str
) -> None:
    """Also as a function, and by a computed name."""
    with pytest.raises(AssertionError, match=r"reshape"):  # noqa: SIM117
        with forbids(exercise(text), "torch.Tensor.reshape") as fresh:
            fresh.answer(torch.ones(4))


@pytest.mark.parametrize(
    "text",
    [
        "def answer(x): return torch.compiler.is_compiling()",
        "import re\ndef answer(x): return re.compile('a')",
        "@torch.no_grad()\ndef answer(x): return x + 1",
        "def answer(x): return torch.nn.functional.layer_norm(x, (4,))",
        "version = torch.__version__\ndef answer(x): return x.view(2, 2)",
        "def answer(x): return torch.func.hessian(lambda y: (y ** 3).sum())(x)",
        "def answer(x): return object.__new__(type('A', (), {}))",
    ],
)
def test_what_only_resembles_it_passes(exercise: Callable[[str], ModuleType], text: str) -> None:
    """A longer name, another module's, and what PyTorch itself calls further down."""
    names = ("torch.compile", "torch.Tensor.reshape", "torch.func.jacrev", "torch.utils.checkpoint")

    with forbids(exercise(text), *names) as fresh:
        fresh.answer(torch.rand(4))


def test_a_function_that_is_alike_is_another_one(
    exercise: Callable[[str], ModuleType], tmp_path: Path
) -> None:
    """A forbidden one in the same line of another file, with the same name and code."""
    text = "def twice(x): return x + x"
    (tmp_path / "forbidden_twin.py").write_text(f"import torch\n{text}\n")
    own = f"{text}\ndef answer(x): return twice(x)"
    with forbids(exercise(own), "forbidden_twin.twice") as fresh:
        assert 4 == fresh.answer(2)
    twin = importlib.import_module("forbidden_twin")
    assert fresh.twice.__code__ == twin.twice.__code__

    used = "import sys\ndef answer(x): return sys.modules['forbidden_' + 'twin'].twice(x)\n"
    with pytest.raises(AssertionError, match=r"calls forbidden_twin\.twice"):  # noqa: SIM117
        with forbids(exercise(used), "forbidden_twin.twice", allow=["sys.modules"]) as fresh:
            assert 4 == fresh.answer(2) == twin.twice(2)


def test_what_the_exercise_needs_is_allowed(exercise: Callable[[str], ModuleType]) -> None:
    """A kata that writes code runs it; and a profiler that was there is there again."""
    before = sys.getprofile()
    module = exercise("def answer():\n    exec('x = 1')\n    return torch._C")

    with forbids(module, "torch.fx", allow=("exec", "torch._")) as fresh:
        fresh.answer()
    assert before is sys.getprofile()


@pytest.mark.parametrize(
    "text",
    [
        "def answer(x): return x.softmax(0)",
        f"{THREAD}\ndef answer(x): inside(lambda: x.softmax(0))",
        "import torch.nn.functional as F\ndef answer(x): return F.softmax(x, 0)",
        "table = torch.ones(2).softmax(0)\ndef answer(x): return table",
    ],
)
def test_an_operator_is_seen_in_every_thread(
    exercise: Callable[[str], ModuleType], text: str
) -> None:
    """Under any name, and when the exercise is imported."""
    with pytest.raises(AssertionError, match="runs aten::softmax"):  # noqa: SIM117
        with forbids(exercise(text), operators=("aten::softmax",)) as fresh:
            fresh.answer(torch.ones(2))


def test_other_operators_may_run(exercise: Callable[[str], ModuleType]) -> None:
    """Torch is there, since operators are what is forbidden."""
    with forbids(exercise("def answer(x): return x.exp()"), operators=("aten::softmax",)) as fresh:
        fresh.answer(torch.ones(2))


def test_a_thread_that_was_there_before_is_watched() -> None:
    """It waits until the watch begins."""
    begin, done = threading.Event(), threading.Event()

    def work() -> None:
        begin.wait()
        torch.ones(2).exp()
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    with watched_operators() as names:
        begin.set()
        done.wait()
    thread.join()

    assert "aten::exp" in names


def test_only_a_file_can_be_imported_afresh() -> None:
    """A module that was made by hand has none."""
    with pytest.raises(AssertionError, match="was not imported from a file"):
        reimported(ModuleType("by_hand"))
    loaderless: Any = ModuleType("by_hand")
    loaderless.__spec__ = importlib.machinery.ModuleSpec("by_hand", None)
    with pytest.raises(AssertionError, match="was not imported from a file"):
        reimported(loaderless)


def test_a_module_that_was_not_imported_before_stays(
    exercise: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is no older one to put back."""
    module = exercise("x = 1\n")
    monkeypatch.delitem(sys.modules, module.__name__, raising=False)

    fresh = reimported(module)
    assert sys.modules.pop(module.__name__) is fresh


def test_the_stand_in_has_no_special_attributes() -> None:
    """What Python asks of any module is answered as a module answers."""
    assert not hasattr(Absent("torch"), "__wrapped__")


def test_a_call_by_the_library_is_one_by_its_caller() -> None:
    """Frames of Python's own library are passed over; a thread has no other caller."""
    frames: list[FrameType] = []
    json.loads("{}", object_hook=lambda _: frames.append(sys._getframe(1)))  # noqa: SLF001

    assert place_in_exercise(frames[0], __file__).startswith("test_forbidden.py:")
    assert "" == place_in_exercise(frames[0], "another.py")
    assert "in a thread" == place_in_exercise(None, "another.py")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("torch.func.jacrev", COMPUTED.strip()),
        (
            "torch.Tensor.reshape",
            "n = 're'\ndef work(): torch.ones(4).__getattribute__(n + 'shape')(4)",
        ),
    ],
)
def test_a_call_is_shown_with_its_place(
    exercise: Callable[[str], ModuleType], name: str, text: str
) -> None:
    """The function or method, and the line that calls it: for a computed name nothing else says."""
    module = exercise(text)
    called = name.rpartition(".")[2]

    with pytest.raises(AssertionError) as caught:  # noqa: SIM117
        with forbids(module, name) as fresh:
            fresh.work()
    expected = f"the exercise calls {name} ({called}, {module.__name__}.py:3): "
    assert str(caught.value).startswith(expected)


def test_what_python_has_under_a_forbidden_name_passes(
    exercise: Callable[[str], ModuleType],
) -> None:
    """Sets have `add`, dictionaries `get`, and so has something in `torch._C`."""
    text = "def answer(x):\n    set().add(1)\n    return {}.get(1), x.add(1), sum([1]), (2).real"

    with forbids(exercise(text), "torch._C", "torch.sum", allow=("torch._",)) as fresh:
        fresh.answer(torch.ones(2))


def test_only_the_exercise_warns(exercise: Callable[[str], ModuleType]) -> None:
    """By what it calls; what is looked up for the watch has deprecated names, which do not."""
    text = "import warnings\ndef work(): warnings.warn('mine', FutureWarning)"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with forbids(exercise(text), "torch.distributed") as fresh:
            fresh.work()

    assert ["mine"] == [str(each.message) for each in caught]
