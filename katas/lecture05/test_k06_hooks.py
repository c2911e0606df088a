"""Tests of k06_hooks: one program, with your class and with PyTorch's Module."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from torch import nn

from katas.lecture05 import k06_hooks as kata
from plugins.kit import forbids
from plugins.kit import freed


if TYPE_CHECKING:
    from collections.abc import Callable


def adder(base: type) -> Any:
    """Return a module that adds its arguments."""

    class Add(base):
        """Adds its arguments."""

        def forward(self, *args: Any) -> Any:
            """Return the sum of tensors or numbers."""
            return sum(args)

    return Add()


def compare(program: Callable[[Any, list], object], why: str) -> None:
    """Run a program with both modules, and compare its result and its log."""
    results = []
    for base in (nn.Module, kata.Hooked):
        log: list[object] = []
        results.append((program(adder(base), log), log))
    theirs, yours = results

    assert theirs == yours, (
        f"yours     returns {yours[0]}, logs {yours[1]}\n"
        f"PyTorch's returns {theirs[0]}, logs {theirs[1]}\n{why}"
    )


def test_without_hooks() -> None:
    """Without hooks, a call is just a call of forward."""
    compare(lambda module, log: [module(1), module(1, 2)], "forward gets the arguments")


def test_hooks_see_what_goes_in_and_out() -> None:
    """A hook gets the module, its arguments as a tuple, and the output."""

    def program(module: Any, log: list) -> object:
        module.register_forward_pre_hook(lambda m, args: log.append((m is module, args)))
        module.register_forward_hook(lambda m, args, out: log.append((m is module, args, out)))
        return module(3, 4), module(5)

    compare(program, "before: (module, args); after: (module, args, output); in each call")


def test_hooks_run_in_order() -> None:
    """Hooks run in the order of registration, except a hook that is prepended."""

    def program(module: Any, log: list) -> object:
        for name in "ab":
            module.register_forward_pre_hook(lambda m, args, name=name: log.append(name))
            module.register_forward_hook(lambda m, args, out, name=name: log.append(name + "!"))
        for name in "cd":
            module.register_forward_pre_hook(
                lambda m, args, name=name: log.append(name), prepend=True
            )
        return module(1)

    compare(program, "each that is prepended comes before all others")


@pytest.mark.parametrize("value", [(10, 20), (10,), (), torch.Size([3, 4]), 10, 0, [1, 2]])
def test_a_hook_before_changes_the_arguments(value: object) -> None:
    """A tuple is all arguments; anything else is the only argument; None changes nothing."""

    def program(module: Any, log: list) -> object:
        module.register_forward_pre_hook(lambda m, args: value)
        module.register_forward_pre_hook(lambda m, args: log.append(args))
        module.register_forward_hook(lambda m, args, out: log.append(args))
        try:
            return module(1, 2)
        except TypeError:
            return "TypeError"

    compare(program, f"the first hook returns {value!r}: what do the others see?")


@pytest.mark.parametrize("value", [10, 0, False, ()])
def test_a_hook_after_changes_the_output(value: object) -> None:
    """The next hook sees what this one returns, even a falsy value."""

    def program(module: Any, log: list) -> object:
        module.register_forward_hook(lambda m, args, out: value)
        module.register_forward_hook(lambda m, args, out: log.append(out))
        return module(1, 2)

    compare(program, f"the first hook returns {value!r}, the second one None")


def test_a_removed_hook_is_not_called() -> None:
    """Removing a hook removes no other: a hook registered later keeps its own key."""

    def program(module: Any, log: list) -> object:
        note = log.append
        register = module.register_forward_hook
        handles = [register(lambda m, args, out, n=n: note(n)) for n in range(3)]
        handles[0].remove()
        handles.append(register(lambda m, args, out: note(3)))
        module(1)
        handles[3].remove()
        handles[0].remove()
        module(1)
        handles[2].remove()
        register(lambda m, args, out: note(4))
        handles[2].remove()
        return module(1)

    compare(program, "a key is taken one time: do not count the hooks that are there")


def test_one_function_may_be_two_hooks() -> None:
    """The function is called twice, and each hook can be removed on its own."""

    def program(module: Any, log: list) -> object:
        def hook(_module: Any, args: tuple) -> None:
            log.append(args)

        first = module.register_forward_pre_hook(hook)
        module.register_forward_pre_hook(hook)
        module(1)
        first.remove()
        first.remove()
        return module(2)

    compare(program, "a function is no key: it may be there twice")


def test_keys_of_two_modules() -> None:
    """A handle removes only its own hook, from its own dict."""

    def program(module: Any, log: list) -> object:
        other = adder(type(module).__mro__[1])
        handles = [
            each.register_forward_hook(lambda m, args, out, n=n: log.append(n))
            for n, each in enumerate((module, other))
        ]
        module.register_forward_pre_hook(lambda m, args: log.append("before"))
        handles[0].remove()
        other(1)
        return module(1)

    compare(program, "the other module and the other dict keep their hooks")


def test_a_hook_may_remove_hooks() -> None:
    """A hook may remove itself, or a later hook, which still runs in this call."""

    def program(module: Any, log: list) -> object:
        handles: list[Any] = []

        def remove(number: int) -> None:
            handles[number].remove()
            log.append(f"removed {number}")

        handles.append(module.register_forward_pre_hook(lambda m, args: remove(0)))
        handles.append(module.register_forward_hook(lambda m, args, out: remove(2)))
        handles.append(module.register_forward_hook(lambda m, args, out: log.append("late")))
        return module(1), module(1)

    compare(program, "go through a copy of the hooks: the dict changes meanwhile")


def test_a_hook_before_changes_the_hooks_after() -> None:
    """The change affects this call, because the later hooks are listed after forward returns."""

    def program(module: Any, log: list) -> object:
        def hook(m: Any, args: tuple) -> None:
            handle.remove()
            module.register_forward_hook(lambda m, args, out: log.append("new"))

        handle = module.register_forward_hook(lambda m, args, out: log.append("old"))
        module.register_forward_pre_hook(hook)
        return module(1)

    compare(program, "a hook before has removed old and registered new")


def test_a_hook_may_register_hooks() -> None:
    """The new hooks run from the next call on."""

    def program(module: Any, log: list) -> object:
        def again(m: Any, args: tuple) -> None:
            log.append("again")
            if len(log) < 9:
                module.register_forward_pre_hook(again)

        module.register_forward_pre_hook(again)
        return module(1), module(1)

    compare(program, "go through a copy of the hooks: the dict changes meanwhile")


def test_an_error_stays_an_error() -> None:
    """If forward raises, no later hook runs; the next call works as usual."""

    def program(module: Any, log: list) -> object:
        module.register_forward_pre_hook(lambda m, args: log.append("before"))
        module.register_forward_hook(lambda m, args, out: log.append("after"))
        try:
            module("a")
        except TypeError as error:
            log.append(type(error).__name__)
        return module(1)

    compare(program, "hooks run after a forward that returned")


class Hook:
    """A hook that owns memory."""

    def __call__(self, *args: Any) -> None:
        """Do nothing."""


def test_a_handle_keeps_no_hook_alive() -> None:
    """When the module dies its hooks die with it, although the handle stays."""
    handles = []

    def make() -> list[object]:
        module, hooks = adder(kata.Hooked), [Hook(), Hook()]
        handles.append(module.register_forward_hook(hooks[0]))
        handles.append(module.register_forward_pre_hook(hooks[1]))
        module(1)
        return [module, *hooks]

    freed(make, "The handle is alive: it may refer to the dict of hooks only weakly.")
    for handle in handles:
        handle.remove()


def test_a_module_keeps_no_handle_alive() -> None:
    """A module keeps neither handles nor what a call has seen, such as a tensor."""
    module = adder(kata.Hooked)

    def make() -> list[object]:
        x = torch.ones(2)
        return [module.register_forward_hook(Hook()), x, module(x, x)]

    freed(make, "The hook stays registered: a handle is only needed to remove it.")
    assert len(module.after) == 1, f"your module has {len(module.after)} hooks, expected 1"


def test_a_copy_has_hooks_of_its_own() -> None:
    """A handle removes its hook from the original module, not from a copy."""

    def program(module: Any, log: list) -> object:
        handle = module.register_forward_hook(lambda m, args, out: log.append(m is module))
        twin = copy.deepcopy(module)
        handle.remove()
        return module(1), twin(2)

    compare(program, "the copy still calls the hook")


def test_it_is_your_own() -> None:
    """The kata does not need torch at all."""
    with forbids(kata, "torch.utils.hooks", "torch.nn") as fresh:
        log: list[object] = []
        module = adder(fresh.Hooked)
        handles = [
            module.register_forward_pre_hook(lambda m, args: log.append(args)),
            module.register_forward_hook(lambda m, args, out: None),
            adder(fresh.Hooked).register_forward_hook(lambda m, args, out: None),
        ]
        result = module(1, 2)

    kinds = [type(handle) for handle in handles]
    assert kinds == [fresh.Handle] * 3, f"the methods return {kinds}, expected your Handle each"
    keys = [handle.key for handle in handles]
    assert len({*keys}) == 3, (
        f"two handles have the same key, expected different ones, even for two modules: {keys}"
    )
    assert (3, [(1, 2)]) == (result, log), f"yours {result} and {log}, expected 3 and [(1, 2)]"
