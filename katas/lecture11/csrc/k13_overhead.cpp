// tier: small
//
// Take Python out of a loop, and then the rest that is not arithmetic.
//
// Multiplying four numbers takes nanoseconds, and the operator that does it takes about a thousand.
// Is the difference Python? Write this loop in C++, and a good part of it is still there:
//
//   for _ in range(steps):
//       x = rate * x * (1 - x)        3 operators called, which call others; 2 numbers made tensors
//
// 1. plain: this loop in C++.
// 2. lean: three operators in each step, and no new memory. Operators whose name ends in an
//    underscore write to what you have; so do most that end in _out. Make the numbers tensors
//    before the loop.
//
// Both give the bits of Python's loop. The map is chaotic: another rounding is soon another number.
//
// Begin on paper: how many tensors does the lean loop need, however many steps it takes?
// Afterwards open torch/include/ATen/TensorOperators.h, in site-packages: how many operators is 1 - x
// in C++? For rate * x, read mul in aten/src/ATen/native/BinaryOps.cpp.
//
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/rsub.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/sub.h>
#include <torch/library.h>

using at::Tensor;

// ---- the exercise ------------------------------------------------------------------------

// Returns x after so many steps, as a tensor of its own; x stays as it is.
Tensor plain(const Tensor& x, double rate, int64_t steps) {
  // TODO: the operators +, - and * of C++ are those of at::Tensor.
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: plain");
}

// As plain, but no step allocates memory. x is float32 or float64, and requires no gradient.
Tensor lean(const Tensor& x, double rate, int64_t steps) {
  // TODO: tensors first, then a loop over them.
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: lean");
}

// ---- given: do not change ----------------------------------------------------------------

TORCH_LIBRARY(lecture11_k13, m) {
  m.def("plain(Tensor x, float rate, int steps) -> Tensor");
  m.def("lean(Tensor x, float rate, int steps) -> Tensor");
}

TORCH_LIBRARY_IMPL(lecture11_k13, CPU, m) {
  m.impl("plain", &plain);
  m.impl("lean", &lean);
}
