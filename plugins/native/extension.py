"""What the fixture ``extension`` gives to a test: the operators, classes and functions built."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

import pytest

from plugins.launches import read_launches


if TYPE_CHECKING:
    from plugins.launches import Launch


@dataclass(frozen=True)
class Extension:
    """The library built from a kata's C++ source, loaded; or why it could not be.

    Attributes
    ----------
    path
        The library.
    namespace
        Where its operators and classes are: ``torch.ops.lecture04_k03``.
    source
        The learner's file, as messages call it.
    problem
        Why there is no library; empty if there is one. A test with a problem fails before
        its first line, so that no test needs to look here.
    kernels
        The library of the kata's CUDA source, for the CPU; the same as `path` without one.
    """

    path: Path = field(repr=False)
    namespace: str
    source: str
    problem: str = field(default="", repr=False)
    kernels: Path = field(default=Path(), repr=False)

    def op(self, name: str) -> Any:
        """Return ``torch.ops.<namespace>.<name>``; an AssertionError if nothing defines it."""
        __tracebackhide__ = True
        import torch  # noqa: PLC0415 - takes a second

        self.check()
        found = getattr(getattr(torch.ops, self.namespace), name, None)
        assert found is not None, (
            f"{self.source} defines no operator {name!r}:"
            f' TORCH_LIBRARY({self.namespace}, m) needs m.def("{name}(...) -> ...")'
        )
        return found

    def cls(self, name: str) -> Any:
        """Return ``torch.classes.<namespace>.<name>``; an AssertionError if there is none."""
        __tracebackhide__ = True
        import torch  # noqa: PLC0415 - takes a second

        self.check()
        try:
            return getattr(getattr(torch.classes, self.namespace), name)
        except RuntimeError:
            raise AssertionError(
                f"{self.source} registers no class {name!r}:"
                f' TORCH_LIBRARY({self.namespace}, m) needs m.class_<...>("{name}")'
            ) from None

    def symbol(self, name: str) -> Any:
        """Return the ``extern "C"`` function `name` for ctypes; an AssertionError if missing."""
        __tracebackhide__ = True
        self.check()
        try:
            return getattr(ctypes.CDLL(str(self.path)), name)
        except AttributeError:
            raise AssertionError(
                f'{self.source} exports no function {name!r}: it must be extern "C", not static,'
                " and its name must start with kata_"
            ) from None

    def launches(self) -> list[Launch]:
        """Return what the kernels of the operator's last call on the CPU did, launch by launch."""
        __tracebackhide__ = True
        self.check()
        return read_launches(self.kernels)

    def check(self) -> None:
        """End the test if there is no library."""
        if self.problem:
            pytest.fail(self.problem, pytrace=False)
