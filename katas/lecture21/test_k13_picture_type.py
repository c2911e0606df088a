"""Tests of k13_picture_type: which results are pictures, and which kernel is called."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from expecttest import assert_expected_inline
from torch import nn

from katas.lecture21.k13_picture_type import KERNELS
from katas.lecture21.k13_picture_type import Boxes
from katas.lecture21.k13_picture_type import Image
from katas.lecture21.k13_picture_type import Mask
from katas.lecture21.k13_picture_type import Picture
from katas.lecture21.k13_picture_type import dispatch
from katas.lecture21.k13_picture_type import flip_boxes
from katas.lecture21.k13_picture_type import hflip
from katas.lecture21.k13_picture_type import kernel
from katas.lecture21.k13_picture_type import register
from katas.lecture21.k13_picture_type import wrap
from plugins.kit import unchanged


def numbers(*size: int) -> torch.Tensor:
    """Return irrational float64 values."""
    dice = torch.Generator().manual_seed(sum(size))
    return torch.randn(*size, dtype=torch.float64, generator=dice)


def boxes() -> Picture:
    """Return two boxes in a canvas of 4 x 7."""
    return Boxes(torch.tensor([[0.0, 1.0, 2.0, 4.0], [3.5, 0.0, 7.0, 1.5]]), canvas=(4, 7))


def kind(value: Any) -> str:
    """Return the name of the class."""
    return type(value).__name__


def same(yours: Any, expected: Any, why: str) -> None:
    """Compare two values, and name both."""
    __tracebackhide__ = True
    assert yours == expected, f"{why}: yours is {yours}, expected {expected}"


@pytest.fixture(autouse=True)
def registry() -> Any:
    """Empty the registry, and restore it afterwards."""
    before = {function: dict(table) for function, table in KERNELS.items()}
    KERNELS.clear()
    yield
    KERNELS.clear()
    KERNELS.update(before)


def test_wrap() -> None:
    """The class and the attributes are those of `like`; storage is shared."""
    like, plain = boxes(), torch.ones(3, 4)
    yours = wrap(plain, like)

    same(kind(yours), "Boxes", "a tensor like boxes")
    same(vars(yours), {"canvas": (4, 7)}, "its attributes")
    same(yours.data_ptr(), plain.data_ptr(), "its storage: nothing is copied")
    same(vars(plain), {}, "attributes of the tensor that was wrapped")
    vars(yours)["canvas"] = (1, 1)
    same(vars(like), {"canvas": (4, 7)}, "attributes of the other, after yours got another canvas")
    assert wrap(like, like) is like, (
        "wrap(like, like) returns a different object, expected like itself"
    )


def test_image_plus_1_is_a_tensor() -> None:
    """The sum is a plain tensor, but a clone of the image is an image."""
    image = Image(numbers(3, 2, 4))
    with unchanged(image=image):
        yours = image + 1

    same(kind(yours), "Tensor", "image + 1")
    same(kind(image.clone()), "Image", "image.clone()")
    same(image.sum(dim=1).shape, (3, 4), "the shape of image.sum(dim=1), which has a keyword")
    same(image.to(dtype=torch.int8).dtype, torch.int8, "the dtype of image.to(dtype=int8)")
    assert torch.equal(yours, numbers(3, 2, 4) + 1), "image + 1 has the wrong values"


def test_which_results_are_pictures() -> None:
    """Only what `clone`, `to` and `detach` return; not what functions make of several pictures."""
    image, mask, plain = Image(numbers(2, 3)), Mask(numbers(2, 3) > 0), torch.ones(2, 3)
    row, places = Image(torch.zeros(2)), torch.zeros(2).long()
    results: dict[str, Any] = {
        "image + 1": image + 1,
        "1 - image": 1 - image,
        "image * mask": image * mask,
        "image[0]": image[0],
        "image.clone()": image.clone(),
        "image.float()": image.float(),
        "image.to(float32)": image.to(torch.float32),
        "image.to(dtype=float64)": image.to(dtype=torch.float64),
        "image.detach()": image.detach(),
        "mask.to(image)": mask.to(image),
        "plain.to(image)": plain.to(image),
        "parameter.to(image)": nn.Parameter(plain).to(image),
        "plain + image": plain + image,
        "stack([image])": torch.stack([image]),
        "broadcast_tensors": torch.broadcast_tensors(image, plain)[0],
        "max(out=(row, places))": torch.max(plain, 1, out=(row, places))[0],
        "image.sort().values": image.sort().values,
        "image.mul_(2)": image.mul_(2),
        "add(plain, 1, out=image)": torch.add(plain, 1, out=image),
        "image.sum()": image.sum(),
        "image.shape": image.shape,
    }
    text = "\n".join(f"{name:26}{kind(value)}" for name, value in results.items()) + "\n"
    assert_expected_inline(
        text,
        """\
image + 1                 Tensor
1 - image                 Tensor
image * mask              Tensor
image[0]                  Tensor
image.clone()             Image
image.float()             Tensor
image.to(float32)         Image
image.to(dtype=float64)   Image
image.detach()            Image
mask.to(image)            Mask
plain.to(image)           Tensor
parameter.to(image)       Tensor
plain + image             Tensor
stack([image])            Tensor
broadcast_tensors         Tensor
max(out=(row, places))    Tensor
image.sort().values       Tensor
image.mul_(2)             Tensor
add(plain, 1, out=image)  Tensor
image.sum()               Tensor
image.shape               Size
""",
    )


def test_attributes_stay() -> None:
    """A clone keeps the canvas too, even in a subclass."""

    class Faces(Boxes):
        """Boxes of faces."""

    faces = Faces(torch.zeros(2, 4), canvas=(3, 5))
    moved = faces.to(torch.float64).clone()

    same((kind(moved), vars(moved)), ("Faces", {"canvas": (3, 5)}), "faces.to(float64).clone()")
    mixed = boxes().to(faces)
    same((kind(mixed), vars(mixed)), ("Boxes", {"canvas": (4, 7)}), "boxes.to(faces)")


def test_a_leaf_stays_a_leaf() -> None:
    """A method that returns the picture itself still does; its gradient arrives."""
    image = Image(numbers(2, 3))
    asked = image.requires_grad_()
    assert asked is image, "image.requires_grad_() returns a different object, expected image"
    assert asked.to(torch.float64) is image, (
        "image.to(float64) returns a different object, though image is float64"
    )
    assert asked.is_leaf, "image.requires_grad_() is no longer a leaf: it was turned into a view"
    (asked * 3).sum().backward()
    assert image.grad is not None, "image has no gradient after backward"
    same(image.grad.tolist(), [[3.0] * 3] * 2, "the gradient of the sum of 3 * image")


def test_a_kernel_for_each_class() -> None:
    """The decorator returns the kernel; it is found by function and class."""

    def turn(picture: Any) -> Any:
        return dispatch(turn, picture)

    def grow(picture: Any, factor: float) -> Any:
        return dispatch(grow, picture, factor)

    @kernel(turn, Image)
    def turn_image(pixels: torch.Tensor) -> torch.Tensor:
        return pixels.mT

    kernel(turn, Mask)(lambda pixels: pixels * 0)
    kernel(grow, Image)(lambda pixels, factor: pixels * factor)
    image = Image(numbers(2, 3))

    same(turn_image(torch.ones(2, 3)).shape, (3, 2), "a decorated kernel, called directly")
    assert KERNELS[turn][Image] is turn_image, "KERNELS[turn][Image] is not the registered kernel"
    with unchanged(image=image):
        turned, grown = turn(image), grow(image, 2.5)
    same((kind(turned), kind(grown)), ("Image", "Image"), "results for an image")
    same(turned.tolist(), numbers(2, 3).mT.tolist(), "turn of an image: the kernel of Mask gives 0")
    same(grown.tolist(), (numbers(2, 3) * 2.5).tolist(), "grow with another argument")


def test_kernels_see_plain_tensors() -> None:
    """Kernels get attributes by keyword, and their results are wrapped."""
    seen = list[Any]()

    def look(picture: Any) -> Any:
        return dispatch(look, picture)

    def look_boxes(corners: torch.Tensor, **attributes: Any) -> torch.Tensor:
        seen.append((kind(corners), attributes))
        return corners

    kernel(look, Boxes)(look_boxes)
    mine = boxes()
    with unchanged(mine=mine):
        yours = look(mine)
    same(seen, [("Tensor", {"canvas": (4, 7)})], "class and attributes that the kernel saw")
    same((kind(yours), vars(yours)), ("Boxes", {"canvas": (4, 7)}), "the result")
    same(kind(mine), "Boxes", "the picture, after the call")


def test_the_nearest_base_class() -> None:
    """A subclass of Boxes has the kernel of Boxes until it has its own."""

    class Faces(Boxes):
        """Boxes of faces."""

    def name(picture: Any) -> Any:
        return dispatch(name, picture)

    faces = Faces(torch.zeros(2, 4), canvas=(3, 5))
    kernel(name, Boxes)(lambda corners, **_: corners + 1)
    first = name(faces)
    kernel(name, Faces)(lambda corners, **_: corners + 2)
    second, other = name(faces), name(boxes())

    same((kind(first), first[0, 0].item()), ("Faces", 1.0), "the kernel of Boxes, for Faces")
    same((kind(second), second[0, 0].item()), ("Faces", 2.0), "the kernel of Faces, for Faces")
    same(kind(other), "Boxes", "the kernel of Boxes, for Boxes")
    assert torch.equal(other, boxes() + 1), "Boxes got the kernel of Faces, expected their own"
    kernel(name, Picture)(lambda x, **_: x + 3)
    for picture, step in ((Image(torch.zeros(2)), 3), (Mask(torch.zeros(2)), 3), (faces, 2)):
        yours = name(picture)
        seen = (kind(yours), yours.flatten()[0].item())
        why = f"Picture has a kernel that adds 3, Faces one that adds 2; {kind(picture)} of 0"
        same(seen, (kind(picture), step), why)


def test_plain_tensors_and_pictures_without_a_kernel() -> None:
    """The kernel of torch.Tensor takes tensors and parameters, not pictures."""

    def half(picture: Any) -> Any:
        return dispatch(half, picture)

    def grow(picture: Any) -> Any:
        return dispatch(grow, picture)

    kernel(half, torch.Tensor)(lambda x: x / 2)
    same(kind(half(torch.ones(2))), "Tensor", "half of a tensor")
    same(half(nn.Parameter(torch.ones(2))).tolist(), [0.5, 0.5], "half of a parameter")
    noted: Any = torch.ones(2)
    noted.note = "mine"
    same(half(noted).tolist(), [0.5, 0.5], "half of a tensor with an attribute")
    for picture in (Image(torch.ones(2, 2)), boxes()):
        with pytest.raises(TypeError, match=r"half|kernel|Image|Boxes"):
            half(picture)
    with pytest.raises(TypeError, match=r"hflip|kernel|Image"):
        dispatch(hflip, Image(torch.ones(2, 2)))
    kernel(grow, Picture)(lambda x: x)
    with pytest.raises(TypeError, match=r"grow|kernel|Tensor"):
        grow(torch.ones(2))


def test_flip_boxes() -> None:
    """In a canvas 7 wide, x from 0 to 2 becomes 5 to 7; y stays."""
    corners = boxes().as_subclass(torch.Tensor)
    with unchanged(corners=corners):
        yours = flip_boxes(corners, canvas=(4, 7))
    right = [[5.0, 1.0, 7.0, 4.0], [0.0, 0.0, 3.5, 1.5]]
    same(yours.tolist(), right, "two boxes in a canvas of height 4 and width 7")
    nested = flip_boxes(corners.view(2, 1, 4), canvas=(4, 7))
    same(nested.tolist(), [[row] for row in right], "boxes of [2, 1, 4]")


def test_hflip() -> None:
    """One function flips images, masks, boxes and tensors; two flips cancel."""
    register()
    pictures = [Image(numbers(3, 2, 4)), Mask(numbers(2, 4) > 0), boxes(), numbers(2, 3)]
    for picture in pictures:
        with unchanged(picture=picture):
            once = hflip(picture)
            twice = hflip(once)
        name = kind(picture)
        same((kind(once), kind(twice)), (name, name), f"hflip of {name}, once and twice")
        same(vars(once), vars(picture), f"attributes of a flipped {name}")
        assert not torch.equal(once, picture), f"{name} is not flipped"
        assert torch.equal(twice, picture), f"{name}: two flips differ from none"
    image = Image(numbers(2, 3)).requires_grad_()
    (hflip(image) * torch.arange(3)).sum().backward()
    grad: Any = image.grad
    assert grad is not None, "no gradient came back through hflip: is the picture detached?"
    same(grad.tolist(), [[2.0, 1.0, 0.0]] * 2, "the gradient through hflip")


@pytest.mark.backend("torchvision")
def test_torchvision_agrees() -> None:
    """In torchvision the same results are images, and boxes flip alike."""
    register()
    yours = hflip(boxes())
    from torchvision import tv_tensors  # noqa: PLC0415 - may be missing
    from torchvision.transforms.v2 import functional  # noqa: PLC0415

    theirs = tv_tensors.BoundingBoxes(  # type: ignore[call-overload,unused-ignore]
        boxes().as_subclass(torch.Tensor), format="XYXY", canvas_size=(4, 7)
    )
    same(yours.tolist(), functional.horizontal_flip(theirs).tolist(), "two boxes, flipped")
    mine, other = Image(numbers(2, 3)), tv_tensors.Image(numbers(2, 3))
    calls: dict[str, Any] = {
        "x + 1": lambda x: x + 1,
        "x.clone()": lambda x: x.clone(),
        "x.to(float32)": lambda x: x.to(torch.float32),
        "x.detach()": lambda x: x.detach(),
        "x.mul_(2)": lambda x: x.mul_(2),
        "x.unbind()[0]": lambda x: x.unbind()[0],
        "ones.to(x)": lambda x: torch.ones(2).to(x),
    }
    for name, call in calls.items():
        same(kind(call(mine)), kind(call(other)), f"{name} of an image, beside torchvision's")
