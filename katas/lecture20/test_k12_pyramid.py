"""Tests of k12_pyramid: sides of boxes, maps of a few pixels, and a small classifier to cut."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from expecttest import assert_expected_inline
from torch import nn

from katas.lecture20.k12_pyramid import cut
from katas.lecture20.k12_pyramid import level
from katas.lecture20.k12_pyramid import pyramid
from plugins.kit import graph_text
from plugins.kit import unchanged


def numbers(*size: int, seed: int = 0) -> torch.Tensor:
    """Return irrational float64 values."""
    dice = torch.Generator().manual_seed(1000 * seed + sum(size))
    return torch.randn(*size, dtype=torch.float64, generator=dice)


def close(yours: Any, expected: torch.Tensor, why: str) -> None:
    """Compare maps to twelve digits."""
    __tracebackhide__ = True
    assert isinstance(yours, torch.Tensor), (
        f"{why}: your result is a {type(yours).__name__}, expected a tensor"
    )
    torch.testing.assert_close(
        yours,
        expected,
        rtol=1e-12,
        atol=1e-12,
        msg=lambda text: (
            f"{why}\nyours {[*yours.shape]}, {yours.dtype}; expected {[*expected.shape]},"
            f" {expected.dtype}\n{text}"
        ),
    )


def levels(boxes: torch.Tensor, low: int, high: int, expected: list[int], why: str) -> None:
    """Compare the indices of boxes."""
    __tracebackhide__ = True
    with unchanged(boxes=boxes):
        yours = level(boxes, low, high)
    assert yours.dtype == torch.int64, f"yours has dtype {yours.dtype}, expected int64: an index"
    assert yours.tolist() == expected, f"{why}: yours {yours.tolist()}, expected {expected}"


def boxes_of(sides: list[tuple[float, float]], dtype: torch.dtype) -> torch.Tensor:
    """Return boxes of these widths and heights, each somewhere else."""
    return torch.tensor([[3.0, 5.0, 3 + w, 5 + h] for w, h in sides], dtype=dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_levels_step_at_powers_of_two(dtype: torch.dtype) -> None:
    """The next level begins at exactly 112, 224 and 448 pixels."""
    sides = [111.9, 112.0, 223.9, 224.0, 447.9, 448.0]
    boxes = boxes_of([(side, side) for side in sides], dtype)
    levels(boxes, 2, 5, [0, 1, 1, 2, 2, 3], f"squares of {sides} pixels, levels 2 to 5")
    levels(boxes, 1, 6, [1, 2, 2, 3, 3, 4], f"squares of {sides} pixels, levels 1 to 6")


def test_the_area_decides() -> None:
    """Half as wide and twice as high is the same level."""
    boxes = boxes_of([(112.0, 448.0), (896.0, 56.0), (224.0, 112.0)], torch.float32)
    why = "112 x 448 and 896 x 56 have the area of 224 x 224, 224 x 112 has half of it"
    levels(boxes, 2, 5, [2, 2, 1], why)


def test_levels_that_do_not_exist() -> None:
    """Tiny boxes read the finest map, huge ones the coarsest; no area has log2 -inf."""
    boxes = boxes_of([(0.0, 9.0), (0.0, 0.0), (20.0, 20.0), (9000.0, 9000.0)], torch.float32)
    levels(boxes, 2, 5, [0, 0, 0, 3], "no area, no area, 20 and 9000 pixels; levels 2 to 5")
    levels(boxes, 3, 4, [0, 0, 0, 1], "no area, no area, 20 and 9000 pixels; levels 3 and 4")
    levels(torch.empty(0, 4), 2, 5, [], "no boxes")


def test_a_rounded_box_stays_on_its_level() -> None:
    """In float32 some x + 224 - x is 223.99997: without the 1e-6 that is level 3."""
    start = torch.arange(300.3, 500.0, 7.01)
    boxes = torch.stack([start, start, start + 224, start + 224], 1)
    less = boxes[boxes[:, 2] - boxes[:, 0] < 224]
    assert len(less) > 0, "none of these boxes was rounded down"
    sides = {(box[2] - box[0]).item() for box in less}
    levels(less, 2, 5, [2] * len(less), f"boxes of 224 pixels that float32 makes {sorted(sides)}")


def test_one_map() -> None:
    """Nothing comes from above: lateral, then smooth."""
    x, lateral, smooth = numbers(1, 3, 4, 5), nn.Conv2d(3, 2, 1), nn.Conv2d(2, 2, 3, padding=1)
    lateral, smooth = lateral.double(), smooth.double()
    yours = pyramid([x], [lateral], [smooth])
    assert len(yours) == 1, f"`pyramid` returned {len(yours)} maps for one, expected one"
    close(yours[0], smooth(lateral(x)), "smooth(lateral(x))")


def test_what_comes_down() -> None:
    """Each pixel of the coarse map is added to four of the fine one, which is first."""
    fine, coarse = torch.zeros(1, 1, 4, 4), torch.tensor([[1.0, 2.0], [3.0, 4.0]])[None, None]
    nothing = nn.Identity()
    with unchanged(fine=fine, coarse=coarse):
        yours = pyramid([fine, coarse], [nothing, nothing], [nothing, nothing])
    shapes = [[*y.shape] for y in yours]
    assert shapes == [[1, 1, 4, 4], [1, 1, 2, 2]], (
        f"maps of 4 and 2 pixels: your shapes are {shapes}, expected [1, 1, 4, 4], [1, 1, 2, 2]"
    )
    expected = coarse.repeat_interleave(2, 2).repeat_interleave(2, 3)
    close(yours[0], expected, "a map of zeros, with the coarse map added")
    close(yours[1], coarse, "nothing is added to the coarsest map")


def test_what_is_smoothed_stays() -> None:
    """The merged map goes down, not the smoothed one."""
    maps = [numbers(1, 2, size, size) for size in (8, 4, 2)]
    same, ten = nn.Identity(), lambda x: 10 * x
    yours = pyramid(maps, [same] * 3, [ten] * 3)
    whole = maps[0] + maps[1].repeat_interleave(2, 2).repeat_interleave(2, 3)
    whole = whole + maps[2].repeat_interleave(4, 2).repeat_interleave(4, 3)
    close(yours[0], 10 * whole, "three maps; each is smoothed once, by a factor of 10")


def test_odd_sizes() -> None:
    """A stride of 2 turns 7 pixels into 4, and 3 into 2: twice 4 is not 7."""
    maps = [numbers(2, 1, 7, 5), numbers(2, 1, 4, 3), numbers(2, 1, 2, 2)]
    lateral = [lambda x, k=k: k * x for k in (2, 3, 5)]
    smooth = [lambda x, k=k: x + k for k in (100, 200, 300)]
    with unchanged(maps=maps):
        yours = pyramid(maps, lateral, smooth)
    middle = 3 * maps[1] + 5 * nn.functional.interpolate(maps[2], size=(4, 3))
    finest = 2 * maps[0] + nn.functional.interpolate(middle, size=(7, 5))
    close(yours[2], 5 * maps[2] + 300, "the coarsest, with the last layers of both lists")
    close(yours[1], middle + 200, "the middle one, 4 x 3 pixels")
    close(yours[0], finest + 100, "the finest, 7 x 5 pixels")


class Classifier(nn.Module):
    """A backbone with levels, one of them inside another module, and a head."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.stem = nn.Conv2d(1, 2, 3, padding=1)
        self.layer1 = nn.Sequential(nn.Conv2d(2, 3, 3, 2, 1), nn.ReLU())
        self.body = nn.Sequential(nn.Sequential(nn.Conv2d(3, 4, 3, 2, 1), nn.Tanh()))
        self.layer3 = nn.Sequential(nn.Conv2d(4, 5, 3, 2, 1), nn.Sigmoid())
        self.fc = nn.Linear(5, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return logits."""
        x = self.layer3(self.body(self.layer1(self.stem(x) * 2)))
        logits: torch.Tensor = self.fc(x.mean((2, 3)).relu())
        return logits


def seen(model: nn.Module, names: list[str], x: torch.Tensor) -> dict[str, torch.Tensor]:
    """Return the outputs that forward hooks see."""
    kept: dict[str, torch.Tensor] = {}
    handles = [
        model.get_submodule(name).register_forward_hook(
            lambda _m, _inputs, out, name=name: kept.update({name: out.detach().clone()})
        )
        for name in names
    ]
    model(x)
    for handle in handles:
        handle.remove()
    return kept


NAMES = ["layer1", "body.0"]


def test_cut_returns_levels_by_name() -> None:
    """The outputs are those that hooks see, in the order of the names."""
    model, x = Classifier().double(), numbers(2, 1, 9, 7)
    for names in (NAMES, NAMES[::-1], ["layer3"]):
        yours, right = cut(model, names)(x), seen(model, names, x)
        assert isinstance(yours, dict), f"expected a dict, found a {type(yours).__name__}"
        assert [*yours] == names, f"your dict has the keys {[*yours]}, expected {names}, in order"
        for name in names:
            close(yours[name].detach(), right[name], f"{name}, of {names}")


def test_the_head_is_dropped() -> None:
    """Layers that no level needs are not in the module, and so in no optimizer or checkpoint."""
    yours = {name for name, _ in cut(Classifier(), NAMES).named_parameters()}
    needed = {"stem", "layer1.0", "body.0.0"}
    expected = {f"{layer}.{kind}" for layer in needed for kind in ("weight", "bias")}
    assert yours == expected, (
        f"not needed: {sorted(yours - expected)}; missing: {sorted(expected - yours)}"
    )


def test_the_graph_that_is_left() -> None:
    """The graph contains no layer3, and neither mean, relu nor fc."""
    assert_expected_inline(
        graph_text(cut(Classifier(), NAMES).graph),
        """\
x = input
stem = self.stem(x)
mul = operator.mul(stem, 2)
layer1 = self.layer1(mul)
body_0 = self.body.0(layer1)
return {'layer1': layer1, 'body.0': body_0}""",
    )


def test_the_model_stays() -> None:
    """The model keeps all its layers, returns logits, and shares layers with the cut module."""
    model, x = Classifier().double(), numbers(1, 1, 8, 8)
    before, layers = model(x).detach(), [name for name, _ in model.named_modules()]
    with unchanged(model):
        mine = cut(model, NAMES)
    assert [name for name, _ in model.named_modules()] == layers, "the model's layers have changed"
    close(model(x).detach(), before, "the model's logits after the cut")
    shared = mine.get_submodule("stem").weight is model.stem.weight
    assert shared, "your module has a copy of a layer, expected the layer itself"


def test_gradients_reach_the_backbone() -> None:
    """Gradients pass through the pyramid and the cut: this is how a detector is trained."""
    model = Classifier().double()
    maps = cut(model, NAMES)(numbers(1, 1, 9, 9))
    lateral = [nn.Conv2d(c, 2, 1).double() for c in (3, 4)]
    finest = pyramid([*maps.values()], lateral, [nn.Identity()] * 2)[0]
    finest.square().sum().backward()
    missing = [
        name for name in ("stem", "body.0.0") if model.get_submodule(name).weight.grad is None
    ]
    assert not missing, f"{missing} got no gradient, but the finest map depends on all levels"
    assert model.fc.weight.grad is None, "the head has a gradient, but no level depends on it"


@pytest.mark.backend("torchvision")
def test_torchvision_agrees() -> None:
    """The pyramid of torchvision with the same weights, its extractor and its level mapper."""
    from torchvision.models.feature_extraction import create_feature_extractor  # noqa: PLC0415
    from torchvision.ops import FeaturePyramidNetwork  # noqa: PLC0415 - may be missing
    from torchvision.ops.poolers import LevelMapper  # noqa: PLC0415

    torch.manual_seed(0)
    model, x = Classifier().double(), numbers(2, 1, 21, 13)
    maps = cut(model, ["layer1", "body.0", "layer3"])(x)
    extractor = create_feature_extractor(model, {"layer1": "layer1", "body": "body.0"})
    for name, value in extractor(x).items():
        close(maps["body.0" if name == "body" else name], value, f"the extractor's {name}")
    theirs = FeaturePyramidNetwork([3, 4, 5], 6).double()
    lateral, smooth = [*theirs.inner_blocks], [*theirs.layer_blocks]
    yours = pyramid([*maps.values()], lateral, smooth)
    for mine, (name, value) in zip(yours, theirs(maps).items(), strict=True):
        close(mine, value, f"torchvision's pyramid, {name}")
    boxes = boxes_of([(3.0**k, 2.0**k * 7) for k in range(8)], torch.float32)
    expected = LevelMapper(2, 5)([boxes])
    close(level(boxes, 2, 5), expected, "torchvision's LevelMapper")
