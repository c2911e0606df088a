"""The pictures of the lectures: current, true, legible, and shown where they belong."""

from __future__ import annotations

import ast
import re
import sys
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

import pytest

from docs.pictures import DOCS
from docs.pictures import LECTURES
from docs.pictures import WITHOUT_TORCH
from docs.pictures import __main__ as command
from docs.pictures import draw
from docs.pictures import lecture16
from docs.pictures.lecture02 import PANELS
from docs.pictures.lecture02 import STORAGE
from docs.pictures.lecture02 import Panel
from katas.lecture16.conftest import exported
from katas.lecture16.conftest import session
from plugins import ROOT


if TYPE_CHECKING:
    from pathlib import Path


SVG = "{http://www.w3.org/2000/svg}"
TAGS = {"title", "desc", "style", "rect", "path", "text"}
# What a reader with weak eyes needs for text, by WCAG 2.2, 1.4.3.
CONTRAST = 4.5
MEASURED = [lecture for lecture in LECTURES if lecture not in WITHOUT_TORCH]


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours, as WCAG defines it."""
    light = sorted(map(luminance, (one, other)))
    return (light[1] + 0.05) / (light[0] + 0.05)


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour such as #fbfaf7."""
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(share * c for share, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("lecture", WITHOUT_TORCH)
def test_a_picture_is_current(lecture: str) -> None:
    """What the command draws is what is in the repository."""
    found = (DOCS / f"{lecture}.svg").read_text(encoding="utf-8")

    assert found == draw(lecture), f"docs/{lecture}.svg is stale: python -m docs.pictures"


@pytest.mark.parametrize("lecture", WITHOUT_TORCH)
def test_a_picture_needs_nothing_and_says_what_it_shows(lecture: str) -> None:
    """No script, no other file; a title and a description for those who do not see it."""
    text = draw(lecture)
    root = ET.fromstring(text)  # noqa: S314 - ours

    assert TAGS >= {element.tag.removeprefix(SVG) for element in root.iter() if element is not root}
    assert [] == re.findall(r"url\(|href|@import", text)
    assert all(len(root.findtext(f"{SVG}{tag}", "")) > 20 for tag in ("title", "desc"))


@pytest.mark.parametrize("lecture", WITHOUT_TORCH)
def test_a_picture_is_legible_in_light_and_dark(lecture: str) -> None:
    """Each colour of text stands out from each one behind it."""
    light, dark = draw(lecture).split("prefers-color-scheme: dark")
    for scheme in (light, dark):
        colours = dict(re.findall(r"--(\w+): (#\w{6});", scheme))
        pairs = [("ink", "paper"), ("pale", "paper"), ("ink", "blue"), ("ink", "gold")]
        weak = [pair for pair in pairs if contrast(*(colours[key] for key in pair)) < CONTRAST]

        assert [] == weak


@pytest.mark.parametrize("lecture", LECTURES)
def test_a_lecture_shows_its_picture(lecture: str) -> None:
    """In its README, with words that stand for it."""
    readme = ROOT / "katas" / lecture / "README.md"
    shown = re.findall(
        rf"!\[([^\]]+)\]\(\.\./\.\./docs/{lecture}\.svg\)", readme.read_text("utf-8")
    )

    assert len(shown) == 1
    assert len(shown[0]) > 40


@pytest.mark.torch
@pytest.mark.parametrize("lecture", MEASURED)
def test_a_measured_picture_is_current(lecture: str) -> None:
    """What PyTorch says today is what is in the repository."""
    found = (DOCS / f"{lecture}.svg").read_text(encoding="utf-8")

    assert found == draw(lecture), f"docs/{lecture}.svg is stale: python -m docs.pictures"


@pytest.mark.parametrize("lecture", MEASURED)
def test_a_measured_picture_has_words_and_two_schemes(lecture: str) -> None:
    """A title, a description, and a second colour for each one, none of them named elsewhere."""
    text = (DOCS / f"{lecture}.svg").read_text(encoding="utf-8")
    style, rest = text.partition("</style>")[::2]
    bright, dark = style.split("prefers-color-scheme: dark")
    root = ET.fromstring(text)  # noqa: S314 - ours

    assert re.findall(r"--\w+(?=:)", bright) == re.findall(r"--\w+(?=:)", dark)
    assert [] == re.findall(r"#[0-9a-f]{6}", rest)
    assert all(len(root.findtext(f"{SVG}{tag}", "")) > 20 for tag in ("title", "desc"))


@pytest.mark.torch
def test_the_command_draws_all(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Into the folder that it is given."""
    folder = tmp_path_factory.mktemp("docs")
    monkeypatch.setattr(sys, "argv", ["pictures", str(folder)])

    command.main()

    assert [f"{lecture}.svg" for lecture in LECTURES] == sorted(
        file.name for file in folder.iterdir()
    )


@pytest.mark.torch
@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel.code)
def test_the_tensors_are_those_of_torch(panel: Panel) -> None:
    """Sizes, strides, offset, and the place of each element, which is its value."""
    import torch  # noqa: PLC0415 - takes a second

    x = torch.arange(STORAGE).view(2, 3)
    y = eval(panel.code, {"x": x})  # noqa: S307 - ours

    assert panel.sizes == tuple(y.shape)
    assert (panel.strides, panel.offset) == (y.stride(), y.storage_offset())
    assert y.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    rows, columns = map(range, panel.sizes)
    assert y.tolist() == [[panel.place((i, j)) for j in columns] for i in rows]


@pytest.mark.torch
@pytest.mark.tool("onnx")
def test_the_onnx_picture_is_what_the_exporter_and_the_runtime_make(tmp_path: Path) -> None:
    """By the layer that each node names, and by the results that the runtime still makes."""
    import onnx  # noqa: PLC0415 - may be missing
    import onnxruntime as ort  # noqa: PLC0415 - may be missing
    import torch  # noqa: PLC0415 - takes a second
    from torch import nn  # noqa: PLC0415 - takes a second

    made = (nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout(), nn.Flatten())
    model = nn.Sequential(*made, nn.Linear(36, 4), nn.GELU(), nn.SiLU()).eval()

    program = exported(model, (torch.ones(2, 1, 5, 5),))
    file = program.model_proto.graph.node
    layers: dict[str, int] = {}
    for node in file:
        (scopes,) = [e.value for e in node.metadata_props if e.key.endswith("name_scopes")]
        layers[node.output[0]] = int(ast.literal_eval(scopes)[1])
    place = tmp_path / "optimised.onnx"
    level = ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    session(
        program.model_proto, graph_optimization_level=level, optimized_model_filepath=str(place)
    )
    run = onnx.load(place).graph.node
    drawn, kept = lecture16.FILE, [node.output[0] for node in run]

    assert [type(layer).__name__ for layer in model] == [*lecture16.LAYERS]
    assert [name for name, _ in drawn] == [node.op_type for node in file]
    # A Conv that took in a BatchNorm names the BatchNorm.
    assert [sources[-1] for _, sources in drawn] == [layers[node.output[0]] for node in file]
    assert [name for name, _ in lecture16.RUNTIME] == [node.op_type for node in run]
    ends = [file[sources[-1]].output[0] for _, sources in lecture16.RUNTIME]
    assert ends == kept
