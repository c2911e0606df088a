// tier: iter
//
// TensorIterator: everything about an elementwise operator but its formula.
//
// Broadcasting, type promotion, out= with its rules, any strides, a good memory layout for the
// result, threads: every elementwise operator of PyTorch has them, and none does them itself.
// They describe their operands to a TensorIterator, and give it a function of one element each.
//
// The operator is relative_error(self, other): |x - y| / |y|, and 0 where x == y, be they zeros
// or infinities. The schemas and registrations are given. Write the four kernels: with and
// without out=, for CPU and Meta.
//
// - Shapes broadcast. Shapes that do not are TensorIterator's RuntimeError, "The size of tensor
//   a (2) must match the size of tensor b (3) ...".
// - The common dtype is that of torch.true_divide(self, other): inputs are promoted, and integers
//   and bools become the default dtype. It is the dtype of the result. float32 and float64 are
//   computed; float16, bfloat16 and complex are out of scope.
// - Any strides. The result is laid out as TensorIterator lays it out: two permuted inputs give a
//   permuted result (as by torch.true_divide), not a contiguous one.
// - out=: is returned, and resized if its shape is another (a warning if it had elements). Its
//   strides are honoured otherwise. It may have any dtype that the common dtype can be cast to
//   (float64 for float32, not int64: RuntimeError, "result type Float can't be cast to the
//   desired output type Long"). If it overlaps itself, or an input in part, that is a
//   RuntimeError ("unsupported operation: ..."). It may be one of the inputs, which cannot be
//   resized (RuntimeError, "output with shape [3] doesn't match the broadcast shape [2, 3]").
// - From 32768 elements on (at::internal::GRAIN_SIZE) the work is shared by at::get_num_threads()
//   threads. Wherever an element is computed, call note() (given), which tells the tests how
//   many were computed and in which threads: each element of the result exactly once.
//   Converting to and from the common dtype is TensorIterator's affair.
// - The inputs are const: to ask for them as such keeps a lazy copy (copy on write) lazy.
// - The Meta kernels use the same description of the operands, and stop before any element:
//   a TensorIterator of meta tensors has shapes, dtypes and strides, and out= is resized.
//
// All the behaviours above are properties of one TensorIteratorConfig; the kernels are short.
// An iterator borrows its operands: the tensors must live as long as it does. An undefined
// output is what it allocates.
// Out of scope: autograd, symbolic sizes, CUDA.
// About 35 lines. In PyTorch: aten/src/ATen/TensorIterator.h (TensorIteratorConfig),
// aten/src/ATen/native/cpu/Loops.h (cpu_kernel), and the binary operators, for example
// aten/src/ATen/native/cpu/BinaryOpsKernel.cpp.
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

// For the tests: how many elements were computed, and in which threads.
std::atomic<int64_t> elements{0};
std::atomic<uint64_t> threads{0};

void note() {
  ++elements;
  threads |= uint64_t{1} << (at::get_thread_num() % 64);
}

// Both since the last call.
std::tuple<int64_t, int64_t> counts() {
  return {elements.exchange(0), std::bitset<64>(threads.exchange(0)).count()};
}

// ---- the exercise ------------------------------------------------------------------------

Tensor relative_error_cpu(const Tensor& self, const Tensor& other) {
  // TODO: an undefined output, an iterator, a loop for each dtype.
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: relative_error_cpu");
}

Tensor& relative_error_out_cpu(const Tensor& self, const Tensor& other, Tensor& out) {
  // TODO: the same, with the output that there is.
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: relative_error_out_cpu");
}

Tensor relative_error_meta(const Tensor& self, const Tensor& other) {
  // TODO: the iterator alone.
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: relative_error_meta");
}

Tensor& relative_error_out_meta(const Tensor& self, const Tensor& other, Tensor& out) {
  // TODO: likewise.
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: relative_error_out_meta");
}

// ---- given: do not change ----------------------------------------------------------------

} // namespace

TORCH_LIBRARY(lecture04_k06, m) {
  m.def("counts() -> (int elements, int threads)", &counts);
  m.def("relative_error(Tensor self, Tensor other) -> Tensor");
  m.def("relative_error.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)");
}

TORCH_LIBRARY_IMPL(lecture04_k06, CPU, m) {
  m.impl("relative_error", &relative_error_cpu);
  m.impl("relative_error.out", &relative_error_out_cpu);
}

TORCH_LIBRARY_IMPL(lecture04_k06, Meta, m) {
  m.impl("relative_error", &relative_error_meta);
  m.impl("relative_error.out", &relative_error_out_meta);
}
