"""Small versions of models that people train, for the passes of this lecture."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import NamedTuple

import pytest
import torch
from torch import nn

from plugins.kit import build_folder


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterator


class Block(nn.Module):
    """A basic block of a ResNet: two convolutions, each with its batch norm, and a skip connection.

    Source: He, Zhang, Ren and Sun, "Deep residual learning for image recognition" (2015), fig. 2.
    """

    def __init__(self, channels: int, out: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, out, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(out)
        self.conv2 = nn.Conv2d(out, out, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(out)
        self.relu = nn.ReLU()
        self.around = nn.Sequential()
        if stride != 1 or channels != out:
            self.around = nn.Sequential(
                nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out)
            )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the block's result, (N, out, H / stride, W / stride)."""
        y = self.relu(self.bn1(self.conv1(x)))
        return self.relu(self.bn2(self.conv2(y)) + self.around(x))


class ResNet(nn.Module):
    """A stem, three blocks and a classifier: (N, 3, H, W) to (N, 10)."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU())
        self.blocks = nn.Sequential(Block(8, 8, 1), Block(8, 16, 2), Block(16, 16, 1))
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(16, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the logits."""
        return self.fc(torch.flatten(self.pool(self.blocks(self.stem(x))), 1))


def twice(channels: int, out: int) -> nn.Sequential:
    """Return two convolutions, each with batch norm and ReLU, that keep height and width."""
    return nn.Sequential(
        nn.Conv2d(channels, out, 3, padding=1),
        nn.BatchNorm2d(out),
        nn.ReLU(),
        nn.Conv2d(out, out, 3, padding=1),
        nn.BatchNorm2d(out),
        nn.ReLU(),
    )


class UNet(nn.Module):
    """Two levels down, two up, and a skip connection at each: (N, 1, H, W) to (N, 2, H, W).

    H and W are multiples of 4. Source: Ronneberger, Fischer and Brox, "U-Net: convolutional
    networks for biomedical image segmentation" (2015), fig. 1.
    """

    def __init__(self) -> None:
        super().__init__()
        self.down1, self.down2, self.bottom = twice(1, 4), twice(4, 8), twice(8, 16)
        self.pool = nn.MaxPool2d(2)
        self.up2 = nn.ConvTranspose2d(16, 8, 2, 2)
        self.join2 = twice(16, 8)
        self.up1 = nn.ConvTranspose2d(8, 4, 2, 2)
        self.join1 = twice(8, 4)
        self.head = nn.Conv2d(4, 2, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return a score for each of two classes at each pixel."""
        first = self.down1(x)
        second = self.down2(self.pool(first))
        deep = self.bottom(self.pool(second))
        second = self.join2(torch.cat([self.up2(deep), second], 1))
        return self.head(self.join1(torch.cat([self.up1(second), first], 1)))


class Case(NamedTuple):
    """A model in eval mode, and inputs for it."""

    model: nn.Module
    inputs: tuple[torch.Tensor, ...]


def _resnet() -> Case:
    return Case(ResNet(), (torch.randn(2, 3, 16, 16),))


def _unet() -> Case:
    return Case(UNet(), (torch.randn(1, 1, 16, 16),))


def _transformer() -> Case:
    layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.1, batch_first=True)
    return Case(layer, (torch.randn(2, 5, 16),))


def _lstm() -> Case:
    return Case(nn.LSTM(6, 8, num_layers=2, batch_first=True), (torch.randn(2, 5, 6),))


MODELS = {"resnet": _resnet, "unet": _unet, "transformer": _transformer, "lstm": _lstm}


@pytest.fixture
def zoo() -> Callable[[str], Case]:
    """Make a model, by its name: "resnet", "unet", "transformer" or "lstm".

    Parameters are drawn from the test's seed, and so are the statistics of batch norms, which
    would otherwise be zeros and ones and hide an error.
    """

    def make(name: str) -> Case:
        case = MODELS[name]()
        for module in case.model.modules():
            if isinstance(module, nn.BatchNorm2d):
                nn.init.normal_(module.running_mean)
                nn.init.uniform_(module.running_var, 0.5, 2.0)
                nn.init.normal_(module.weight)
                nn.init.normal_(module.bias)
        return Case(case.model.eval(), case.inputs)

    return make


@pytest.fixture
def inductor(monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config) -> Iterator[None]:
    """Let Inductor compile in this process, and keep the results in pytest's cache.

    Where pytest keeps no cache (``-p no:cacheprovider``), the results are kept with the other
    builds.
    """
    if cache := getattr(pytestconfig, "cache", None):
        folder = cache.mkdir("inductor")
    else:
        folder = build_folder(pytestconfig.rootpath)[0] / "inductor"
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(folder))
    # Compiled code is kept with each function's code, and there is a limit on how much.
    torch._dynamo.reset()  # noqa: SLF001 - it has no other name in all versions
    passes = {"post_grad_custom_pre_pass": None, "post_grad_custom_post_pass": None}
    with torch._inductor.config.patch(compile_threads=1, **passes):  # noqa: SLF001
        yield
    torch._dynamo.reset()  # noqa: SLF001
