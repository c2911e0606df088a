"""Tests of k10_fold_batchnorm: the two constants of a channel, and whose weight they go into."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
import torch.fx.experimental.optimization
import torch.nn.utils.fusion
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from katas.lecture10 import k10_fold_batchnorm as kata
from katas.lecture10.k10_fold_batchnorm import fold
from plugins.kit import forbids
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable

CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)


TRANSPOSED = (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)


NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)


def drawn_statistics(model: nn.Module) -> nn.Module:
    """Give each batch norm numbers that are neither 0 nor 1, and set eval mode."""
    for module in model.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm):  # noqa: SLF001 - the base of all
            for value in (module.running_mean, module.weight, module.bias):
                if value is not None:
                    nn.init.normal_(value)
            if module.running_var is not None:
                nn.init.uniform_(module.running_var, 0.5, 2)
    return model.eval()


def test_two_constants_for_each_channel() -> None:
    """A channel is scaled by weight / sqrt(var + eps), and everything else is the bias."""
    convolution, norm = nn.Conv1d(1, 2, 1), nn.BatchNorm1d(2, eps=1.0).eval()
    with torch.no_grad():
        for value, numbers in (
            (convolution.weight, [[[1.0]], [[2.0]]]),
            (convolution.bias, [5.0, 6.0]),
            (norm.running_mean, [1.0, 2.0]),
            (norm.running_var, [3.0, 15.0]),
            (norm.weight, [2.0, 4.0]),
            (norm.bias, [10.0, 20.0]),
        ):
            value.copy_(torch.tensor(numbers))
    folded = fold(convolution, norm)
    scales, shifts = folded.weight.flatten().tolist(), folded.bias.tolist()

    assert [1.0, 2.0] == scales, (
        f"expected 1 * 2 / sqrt(3 + 1) and 2 * 4 / sqrt(15 + 1), found {scales}"
    )
    assert [14.0, 24.0] == shifts, f"expected (5 - 1) * 1 + 10 and (6 - 2) * 1 + 20, found {shifts}"


def pair(draw: st.DrawFn) -> tuple[nn.Module, nn.Module, torch.Tensor]:
    """Draw a convolution, a batch norm for it, and an input."""
    dims, groups, transposed = draw(st.integers(0, 2)), draw(st.integers(1, 3)), draw(st.booleans())
    channels, out = groups * draw(st.integers(1, 3)), groups * draw(st.integers(1, 2))
    options = {
        "stride": draw(st.integers(1, 2)),
        "padding": draw(st.integers(0, 1)),
        "dilation": draw(st.integers(1, 2)),
        "groups": groups,
        "bias": draw(st.booleans()),
    }
    if transposed:
        most = max(options["stride"], options["dilation"]) - 1
        options["output_padding"] = draw(st.integers(0, most))
    else:
        options["padding_mode"] = draw(st.sampled_from(["zeros", "reflect", "circular"]))
    kind = (TRANSPOSED if transposed else CONVOLUTIONS)[dims]
    convolution = kind(channels, out, draw(st.integers(1, 2)), **options)
    norm = NORMS[dims](out, eps=draw(st.sampled_from([1e-5, 0.5])), affine=draw(st.booleans()))
    model = drawn_statistics(nn.Sequential(convolution, norm)).double()
    x = torch.randn(2, channels, *(5 for _ in range(dims + 1)), dtype=torch.float64)
    return model[0], model[1], x


@given(drawn=st.composite(pair)())
def test_any_pair(drawn: tuple[nn.Module, nn.Module, torch.Tensor]) -> None:
    """Groups, transposed, with and without bias, padding modes, affine or not, any eps."""
    convolution, norm, x = drawn
    with unchanged(convolution=convolution, norm=norm):
        folded = fold(convolution, norm)
    expected, found = norm(convolution(x)), folded(x)

    assert type(convolution) is type(folded), (
        f"your result for a {type(convolution).__name__} is a {type(folded).__name__}: expected a "
        f"convolution of the same class"
    )
    torch.testing.assert_close(
        found,
        expected,
        rtol=1e-11,  # all is float64
        atol=1e-11,
        msg=lambda text: f"{convolution}\n{norm}\nweight {list(convolution.weight.shape)}: {text}",
    )


def test_new_parameters_and_no_graph() -> None:
    """The pair keeps its own parameters; those of the fold are leaves."""
    convolution, norm = drawn_statistics(nn.Sequential(nn.Conv2d(2, 3, 1), nn.BatchNorm2d(3)))
    before = copy.deepcopy([convolution.state_dict(), norm.state_dict()])
    convolution.train()
    folded = fold(convolution, norm)

    assert folded is not convolution, (
        "you return the given convolution: fold into a copy, and leave the weights of the given "
        "pair as they are"
    )
    assert folded.training, (
        "the result is in eval mode: a copy of the convolution keeps its train mode"
    )
    assert isinstance(folded.weight, nn.Parameter), (
        f"the weight is a {type(folded.weight).__name__}, expected an nn.Parameter: it is "
        "trained and saved with the model"
    )
    assert isinstance(folded.bias, nn.Parameter), (
        f"the bias is a {type(folded.bias).__name__}, expected an nn.Parameter"
    )
    assert folded.weight.is_leaf, (
        "the new weight is not a leaf: it must not be a function of the old one"
    )
    assert ["weight", "bias"] == [name for name, _ in folded.named_parameters()], (
        f"its parameters are {[name for name, _ in folded.named_parameters()]}, expected only "
        f"weight and bias"
    )
    for old, new in zip(before, [convolution.state_dict(), norm.state_dict()], strict=True):
        torch.testing.assert_close(
            new, old, rtol=0, atol=0, msg=lambda text: f"the given pair was changed: {text}"
        )


@pytest.mark.parametrize("bias", [True, False])
def test_the_dtype_is_that_of_the_convolution(bias: bool) -> None:  # noqa: FBT001 - a parameter
    """A model in bfloat16 often keeps its batch norms in float32."""
    convolution = nn.Conv2d(4, 4, 3, bias=bias).to(torch.bfloat16)
    norm = drawn_statistics(nn.BatchNorm2d(4))
    x = torch.randn(2, 4, 5, 5, dtype=torch.bfloat16)
    # Before the fold, which might write to the convolution.
    expected = norm(convolution(x))
    folded = fold(convolution, norm)

    assert torch.bfloat16 is folded.weight.dtype, (
        "the weight is not bfloat16, so the convolution can no longer run"
    )
    assert torch.bfloat16 is folded.bias.dtype, (
        f"the bias is {folded.bias.dtype}, expected torch.bfloat16, the dtype of the convolution"
    )
    torch.testing.assert_close(folded(x), expected, rtol=0.05, atol=0.05)


def test_a_bias_of_zeros_is_a_bias() -> None:
    """The fold always has a bias, even if a new batch norm shifts by nothing."""
    folded = fold(nn.Conv2d(2, 3, 1, bias=False), nn.BatchNorm2d(3).eval())

    assert isinstance(folded.bias, nn.Parameter), f"the bias is {folded.bias}, expected zeros"
    assert [0.0, 0.0, 0.0] == folded.bias.tolist(), (
        f"the bias is {folded.bias.tolist()}, expected zeros: a new batch norm shifts by nothing"
    )


def test_models(zoo: Callable[[str], Any]) -> None:
    """The first convolution of a U-Net, with the norm after it."""
    model, _ = zoo("unet")
    convolution, norm = model.down1[0], model.down1[1]
    x = torch.randn(1, 1, 8, 8)
    expected = norm(convolution(x))
    with unchanged(convolution=convolution, norm=norm):
        folded = fold(convolution, norm)

    torch.testing.assert_close(folded(x), expected)


READY_MADE = (
    "torch.ao.quantization",
    "torch.fx.experimental.optimization",
    "torch.nn.utils.fuse_conv_bn_eval",
    "torch.nn.utils.fuse_conv_bn_weights",
    "torch.nn.utils.fuse_linear_bn_eval",
    "torch.nn.utils.fuse_linear_bn_weights",
    "torch.nn.utils.fusion",
    "torch.quantization",
)


def test_nothing_ready_made_is_called() -> None:
    """PyTorch's own folding may not be called: you are writing it."""
    with forbids(kata, *READY_MADE) as fresh:
        convolution = fresh.fold(nn.Conv1d(1, 2, 1), nn.BatchNorm1d(2).eval())

    assert convolution.bias is not None, (
        "the fold has no bias: the shift of the batch norm becomes its bias"
    )


def test_the_gradient_is_that_of_the_pair() -> None:
    """A folded layer can be trained on: gradcheck finds the slopes of the pair in it."""
    pair = nn.Sequential(nn.ConvTranspose1d(4, 2, 2, groups=2), nn.BatchNorm1d(2))
    convolution, norm = drawn_statistics(pair).double()
    folded = fold(convolution, norm)
    x = torch.randn(2, 4, 3, dtype=torch.float64, requires_grad=True)

    assert torch.autograd.gradcheck(folded, x), (
        "gradcheck fails: the folded layer must be differentiable"
    )
    (theirs,) = torch.autograd.grad(norm(convolution(x)).sin().sum(), x)
    (yours,) = torch.autograd.grad(folded(x).sin().sum(), x)
    torch.testing.assert_close(yours, theirs, msg=lambda m: f"gradient by the input: {m}")
