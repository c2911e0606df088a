// tier: small
//
// Take Python out of a loop, and then the other overhead too.
//
// Multiplying four numbers takes nanoseconds, but the operator that does it takes about a thousand.
// Is the difference Python? Write this loop in C++, and a good part of the difference remains:
//
//   for _ in range(steps):
//       x = rate * x * (1 - x)     3 operators called, which call others; 2 numbers become tensors
//
// 1. plain: this loop in C++.
// 2. lean: three operators in each step, and no new memory. Operators whose name ends in an
//    underscore write to an existing tensor; so do most that end in _out. Turn the numbers into
//    tensors before the loop.
//
// Both must equal Python's loop bit for bit. The map is chaotic, so any rounding difference soon shows.
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

// Return x after this many steps, as a new tensor; leave x unchanged.
Tensor plain(const Tensor& x, double rate, int64_t steps) {
  // TODO: at::Tensor has the C++ operators +, - and *.
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: plain");
}

// Like plain, but allocate no memory in a step. x is float32 or float64, and requires no gradient.
Tensor lean(const Tensor& x, double rate, int64_t steps) {
  // TODO: first create the tensors, then loop.
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
