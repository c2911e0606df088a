"""One C++ source, three builds: CMake, cpp_extension.load, and a setup.py.

An operator in C++ is a shared library that registers itself when it is loaded, by static
initialisers. Nobody imports it: torch.ops.load_library(path) loads it. So anything that makes
shared libraries can build it:

  cmake_lists       a CMake project, for C++ programs and mixed builds
  load_extension    cpp_extension.load, when a script runs
  setup_arguments   setuptools, for wheels

SOURCE (given) is written for PyTorch's stable ABI, and for any namespace. Write these three, about
23 lines.

- Each build produces <name>.so: no lib prefix, no Python version in the name.
- Each compiles with -O3, and defines KATA_NAMESPACE.
- By default, load optimizes nothing, and treats each library as a Python module.

Begin with CMake: run configure_command by hand, and read what it prints. It may say that it
cannot find kineto; ignore that.
Afterwards read with_options and __init__ of BuildExtension in torch/utils/cpp_extension.py.
Real life differs: a CUDA source adds nvcc, and an architecture for each GPU.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch.utils
from torch.utils import cpp_extension


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
    """Return the text of a CMakeLists.txt that builds <name>.so from `source`, in the same folder.

    CMake 3.18, only C++, the Torch package, a MODULE target `name`, linked with ${TORCH_LIBRARIES};
    KATA_NAMESPACE defined as `namespace`; C++20, and an error if there is none. Put no folder
    into the text.
    """
    # TODO: find Torch, add the library, set what the docstring lists.
    raise NotImplementedError("cmake_lists")


def configure_command(folder: Path, build: Path) -> list[str]:
    """Return the command that configures `folder` into `build`. Given, do not change."""
    return [
        *("cmake", "-S", str(folder), "-B", str(build), "-G", "Ninja"),
        "-DCMAKE_BUILD_TYPE=Release",
        f"-DCMAKE_PREFIX_PATH={torch.utils.cmake_prefix_path}",
    ]


def build_command(build: Path) -> list[str]:
    """Return the command that builds what is configured in `build`. Given, do not change."""
    return ["cmake", "--build", str(build)]


def load_extension(name: str, source: Path, namespace: str, folder: Path) -> None:
    """Compile `source` in `folder`, which exists, by cpp_extension.load, and load the library.

    Leave the C++ standard to PyTorch.
    """
    # TODO: one call.
    raise NotImplementedError("load_extension")


def setup_arguments(name: str, source: Path, namespace: str) -> dict[str, Any]:
    """Return the keyword arguments for ``setuptools.setup``: one extension module, `name`.

    PyTorch's BuildExtension builds it. The source does not use Python: do not link it with
    libtorch_python (py_limited_api), so that one library serves every Python.
    """
    # TODO: one extension, and the command that builds it.
    raise NotImplementedError("setup_arguments")
