"""Tests of k23_saved_tensors: gradients stay the same; what the graph holds changes."""

from __future__ import annotations

import weakref
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import gradcheck
from torch.autograd import gradgradcheck
from torch.autograd.gradcheck import GradcheckError
from torch.autograd.graph import saved_tensors_hooks
from torch.multiprocessing.reductions import StorageWeakRef

from katas.lecture03.k23_saved_tensors import compressed
from katas.lecture03.k23_saved_tensors import counting
from katas.lecture03.k23_saved_tensors import on_disk
from katas.lecture03.k23_saved_tensors import stacked
from plugins.kit import unchanged


if TYPE_CHECKING:
    from contextlib import AbstractContextManager


class Bystander:
    """An object that lives as long as the node that holds it."""


def outlives(context: AbstractContextManager[None]) -> bool:
    """Return whether a graph saved under `context` outlives its last user."""
    x = torch.ones(3, requires_grad=True)
    with context:
        y = x.exp() * x
    bystander = Bystander()
    y.grad_fn.next_functions[0][0].metadata["bystander"] = bystander
    alive = weakref.ref(bystander)
    del y, bystander
    return alive() is not None


@pytest.mark.given
def test_a_result_that_is_kept_with_its_graph_is_a_cycle() -> None:
    """Keeping a tensor as it is leaks the graph; keeping it detached does not."""
    assert outlives(saved_tensors_hooks(lambda tensor: tensor, lambda tensor: tensor))
    assert not outlives(saved_tensors_hooks(lambda tensor: tensor.detach(), lambda tensor: tensor))


@pytest.mark.given
def test_pack_is_called_without_grad_mode() -> None:
    """Tensors computed in pack have no graph; its argument has one, even if returned as it is."""
    seen: list[tuple[bool, bool, bool, bool]] = []

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        computed, same = tensor.to(torch.float64), tensor.to(tensor.dtype)
        grad = torch.is_grad_enabled()
        seen.append((grad, tensor.requires_grad, computed.requires_grad, same.requires_grad))
        return tensor.detach()

    with saved_tensors_hooks(pack, lambda tensor: tensor):
        torch.ones(2, requires_grad=True).exp()

    assert [(False, True, False, True)] == seen


@pytest.mark.given
def test_a_number_is_not_packed() -> None:
    """The 2 becomes a tensor, which the product saves without calling a hook."""
    seen: list[torch.Size] = []
    x = torch.ones(3, requires_grad=True)
    with saved_tensors_hooks(lambda tensor: seen.append(tensor.shape), lambda packed: packed):
        x * 2
        assert [] == seen
        x * torch.tensor(2.0)

    assert [torch.Size(())] == seen


@pytest.mark.step(1, "count the bytes")
def test_bytes_are_counted_as_they_are_saved(device: str) -> None:
    """Both factors count, a view by its own elements, and a sum saves nothing."""
    x = torch.ones(10, device=device, requires_grad=True)
    y = torch.ones(10, 1, dtype=torch.float64, device=device, requires_grad=True)
    sizes: list[int] = []
    with counting(sizes):
        assert [] == sizes, f"nothing is saved yet, but yours has {sizes}"
        (x * y).sum()
        assert [40, 80] == sorted(sizes), f"expected the bytes of x and y, 40 and 80, yours {sizes}"
        x[:3].sin()
    x.sin()

    assert [40, 80, 12] == [*sorted(sizes[:2]), *sizes[2:]], (
        f"yours {sizes}, expected 40 and 80, then 12: count only within the context, and only "
        "elements"
    )


@pytest.mark.step(1, "count the bytes")
def test_counting_changes_nothing(device: str) -> None:
    """Saved tensors keep their memory, and gradients their values."""
    x = torch.linspace(0, 1, 5, device=device, requires_grad=True)
    sizes: list[int] = []
    with counting(sizes):
        y = x.exp()
    saved = y.grad_fn._saved_result  # noqa: SLF001
    assert saved.data_ptr() == y.data_ptr(), (
        "your pack or unpack copies y, but counting must change nothing"
    )
    (grad,) = torch.autograd.grad(y.sum(), x)

    says = "yours is not exp's gradient\n".__add__
    torch.testing.assert_close(grad, x.exp().detach(), msg=says)
    assert [20] == sizes, f"one tensor was saved and then unpacked, expected [20]: yours {sizes}"


@pytest.mark.step(1, "count the bytes")
def test_counting_leaks_no_graph() -> None:
    """The graph dies with its last user."""
    assert not outlives(counting([])), (
        "the graph outlives its users: keep tensor.detach(), as the result owns its node"
    )


@pytest.mark.step(2, "keep them on disk")
def test_saved_tensors_lie_on_disk(device: str, tmp_path: Path) -> None:
    """Each saved tensor has its own file, and is read back from it."""
    x = torch.linspace(0, 1, 1000, device=device, requires_grad=True)
    with on_disk(tmp_path):
        assert [] == list(tmp_path.iterdir()), "nothing is saved yet, but your code wrote a file"
        hidden = x.exp()
        y = hidden.sin()
    count = len(list(tmp_path.iterdir()))
    assert 2 == count, f"you wrote {count} files, expected 2: exp's result, for exp and for sin"
    size = min(file.stat().st_size for file in tmp_path.iterdir())
    assert size >= 4000, f"1000 float32 take 4000 bytes; your code wrote {size}"
    saved, again = y.grad_fn._saved_self, y.grad_fn._saved_self  # noqa: SLF001

    assert saved.data_ptr() != again.data_ptr(), "after reading, the tensor is still in memory"
    assert saved.data_ptr() != hidden.data_ptr(), "your tensor comes from memory, not from the file"
    says = "from the file: yours is not what was saved\n".__add__
    torch.testing.assert_close(saved, hidden, rtol=0, atol=0, msg=says)
    (grad,) = torch.autograd.grad(y.sum(), x)
    torch.testing.assert_close(grad, (x.exp() * x.exp().cos()).detach())


@pytest.mark.step(2, "keep them on disk")
def test_files_go_with_the_graph(tmp_path: Path) -> None:
    """Files die with the graph, not earlier: a retained graph unpacks them twice."""
    x = torch.ones(3, requires_grad=True)
    with on_disk(tmp_path):
        y = (x * x).exp()
    (first,) = torch.autograd.grad(y.sum(), x, retain_graph=True)
    count = len(list(tmp_path.iterdir()))
    (second,) = torch.autograd.grad(y.sum(), x)
    assert 3 == count, f"a retained graph needs its 3 files again, yours has {count}"
    assert torch.equal(first, second), (
        f"two backwards must give equal gradients, yours {first.tolist()}, {second.tolist()}"
    )
    left = len(list(tmp_path.iterdir()))
    assert 0 == left, f"backward has freed what was saved, but {left} of your files are left"
    with on_disk(tmp_path):
        y = (x * x).exp()
    count = len(list(tmp_path.iterdir()))
    assert 3 == count, f"your code wrote {count} files, expected 3"
    del y
    left = len(list(tmp_path.iterdir()))
    assert 0 == left, f"the graph was freed without a backward, but {left} of your files are left"


@pytest.mark.step(2, "keep them on disk")
def test_each_graph_has_files_of_its_own(tmp_path: Path) -> None:
    """A graph keeps its files even after those of another graph are deleted."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with on_disk(tmp_path):
        first, second = (x * 1).sin(), (x * 2).sin()
        del first
        third = (x * 3).sin()
    count = len(list(tmp_path.iterdir()))
    (yours,) = torch.autograd.grad(second.sum(), x)
    (other,) = torch.autograd.grad(third.sum(), x)

    assert count == 2, f"each graph saves one tensor, but there are {count} files"
    expected = [2 * (2 * x).cos().detach(), 3 * (3 * x).cos().detach()]
    torch.testing.assert_close(
        [yours, other], expected, msg=lambda text: f"a file holds another graph's tensor: {text}"
    )


@pytest.mark.step(2, "keep them on disk")
def test_writing_to_disk_leaves_nothing_in_memory(tmp_path: Path) -> None:
    """The saved tensor itself dies with its last user, although the graph lives."""
    x = torch.ones(3, requires_grad=True)
    with on_disk(tmp_path):
        hidden = x.exp()
        y = hidden.sin()
    alive = weakref.ref(hidden)
    del hidden

    assert alive() is None, "the object that your pack returns holds the tensor"
    assert not outlives(on_disk(tmp_path)), "the object that your pack returns holds the node"
    assert y.requires_grad, "the graph must still be alive"


@pytest.mark.step(2, "keep them on disk")
def test_a_view_is_saved_without_its_storage(tmp_path: Path) -> None:
    """torch.save writes the whole storage of a view: two elements would cost a million."""
    x = torch.ones(100_000, requires_grad=True)
    with on_disk(tmp_path):
        y = x[:2].sin()
    (file,) = tmp_path.iterdir()
    size = file.stat().st_size
    assert size < 10_000, f"two elements take {size} bytes: your code saves the whole storage"
    y.sum().backward()


@pytest.mark.step(2, "keep them on disk")
@given(shape=st.lists(st.integers(0, 3), max_size=3), order=st.randoms())
def test_layouts_come_back_from_disk(shape: list[int], order: object) -> None:
    """Permuted and empty tensors come back in their own shape, in any dtype."""
    dims = list(range(len(shape)))
    order.shuffle(dims)  # type: ignore[attr-defined]
    for dtype in (torch.float64, torch.bfloat16, torch.complex64):
        x = torch.ones(shape, dtype=dtype).permute(dims).requires_grad_()
        with TemporaryDirectory() as name:
            with on_disk(Path(name)):
                y = x.sin().abs().sum()
            (grad,) = torch.autograd.grad(y, x)
        (expected,) = torch.autograd.grad(x.sin().abs().sum(), x)
        says = f"{dtype}, {shape} permuted by {dims}: yours is not the gradient\n".__add__
        torch.testing.assert_close(grad, expected, msg=says)


@pytest.mark.step(3, "another dtype")
def test_large_tensors_are_kept_as_another_dtype(device: str) -> None:
    """Tensors of `least` elements or more come back in their own dtype, rounded."""
    x = torch.linspace(0.1, 1, 7, dtype=torch.float32, device=device, requires_grad=True)
    with compressed(torch.bfloat16, 7):
        y = x.sin()
        z = x[:6].sin()
    back, small = y.grad_fn._saved_self, z.grad_fn._saved_self  # noqa: SLF001

    assert torch.float32 == back.dtype, f"your unpacked tensor is {back.dtype}, expected float32"
    rounded = x.detach().to(torch.bfloat16).to(torch.float32)
    says = "7 elements, least 7: yours did not go through bfloat16\n".__add__
    torch.testing.assert_close(back.detach(), rounded, rtol=0, atol=0, msg=says)
    double = x.detach().double().requires_grad_()
    with compressed(torch.bfloat16, 7):
        wide = double.sin()
    back = wide.grad_fn._saved_self  # noqa: SLF001
    assert torch.float64 == back.dtype, f"your unpacked tensor is {back.dtype}, expected float64"
    says = "float64 is a floating-point dtype too: yours did not go through bfloat16\n".__add__
    torch.testing.assert_close(back.detach(), rounded.double(), rtol=0, atol=0, msg=says)
    assert torch.equal(small, x[:6]), "your code rounded a tensor of 6 elements, but least is 7"
    assert small.data_ptr() == x.data_ptr(), (
        "your code copied a tensor of 6 elements, but least is 7"
    )
    (grad,) = torch.autograd.grad(y.sum(), x)
    torch.testing.assert_close(grad, x.cos().detach(), rtol=1e-2, atol=1e-2)


@pytest.mark.step(3, "another dtype")
def test_what_is_compressed_is_let_go(device: str) -> None:
    """The tensor's memory is freed with its last user: the graph has only the small copy."""
    x = torch.ones(7, device=device, requires_grad=True)
    with compressed(torch.bfloat16, 7):
        hidden = x.exp()
        y = hidden.sin()
    alive = StorageWeakRef(hidden.untyped_storage())
    del hidden

    assert alive.expired(), (
        "the object that your pack returns holds the tensor in its original dtype"
    )
    assert y.requires_grad, "the graph must still be alive"


@pytest.mark.step(3, "another dtype")
def test_indices_and_masks_are_left_alone() -> None:
    """A rounded index would select another row."""
    x = torch.rand(300, requires_grad=True)
    index = torch.arange(299, -1, -1)
    with compressed(torch.bfloat16, 1):
        y = (x[index] * 1.0).where(index % 2 == 0, 0.0)
    weights = torch.arange(300.0)
    (grad,) = torch.autograd.grad((y * weights).sum(), x)
    (expected,) = torch.autograd.grad((x[index].where(index % 2 == 0, 0.0) * weights).sum(), x)

    says = "with an index and a mask: yours is not the gradient\n".__add__
    torch.testing.assert_close(grad, expected, rtol=0, atol=0, msg=says)


@pytest.mark.step(3, "another dtype")
def test_complex_numbers_are_left_alone() -> None:
    """PyTorch does not count complex as floating-point, and bfloat16 has no imaginary part."""
    z = torch.tensor([0.3 + 1.7j, -2.1 + 0.4j], requires_grad=True)
    with compressed(torch.bfloat16, 1):
        result = z * z
    back = result.grad_fn._saved_self  # noqa: SLF001

    torch.testing.assert_close(
        back, z.detach(), rtol=0, atol=0, msg=lambda text: f"left alone (yours first): {text}"
    )


@pytest.mark.step(3, "another dtype")
def test_own_storages_are_not_copied(device: str) -> None:
    """A linear layer saves a transposed view of its weight, which is alive anyway."""
    layer = torch.nn.Linear(5, 5).to(device)
    x = torch.rand(3, 5, device=device, requires_grad=True)
    with compressed(torch.bfloat16, 1, iter(layer.parameters())):
        y, z = layer(x), layer(x)
    for result in (y, z):
        weight, batch = result.grad_fn._saved_mat2, result.grad_fn._saved_mat1  # noqa: SLF001
        assert weight.data_ptr() == layer.weight.data_ptr(), (
            "your code copies the weight, which is in own"
        )
        assert batch.data_ptr() != x.data_ptr(), (
            "the batch is not in own, but your code leaves it alone"
        )
        rounded = x.detach().to(torch.bfloat16).to(torch.float32)
        assert torch.equal(batch, rounded), "your batch did not go through bfloat16"


@pytest.mark.step(3, "another dtype")
def test_a_part_of_an_own_storage_is_not_copied() -> None:
    """A part starts elsewhere but is alive anyway; so is the whole if a part is in own."""
    weight = torch.rand(5, requires_grad=True)
    for own in (weight, weight.detach()[:1]):
        with compressed(torch.bfloat16, 1, [own]):
            result = weight[2:].sin()
        back = result.grad_fn._saved_self  # noqa: SLF001

        assert back.data_ptr() == weight[2:].data_ptr(), (
            "your code copies part of a storage that belongs to `own`"
        )


@pytest.mark.step(3, "another dtype")
def test_compressing_leaks_no_graph() -> None:
    """Neither compressed tensors nor those that are left alone keep the graph alive."""
    assert not outlives(compressed(torch.bfloat16, 1)), "your code keeps a tensor with its graph"
    assert not outlives(compressed(torch.bfloat16, 100)), (
        "your code leaks the graph: keep tensors that are left alone detached, too"
    )
    assert not outlives(compressed(torch.float32, 1)), (
        "if x already has that dtype, x.to(dtype) is x itself, with its graph: detach it"
    )


@pytest.mark.step(4, "two contexts in one, and all four")
def test_contexts_do_not_compose_but_stacked_does() -> None:
    """Inner packs first and unpacks last; outer sees the result of inner."""
    calls = []

    def pair(name: str) -> tuple:
        def pack(value: object) -> object:
            calls.append(f"{name} packs {type(value).__name__}")
            return (name, value.detach() if isinstance(value, torch.Tensor) else value)

        def unpack(value: tuple) -> object:
            calls.append(f"{name} unpacks {value[0]}")
            return value[1]

        return pack, unpack

    x = torch.linspace(0, 1, 3, requires_grad=True)
    with stacked(pair("outer"), pair("inner")):
        y = x.exp()
    (grad,) = torch.autograd.grad(y.sum(), x)

    says = "yours is not exp's gradient\n".__add__
    torch.testing.assert_close(grad, x.exp().detach(), msg=says)
    packs = ["inner packs Tensor", "outer packs tuple"]
    expected = [*packs, "outer unpacks outer", "inner unpacks inner"]
    assert expected == calls, f"yours {calls}\nexpected {expected}"


@pytest.mark.step(4, "two contexts in one, and all four")
@pytest.mark.parametrize("name", ["counting", "on_disk", "compressed", "stacked"])
def test_what_is_saved_stays_as_it_is(name: str, tmp_path: Path) -> None:
    """Packing, unpacking and backward write to nothing, and change no global state."""
    same = (lambda tensor: tensor.detach(), lambda tensor: tensor)
    contexts = {
        "counting": lambda: counting([]),
        "on_disk": lambda: on_disk(tmp_path),
        "compressed": lambda: compressed(torch.bfloat16, 1),
        "stacked": lambda: stacked(same, same),
    }
    x = torch.tensor([2**0.5, -(3**0.5), 0.0], requires_grad=True)
    with unchanged(x=x):
        with contexts[name]():
            y = x.exp()
            z = y * x
        with unchanged(y=y, z=z):
            torch.autograd.grad(z.sum(), x, retain_graph=True)
            torch.autograd.grad(z.sum(), x, create_graph=True)


@pytest.mark.step(4, "two contexts in one, and all four")
@pytest.mark.parametrize("name", ["counting", "on_disk", "compressed", "stacked"])
def test_derivatives_are_right_twice(name: str, tmp_path: Path) -> None:
    """First and second gradients agree with differences under each context."""
    same = (lambda tensor: tensor.detach(), lambda tensor: tensor)
    contexts = {
        "counting": lambda: counting([]),
        "on_disk": lambda: on_disk(tmp_path),
        "compressed": lambda: compressed(torch.float64, 1),
        "stacked": lambda: stacked(same, same),
    }

    def function(x: torch.Tensor) -> torch.Tensor:
        with contexts[name]():
            return (x.exp() * x.sin()).sum(0) / x[0]

    x = torch.tensor([[0.5, -0.7], [1.2, 0.4]], dtype=torch.float64, requires_grad=True)
    try:
        gradcheck(function, x)
        gradgradcheck(function, x)
    except GradcheckError as error:
        raise AssertionError(
            f"{name}: yours (analytical) disagrees with differences\n{error}"
        ) from None
