"""Tests of k05_data_size: sizes as text, opcheck, and exported programs that run."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from expecttest import assert_expected_inline
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from katas.lecture20.k05_data_size import exported
from katas.lecture20.k05_data_size import mend
from katas.lecture20.k05_data_size import split


if TYPE_CHECKING:
    from collections.abc import Iterator


# Three in a row, of which two survive; two more on top of the first.
BOXES = torch.tensor([[4.0 * k, 0.0, 4.0 * k + 10, 10.0] for k in (0, 1, 2, 0, 0)])
SCORES = torch.tensor([0.9, 0.8, 0.7, 0.6, 0.5])
OLD = "lecture20_k05_old"


class Detector(torch.nn.Module):
    """A program whose results have three sizes."""

    def forward(self, boxes: torch.Tensor, scores: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Return the boxes kept, the indices of the others, and a number for each box."""
        kept, dropped = split(boxes, scores, 0.3)
        return boxes[kept], dropped, torch.cat([kept, dropped])


class Keeper(torch.nn.Module):
    """A program that calls the NMS of another library."""

    def __init__(self, name: str) -> None:
        """Keep the operator."""
        super().__init__()
        self.operator: Any = getattr(getattr(torch.ops, OLD), name)

    def forward(self, boxes: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Return the boxes kept."""
        return boxes[self.operator(boxes, scores, 0.3)]


def old_fake(boxes: torch.Tensor, scores: torch.Tensor, threshold: float) -> torch.Tensor:
    """Do as torchvision 0.28 does, in today's words."""
    del scores, threshold
    return boxes.new_empty(torch.library.get_ctx().new_dynamic_size(min=2), dtype=torch.int64)


@contextmanager
def old_library(name: str) -> Iterator[Keeper]:
    """Define an NMS with the old fake kernel."""
    library = torch.library.Library(OLD, "FRAGMENT")
    try:
        library.define(f"{name}(Tensor boxes, Tensor scores, float threshold) -> Tensor")
        library.impl(name, lambda *args: split(*args)[0], "CPU")
        torch.library.register_fake(f"{OLD}::{name}", old_fake, lib=library)
        yield Keeper(name)
    finally:
        library._destroy()  # noqa: SLF001 - each test defines its own


def text_of(tensor: torch.Tensor, names: dict[str, str]) -> str:
    """Return dtype and size; `names` are the symbols' names, in order of appearance."""
    sizes = []
    for size in tensor.shape:
        text = str(size)
        for symbol in re.findall(r"[su]\d+", text):
            free = [name for name in "nmpqr" if name not in names.values()]
            data = [name for name in "kljih" if name not in names.values()]
            names.setdefault(symbol, (free if symbol[0] == "s" else data)[0])
        sizes.append(re.sub(r"[su]\d+", lambda found: names[found[0]], text))
    return f"{str(tensor.dtype).removeprefix('torch.')}[{', '.join(sizes)}]"


def faked(operator: Any, device: str = "cpu", n: int = 3) -> tuple[torch.Tensor, ...]:
    """Call an operator with tensors without data."""
    with FakeTensorMode(shape_env=ShapeEnv()):
        boxes = torch.empty(n, 4, device=device)
        found = operator(boxes, torch.empty(n, device=device), 0.3)
    return found if isinstance(found, tuple) else (found,)


def texts(found: tuple[torch.Tensor, ...]) -> list[str]:
    """Return each tensor as text."""
    names: dict[str, str] = {}
    return [text_of(each, names) for each in found]


def least(program: torch.export.ExportedProgram) -> list[int]:
    """Return the lower bounds of the sizes that depend on data."""
    ranges = program.range_constraints.items()
    return [int(each.lower) for symbol, each in ranges if str(symbol).startswith("u")]


def your_program(model: Keeper | None = None) -> torch.export.ExportedProgram:
    """Export the detector, or a model, with three boxes; if export refuses, the test fails."""
    __tracebackhide__ = True
    n = torch.export.Dim("n")
    try:
        if model is None:
            return exported(Detector(), BOXES[:3], SCORES[:3])
        shapes = ({0: n}, {0: n})
        return torch.export.export(model, (BOXES[:3], SCORES[:3]), dynamic_shapes=shapes)
    except (RuntimeError, ValueError) as error:
        if isinstance(error, NotImplementedError):
            raise
        text = " ".join(str(error).split())[:300]
        raise AssertionError(
            f"the example has 3 boxes, and torch.export refuses: {text}\nExpected a program for any"
            " number. Does the fake kernel ask for a number? len(x) does, x.shape[0] does not"
        ) from None


def run(program: torch.export.ExportedProgram, *args: torch.Tensor) -> Any:
    """Run the program; if one of its assertions fails, so does the test."""
    try:
        return program.module()(*args)
    except (RuntimeError, AssertionError) as error:
        first = str(error).strip().splitlines()[0]
        raise AssertionError(
            f"yours was exported, but refuses {len(args[0])} boxes: {first}"
        ) from None


def test_three_boxes() -> None:
    """Of three boxes k are kept, and 3 - k are dropped; nobody knows k."""
    found = texts(faked(split))
    assert found == ["int64[k]", "int64[3 - k]"], (
        f"your fake kernel returns {found} for three boxes, expected int64[k] and int64[3 - k]:"
        " k is a new size, and the second result has no new size of its own"
    )


def test_the_device_is_that_of_the_boxes() -> None:
    """Opcheck has only CPU tensors here, and does not see this."""
    for found in faked(split, "meta"):
        assert found.device.type == "meta", (
            f"boxes on the meta device: one of your results is on {found.device}, expected meta"
        )


def test_opcheck() -> None:
    """Schema, fake tensors and AOTDispatch agree with the operator, for five boxes and for none."""
    faked(split)
    from torch.testing._internal.optests import OpCheckError  # type: ignore[attr-defined]  # noqa: PLC0415 - imports dynamo

    for boxes, scores in ((BOXES, SCORES), (BOXES[:0], SCORES[:0])):
        try:
            torch.library.opcheck(split, (boxes, scores, 0.3))
        except OpCheckError as error:
            first = str(error).splitlines()[0]
            hint = "; has your size a bound, which 0 kept boxes break?" * (not len(boxes))
            raise AssertionError(f"{len(boxes)} boxes: opcheck says: {first}{hint}") from None


def test_the_sizes_of_an_exported_program() -> None:
    """The results: boxes kept, indices dropped, and one number for each box."""
    program = your_program()
    results = next(node.args[0] for node in program.graph.nodes if node.op == "output")
    names: dict[str, str] = {}
    inputs = [node.meta["val"] for node in program.graph.nodes if node.op == "placeholder"]
    lines = [f"in   {text_of(each, names)}" for each in inputs]
    lines += [f"out  {text_of(node.meta['val'], names)}" for node in results]
    assert_expected_inline(
        "\n".join(lines),
        """\
in   float32[n, 4]
in   float32[n]
out  float32[k, 4]
out  int64[n - k]
out  int64[n]""",
    )


def test_any_number_of_boxes() -> None:
    """Exported once, run for 5, 1 and 0 boxes, of which 2, 1 and 0 survive."""
    program = your_program()
    for n in (5, 3, 2, 1, 0):
        yours = run(program, BOXES[:n], SCORES[:n])
        right = Detector()(BOXES[:n], SCORES[:n])
        for mine, expected in zip(yours, right, strict=True):
            assert mine.equal(expected), f"{n} boxes: yours {mine}, expected {expected}"


def test_any_number_survives() -> None:
    """One of three equal boxes survives: the program has not assumed that more do."""
    program = your_program()
    assert least(program) == [0], (
        f"the lower bounds of your program's data-dependent sizes are {least(program)}, expected"
        " one size, with lower bound 0"
    )
    kept, dropped, _ = run(program, BOXES[[0, 3, 4]], SCORES[:3])
    assert (len(kept), dropped.tolist()) == (1, [1, 2]), (
        f"three equal boxes: your program keeps {len(kept)} and drops {dropped.tolist()},"
        " expected 1 and [1, 2]"
    )


@pytest.mark.given
def test_the_old_fake_kernel_refuses_one_survivor() -> None:
    """With min=2 the program is exported silently, and fails when it runs."""
    with old_library("refusing") as model:
        n = torch.export.Dim("n")
        shapes = ({0: n}, {0: n})
        program = torch.export.export(model, (BOXES[:3], SCORES[:3]), dynamic_shapes=shapes)
        assert len(program.module()(BOXES, SCORES)) == 2, (
            "the old fake kernel should accept two survivors"
        )
        with pytest.raises(RuntimeError, match=r">= 2"):
            program.module()(BOXES[:2], SCORES[:2])


def test_what_a_mended_operator_returns() -> None:
    """int64 [k], on the device of the boxes; another operator keeps its own fake kernel."""
    with old_library("asked") as model, old_library("other"):
        mend(f"{OLD}::asked")
        for device in ("cpu", "meta"):
            found = faked(model.operator, device)
            assert texts(found) == ["int64[k]"], f"yours {texts(found)}, expected ['int64[k]']"
            assert found[0].device.type == device, (
                f"boxes on device {device}: your result is on {found[0].device}"
            )


def test_a_mended_operator() -> None:
    """With one survivor or none the program runs, and so does the operator itself."""
    with old_library("mended") as model:
        before = model(BOXES, SCORES)
        mend(f"{OLD}::mended")
        program = your_program(model)
        assert least(program) == [0], (
            f"after `mend` the size begins at {least(program)}, expected 0: whose fake kernel ran?"
        )
        for n_boxes in (5, 2, 1, 0):
            yours = run(program, BOXES[:n_boxes], SCORES[:n_boxes])
            assert yours.equal(model(BOXES[:n_boxes], SCORES[:n_boxes])), (
                f"{n_boxes} boxes: the exported program keeps {len(yours)}, but the operator itself"
                " keeps different ones"
            )
        assert before.equal(model(BOXES, SCORES)), "`mend` changed what the operator computes"
