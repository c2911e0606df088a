"""One C++ source, three builds: CMake, cpp_extension.load, and a setup.py.

An operator in C++ is a shared library that registers itself when it is loaded, by static
initialisers (``TORCH_LIBRARY`` and its kin expand to them). It is no Python module: nobody imports
it, ``torch.ops.load_library(path)`` loads it. So anything that makes shared libraries can build it,
and PyTorch supports three ways: a CMake project, for C++ programs and mixed builds;
``torch.utils.cpp_extension.load``, which compiles when a script runs; and setuptools, for wheels.
Describe each of them. What you write is data, text and one call; the tests run it.

The source is one file (``SOURCE``, given). It uses PyTorch's stable ABI, whose few headers compile
in seconds, and is written for any namespace: the macro KATA_NAMESPACE has to be defined by the
build, so that three builds of it can be loaded into one process.

All three builds make a library named exactly ``<name>.so``, without a prefix lib and without the
Python version that Python modules carry, optimized with -O3, with KATA_NAMESPACE defined as
`namespace`. (On macOS too: .so.) Names and paths hold no spaces.

1. ``cmake_lists(name, source, namespace)``: the text of a CMakeLists.txt for a library `name` (a
   target of that name), made of the file `source` in the same folder. It finds PyTorch by
   find_package, no folder is written down, and takes include folders, flags and libraries from
   what that brings (${TORCH_LIBRARIES}). The library is of the kind that is loaded and never
   linked with (MODULE). C++20, and an error where the compiler does not know it. CMake 3.18 or
   newer; only C++ is enabled. Loaded by a program that has not loaded PyTorch, it finds PyTorch.
2. ``configure_command(folder, build)``: the command, as a list of strings for ``subprocess.run``,
   by which CMake reads the CMakeLists.txt in `folder` and writes build files for Ninja to `build`:
   build type Release (which is -O3 -DNDEBUG with GCC and clang), and PyTorch looked for where the
   running torch has its CMake files (``torch.utils.cmake_prefix_path``).
3. ``build_command(build)``: the command by which CMake builds what was configured there.
4. ``load_extension(name, source, namespace, folder)``: compile by ``cpp_extension.load``, in
   `folder`, which exists, and load it into this process. `source` is a path. By itself load
   optimizes nothing, and takes every library for a Python module. The standard of C++ is
   left to PyTorch, which compiles as its headers want it: C++20, before torch 2.12 C++17.
5. ``setup_arguments(name, source, namespace)``: the keyword arguments for ``setuptools.setup`` with
   one extension module, `name`, that ``build_ext`` builds by PyTorch's ``BuildExtension``. The
   library uses nothing of Python, so it shall not be linked with libtorch_python
   (``py_limited_api``), and one library serves every Python.

A working answer takes about 30 lines. CMake says that it does not find kineto: never mind.
Needs CMake and Ninja (``python -m pip install cmake ninja``); the tests build three times, some
ten seconds each. Out of scope: CUDA sources, installing, wheels, Windows.

In PyTorch: ``torch/utils/cpp_extension.py`` (``load``, ``CppExtension``, ``BuildExtension``),
``cmake/TorchConfig.cmake.in`` (what find_package reads, installed as
``torch/share/cmake/Torch/TorchConfig.cmake``), ``torch/csrc/stable/library.h``
(``STABLE_TORCH_LIBRARY``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch.utils  # noqa: F401 - your answer asks it
from torch.utils import cpp_extension  # noqa: F401 - your answer calls it


if TYPE_CHECKING:
    from pathlib import Path


# Given, do not change: an operator squared_relu(Tensor self) -> Tensor, for float32 on the CPU.
SOURCE = """\
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/core/ScalarType.h>
#include <torch/headeronly/util/Exception.h>

using torch::stable::Tensor;

namespace {

Tensor squared_relu(const Tensor& self) {
  STD_TORCH_CHECK(
      self.scalar_type() == torch::headeronly::ScalarType::Float,
      "squared_relu: expected float32");
  const auto input = torch::stable::contiguous(self);
  const auto output = torch::stable::empty_like(input);
  const auto from = static_cast<const float*>(input.data_ptr());
  const auto to = static_cast<float*>(output.data_ptr());
  for (int64_t i = 0; i < input.numel(); ++i) {
    to[i] = from[i] > 0 ? from[i] * from[i] : 0.0f;
  }
  return output;
}

} // namespace

// A macro's argument is expanded on its way into another macro, and not where # makes text of it.
#define LIBRARY(ns, m) STABLE_TORCH_LIBRARY(ns, m)
#define LIBRARY_IMPL(ns, key, m) STABLE_TORCH_LIBRARY_IMPL(ns, key, m)

LIBRARY(KATA_NAMESPACE, m) {
  m.def("squared_relu(Tensor self) -> Tensor");
}

LIBRARY_IMPL(KATA_NAMESPACE, CPU, m) {
  m.impl("squared_relu", TORCH_BOX(&squared_relu));
}
"""


def cmake_lists(name: str, source: str, namespace: str) -> str:
    """Return the text of the CMakeLists.txt."""
    # TODO: find Torch, add the library, say what is special about it.
    raise NotImplementedError("cmake_lists")


def configure_command(folder: Path, build: Path) -> list[str]:
    """Return the command that configures `folder` into `build`."""
    # TODO: source folder, build folder, generator, two variables.
    raise NotImplementedError("configure_command")


def build_command(build: Path) -> list[str]:
    """Return the command that builds what is configured in `build`."""
    # TODO: whatever the generator is, CMake can call it.
    raise NotImplementedError("build_command")


def load_extension(name: str, source: Path, namespace: str, folder: Path) -> None:
    """Compile `source` in `folder` and load the library."""
    # TODO: one call.
    raise NotImplementedError("load_extension")


def setup_arguments(name: str, source: Path, namespace: str) -> dict[str, Any]:
    """Return the keyword arguments for ``setuptools.setup``."""
    # TODO: one extension, and the command that builds it.
    raise NotImplementedError("setup_arguments")
