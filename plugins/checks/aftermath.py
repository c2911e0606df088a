"""Checks what a call leaves behind: its inputs, the state of PyTorch, and what must be freed.

A test compares the result of a call and seldom looks afterwards, so an exercise that writes to
its input, leaves grad mode off or keeps every tensor alive passes. `unchanged` looks at the
inputs and the state; `freed` looks whether memory goes when the last reference does.
"""

from __future__ import annotations

import ctypes
import gc
import random
import sys
import warnings
import weakref
from contextlib import contextmanager
from contextlib import suppress
from typing import TYPE_CHECKING
from typing import Any

from plugins.tools.private import thread_state
from plugins.tools.private import version_of


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Collection
    from collections.abc import Iterator
    from collections.abc import Mapping


# How a difference is put, by what differs; {0} is the value before, {1} the one after.
DIFFERENCES = {
    "value": "other values",
    "storage": "other bytes in its storage, beside the elements it shows",
    "version": "version {1}, and had {0}: an operator wrote to it in place",
    "grad": "another .grad than before",
    "requires_grad": "requires_grad={1}, and had {0}",
    "is_leaf": "is_leaf={1}, and had {0}",
    "grad_fn": "another grad_fn than before",
    "size": "size {1}, and had {0}",
    "stride": "strides {1}, and had {0}",
    "storage_offset": "storage offset {1}, and had {0}",
    "memory": "another storage than before",
}


@contextmanager
def unchanged(*tensors: object, but: Collection[str] = (), **named: object) -> Iterator[None]:
    """Check that what runs in this ``with`` changes neither tensors nor the state of PyTorch.

    Parameters
    ----------
    tensors, named
        Tensors; also Modules, and lists, tuples and dicts of tensors, to any depth. The message
        calls a tensor by its keyword: ``with unchanged(x=x, weight=weight):``. Name the results
        of earlier calls too: a later call may write to them.
    but
        What may change: keys of `DIFFERENCES`, such as "grad" around a call of ``backward``, and
        of `pytorch_state` or `thread_state`, such as "torch.get_rng_state()" where one draws.

    Raises
    ------
    AssertionError
        If a value (to the bit), version, ``grad``, ``requires_grad``, ``is_leaf``, ``grad_fn``,
        size, stride, storage offset or storage of a tensor differs, ``training`` of a module, or
        something of `pytorch_state` or `thread_state`. If the block itself raises, nothing is
        compared.
    """
    __tracebackhide__ = True
    every: dict[str, object] = {f"argument {n}": each for n, each in enumerate(tensors)} | named
    watched = {name: x for key, value in every.items() for name, x in tensors_in(key, value)}
    before = {name: facts_of(x) for name, x in watched.items()}
    modes = training_in(every)
    kept, state = thread_state(), pytorch_state()
    yield
    # A mode that is still open sees what is done from here on, so nothing else is compared.
    lines = state_changes(kept, thread_state(), "the thread's ", but)
    for name, x in ({} if lines else watched).items():
        after = facts_of(x)
        changed = [
            fact
            for fact in DIFFERENCES
            if fact not in but and before[name].get(fact) != after.get(fact)
        ]
        if "value" in changed:  # its storage holds the elements as well
            changed = [fact for fact in changed if fact != "storage"]
        words = (DIFFERENCES[it].format(before[name].get(it), after.get(it)) for it in changed)
        if changed:
            lines.append(f"{name} has {'; '.join(words)}")
    lines += state_changes(modes, training_in(every), "", but)
    lines += [] if lines else state_changes(state, pytorch_state(), "", but)
    if lines:
        raise AssertionError("your code changes what is not its own:\n" + "\n".join(lines))


def tensors_in(name: str, value: object) -> Iterator[tuple[str, Any]]:
    """Yield the tensors in a value, each with the expression that leads to it."""
    import torch  # noqa: PLC0415 - takes a second

    if isinstance(value, torch.Tensor):
        yield name, value
    elif isinstance(value, torch.nn.Module):
        for key, each in [*value.named_parameters(), *value.named_buffers()]:
            yield f"{name}.{key}", each
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from tensors_in(f"{name}[{key!r}]", each)
    elif isinstance(value, list | tuple):
        for number, each in enumerate(value):
            yield from tensors_in(f"{name}[{number}]", each)


def training_in(every: Mapping[str, object]) -> dict[str, object]:
    """Return the mode of each module in these values, by the expression that leads to it."""
    import torch  # noqa: PLC0415 - takes a second

    return {
        ".".join(filter(None, (name, path, "training"))): module.training
        for name, value in every.items()
        if isinstance(value, torch.nn.Module)
        for path, module in value.named_modules()
    }


def facts_of(x: Any) -> dict[str, object]:
    """Return what is compared of a tensor; what it does not have is left out."""
    import torch  # noqa: PLC0415 - takes a second

    facts: dict[str, object] = {
        "requires_grad": x.requires_grad,
        "is_leaf": x.is_leaf,
        "size": tuple(x.size()),
    }
    with torch.no_grad(), warnings.catch_warnings():
        # Of a tensor that is no leaf and retains no gradient, PyTorch warns.
        warnings.simplefilter("ignore")
        grad = x.grad
        facts["grad"] = None if grad is None else (id(grad), bytes_of(grad))
        facts["value"] = bytes_of(x)
    # Asked for after a write to its base, a view's grad_fn is made anew: each is asked for here.
    facts["grad_fn"] = type(x.grad_fn).__name__
    facts["version"] = version_of(x)
    with suppress(RuntimeError, NotImplementedError):  # one that is sparse has neither
        facts["stride"], facts["storage_offset"] = x.stride(), x.storage_offset()
        storage = x.untyped_storage()
        facts["memory"] = storage.data_ptr()
        if x.device.type == "cpu":
            facts["storage"] = bytes_in(storage)
    return facts


def bytes_of(x: Any) -> bytes:
    """Return the values of a tensor as bytes, so that NaN equals NaN and -0.0 is not 0.0."""
    import torch  # noqa: PLC0415 - takes a second

    with suppress(RuntimeError, NotImplementedError):
        if x.layout is not torch.strided:
            x = x.to_dense()
        plain = x.detach().resolve_conj().resolve_neg().cpu().contiguous().clone()
        return bytes_in(plain.untyped_storage())
    return b""


def bytes_in(storage: Any) -> bytes:
    """Copy a storage of the CPU at once: ``bytes(storage)`` makes a call for each byte."""
    place = storage.data_ptr()
    return ctypes.string_at(place, storage.nbytes()) if place else b""


def state_changes(
    before: Mapping[str, object], after: Mapping[str, object], whose: str, but: Collection[str]
) -> list[str]:
    """Return a line for each entry that differs."""
    lines = []
    for name, value in after.items():
        if name not in but and before[name] != value:
            words = "" if isinstance(value, bytes) else f": before {before[name]}, now {value}"
            lines.append(f"{whose}{name} was left changed{words}")
    return lines


def pytorch_state() -> Mapping[str, object]:
    """Return what a call may change for the code after it, by the name that a message uses."""
    import torch  # noqa: PLC0415 - takes a second

    numpy = sys.modules.get("numpy")
    return {
        "torch.get_default_dtype()": torch.get_default_dtype(),
        "torch.get_default_device()": torch.get_default_device(),
        "torch.is_grad_enabled()": torch.is_grad_enabled(),
        "torch.is_inference_mode_enabled()": torch.is_inference_mode_enabled(),
        "torch.is_anomaly_enabled()": torch.is_anomaly_enabled(),
        "torch.is_autocast_enabled()": torch.is_autocast_enabled("cpu"),
        "torch.are_deterministic_algorithms_enabled()": (
            torch.are_deterministic_algorithms_enabled()
        ),
        "torch.get_num_threads()": torch.get_num_threads(),
        "torch.get_rng_state()": bytes_in(torch.get_rng_state().untyped_storage()),
        "random.getstate()": repr(random.getstate()).encode(),
        "numpy.random.get_state()": repr(numpy.random.get_state()).encode() if numpy else b"",
    }


def freed(make: Callable[[], object], why: str = "") -> None:
    """Check that what `make` returns is freed with the last reference to it.

    Parameters
    ----------
    make
        Returns an object, or a list or tuple of them, that must not outlive this call: tensors,
        graph nodes, anything that can be referred to weakly. It keeps no reference itself.
    why
        What the message adds: who must not hold it.

    Raises
    ------
    AssertionError
        If one is alive afterwards: for good, or until Python's garbage collector finds the cycle
        of references that it is in.
    """
    __tracebackhide__ = True
    collecting = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        made = make()
        every = list(made) if isinstance(made, list | tuple) else [made]
        names = [type(each).__name__ for each in every]
        references = [weakref.ref(each) for each in every]
        del made, every
        alive = [n for n, ref in zip(names, references, strict=True) if ref() is not None]
        gc.collect()
        held = [n for n, ref in zip(names, references, strict=True) if ref() is not None]
    finally:
        if collecting:
            gc.enable()
    ending = f" {why}" if why else ""
    if held:
        raise AssertionError(
            f"never freed: {', '.join(held)}; something still refers to it.{ending}"
        )
    if alive:
        raise AssertionError(
            f"freed by the garbage collector alone: {', '.join(alive)}; it is in a cycle of"
            f" references, so its memory stays until the collector happens to run.{ending}"
        )
