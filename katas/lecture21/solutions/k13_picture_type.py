"""A picture that knows what it is."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any
from typing import TypeVar

import torch
from torch._C import DisableTorchFunctionSubclass
from torch.utils._pytree import tree_map_only


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Collection

T = TypeVar("T", bound="Callable[..., torch.Tensor]")
# The methods that return the same kind of picture as the one they were called on.
KEEPS = frozenset(
    [
        torch.Tensor.clone,
        torch.Tensor.to,
        torch.Tensor.detach,
        torch.Tensor.requires_grad_,
    ]
)
# For each function, the kernel of each class.
KERNELS: dict[Callable[..., Any], dict[type, Callable[..., torch.Tensor]]] = {}


class Picture(torch.Tensor):
    """A tensor with attributes, such as the canvas of boxes."""

    def __new__(cls, data: torch.Tensor, **attributes: object) -> Picture:  # noqa: PYI034
        """Return the data as this class, with attributes (given)."""
        picture = data.as_subclass(cls)
        vars(picture).update(attributes)
        return picture

    def __init__(self, data: torch.Tensor, **attributes: object) -> None:
        """Do nothing: __new__ has done everything (given)."""

    @classmethod
    def __torch_function__(
        cls,
        func: Callable[..., Any],
        types: Collection[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Call func; wrap its result if func is in KEEPS and its first argument is a picture.

        Otherwise no result is a picture, not even from functions that return several tensors or
        write in place. Return a result that is not a tensor, such as a shape, unchanged.
        """
        with DisableTorchFunctionSubclass():
            result = func(*args, **kwargs or {})
        if func in KEEPS and isinstance(args[0], Picture):
            return wrap(result, args[0])
        plain = tree_map_only(Picture, lambda x: x.as_subclass(torch.Tensor), result)
        return result if isinstance(result, torch.Size) else plain


class Image(Picture):
    """Pixels, [..., height, width]."""


class Mask(Picture):
    """A number for each pixel, [..., height, width]."""


class Boxes(Picture):
    """Corners x1, y1, x2, y2 in the last dim; their `canvas` is (height, width)."""


def wrap(result: torch.Tensor, like: Picture) -> torch.Tensor:
    """Return result as a picture of like's class, with like's attributes.

    If the result is `like`, return `like` itself.
    """
    if result is like:
        return like
    picture = result.as_subclass(type(like))
    vars(picture).update(vars(like))
    return picture


def kernel(function: Callable[..., Any], kind: type) -> Callable[[T], T]:
    """Return a decorator that stores a kernel in KERNELS, and returns it unchanged."""

    def enter(entered: T) -> T:
        KERNELS.setdefault(function, {})[kind] = entered
        return entered

    return enter


def dispatch(function: Callable[..., Any], picture: torch.Tensor, *args: Any) -> torch.Tensor:
    """Call the kernel of the picture's class, or else of its nearest base class.

    A kernel takes a plain tensor, args, and the attributes of a picture as keyword arguments. For a
    picture, the result is wrapped like the picture. A kernel for Picture serves every picture; one
    for torch.Tensor serves only plain tensors. Where no kernel is found, raise TypeError.
    """
    for kind in type(picture).__mro__:
        if kind is torch.Tensor and isinstance(picture, Picture):
            break
        if found := KERNELS.get(function, {}).get(kind):
            if not isinstance(picture, Picture):
                return found(picture, *args)
            return wrap(found(picture.as_subclass(torch.Tensor), *args, **vars(picture)), picture)
    raise TypeError(f"{function.__name__} has no kernel for {type(picture).__name__}")


def hflip(picture: torch.Tensor) -> torch.Tensor:
    """Flip left and right (given)."""
    return dispatch(hflip, picture)


def flip_pixels(pixels: torch.Tensor) -> torch.Tensor:
    """Flip the last dim: the kernel for images, masks and plain tensors (given)."""
    return pixels.flip(-1)


def flip_boxes(boxes: torch.Tensor, *, canvas: tuple[int, int]) -> torch.Tensor:
    """Return the corners in the mirrored canvas; x1 <= x2 must still hold where it did."""
    x1, y1, x2, y2 = boxes.unbind(-1)
    return torch.stack([canvas[1] - x2, y1, canvas[1] - x1, y2], -1)


def register() -> None:
    """Enter the kernels of `hflip` (given)."""
    for kind in (torch.Tensor, Image, Mask):
        kernel(hflip, kind)(flip_pixels)
    kernel(hflip, Boxes)(flip_boxes)
