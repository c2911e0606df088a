// tier: iter
//
// TensorIterator does everything in an elementwise operator except its formula.
//
// Besides dividing, torch.true_divide broadcasts, promotes dtypes, resizes out=, keeps
// channels-last strides and shares the work among threads. It does none of that itself:
//
//   operands -> TensorIteratorConfig -> TensorIterator -> cpu_kernel(iterator, one element)
//               your settings           shape, dtype,     your formula
//                                       strides, copies
//
// The operator is relative_error(self, other): |x - y| / |y|, and 0 where x == y, even for zeros
// and infinities.
//
// 1. plan, about 9 lines: three operands and four settings.
// 2. compute, about 8 lines: a loop for each dtype, which calls note() once for each element: the
//    tests count the calls.
//
// The four kernels are given, for CPU and Meta, with and without out=.
//
// Begin with only the operands, and let the tests lead you to one setting after another: the
// setters have comments in torch/include/ATen/TensorIterator.h, in site-packages.
// Afterwards look for your settings in binary_float_op, in aten/src/ATen/TensorIterator.cpp.
//
#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <ATen/TensorIterator.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/cpu/Loops.h>
#include <torch/library.h>

#include <atomic>
#include <bitset>
#include <cmath>
#include <tuple>

using at::Tensor;

namespace {

// ---- given: do not change ----------------------------------------------------------------

// For the tests: how many elements were computed, and in how many threads.
std::atomic<int64_t> elements{0};
std::atomic<uint64_t> threads{0};

void note() {
  ++elements;
  threads |= uint64_t{1} << (at::get_thread_num() % 64);
}

// ---- the exercise ------------------------------------------------------------------------

// Returns an iterator over the three operands; it allocates an undefined `out`.
// - The common dtype is that of torch.true_divide(self, other): dtypes are promoted, and integers
//   and bools become the default dtype.
// - out has any dtype that the common dtype can be cast to: float64 for float32, not int64.
// - self and other are const, so that lazily shared memory is not copied.
at::TensorIterator plan(const Tensor& out, const Tensor& self, const Tensor& other) {
  // TODO: a TensorIteratorConfig with chained setters; build() comes last.
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: plan");
}

// Computes each element, in the common dtype, which is float or double.
void compute(at::TensorIterator& iterator) {
  // TODO: cpu_kernel takes the iterator, and a lambda of two numbers that returns one.
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: compute");
}

// ---- given: do not change ----------------------------------------------------------------

Tensor relative_error_cpu(const Tensor& self, const Tensor& other) {
  const Tensor undefined;
  auto iterator = plan(undefined, self, other);
  compute(iterator);
  return iterator.output();
}

Tensor& relative_error_out_cpu(const Tensor& self, const Tensor& other, Tensor& out) {
  auto iterator = plan(out, self, other);
  compute(iterator);
  return out;
}

// A TensorIterator of meta tensors has shapes, dtypes and strides, and resizes out=.
Tensor relative_error_meta(const Tensor& self, const Tensor& other) {
  const Tensor undefined;
  return plan(undefined, self, other).output();
}

Tensor& relative_error_out_meta(const Tensor& self, const Tensor& other, Tensor& out) {
  plan(out, self, other);
  return out;
}

// What was counted since the last call.
std::tuple<int64_t, int64_t> counts() {
  return {elements.exchange(0), std::bitset<64>(threads.exchange(0)).count()};
}

} // namespace

TORCH_LIBRARY(lecture04_k13, m) {
  m.def("counts() -> (int elements, int threads)", &counts);
  m.def("relative_error(Tensor self, Tensor other) -> Tensor");
  m.def("relative_error.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)");
}

TORCH_LIBRARY_IMPL(lecture04_k13, CPU, m) {
  m.impl("relative_error", &relative_error_cpu);
  m.impl("relative_error.out", &relative_error_out_cpu);
}

TORCH_LIBRARY_IMPL(lecture04_k13, Meta, m) {
  m.impl("relative_error", &relative_error_meta);
  m.impl("relative_error.out", &relative_error_out_meta);
}
