"""The value of the fixture ``extension``: operators, classes and functions of a built library."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from dataclasses import field
from typing import TYPE_CHECKING
from typing import Any

import pytest


if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from plugins.course.model import Kata


@dataclass(frozen=True)
class Extension:
    """The loaded library of a kata's C++ source, or why there is none.

    Attributes
    ----------
    path
        The library.
    namespace
        The namespace of its operators and classes: ``torch.ops.lecture04_k03``.
    source
        The learner's file, as messages call it.
    problem
        Why there is no library; empty if there is one. A test with a problem fails before
        its first line, so no test needs to look here.
    """

    path: Path = field(repr=False)
    namespace: str
    source: str
    problem: str = field(default="", repr=False)

    def op(self, name: str) -> Any:
        """Return ``torch.ops.<namespace>.<name>``; an AssertionError if nothing defines it."""
        __tracebackhide__ = True
        import torch  # noqa: PLC0415 - takes a second

        self.check()
        found = getattr(getattr(torch.ops, self.namespace), name, None)
        if found is None:
            raise AssertionError(
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

    def check(self) -> None:
        """Fail the test if there is no library."""
        if self.problem:
            pytest.fail(self.problem, pytrace=False)


class ExtensionHooks:
    """The hook by which another language takes part in the fixture."""

    @pytest.hookspec(firstresult=True)
    def pytest_kata_extension(
        self,
        extension: Extension,
        libraries: Mapping[str, Path],
        kata: Kata,
        config: pytest.Config,
        loaded: bool,  # noqa: FBT001 - pluggy passes no keyword-only arguments
    ) -> Extension | None:
        """Return the value of the fixture ``extension`` for `kata`, or None to leave it as it is.

        ``plugins.native.plugin`` calls it after the build: `extension` has the library of the
        operators, `libraries` are all by their names, those of other languages first. Some are
        missing if `extension` has a problem. `loaded` is false for the fixture ``unloaded``.

        A package that brings a language implements it, as ``plugins/cuda/simt.py`` does.
        """
