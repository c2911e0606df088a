// tier: small
//
// Write a clamp that leaks: one operator, two kernels.
//
// torch.clamp forgets how far an element was beyond a bound. This one lets part of the excess
// through:
//
//                 x    -4    -1    0   0.5   1   3
//     leaky_clamp of x, low=0, high=1, below=0.5, above=0
//            output    -2  -0.5    0   0.5   1   1
//           clipped    2 below, 1 above
//
// In k01 one function served every key. Here each has its own: the CPU kernel computes, and the
// Meta kernel returns the shapes that would result, so that torch.compile can plan.
//
// 1. leaky_clamp_cpu: two new tensors and a loop. AT_DISPATCH_FLOATING_TYPES compiles the loop once
//    per dtype, as scalar_t.
// 2. leaky_clamp_meta: the same two tensors, without data.
// 3. Register each for its key. About 25 lines in all; the checks and the schema are given.
//
// - Call no operator that calculates: a kernel is the bottom of the stack. at::empty and at::zeros
//   are allowed.
// - The elements of x.t() are in a different order in memory. ATen can make a contiguous copy.
//
// Begin with the third step: the tests then tell you what else is missing.
// Afterwards read the comment of aten/src/ATen/Dispatch.h (torch/include/ATen/Dispatch.h in
// site-packages).
//
#include <ATen/Dispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>
#include <torch/library.h>

#include <tuple>

using at::Tensor;

namespace {

// Refuses dtypes other than float32 and float64, crossed bounds, slopes outside [0, 1]. Given.
void check(const Tensor& self, double low, double high, double below, double above);

// Returns the new value of an x beyond bound. Given.
double compress(double x, double bound, double slope);

// ---- the exercise ------------------------------------------------------------------------

// Returns output and clipped.
// output has the shape and dtype of self, each element x replaced by compress(x, low, below) if x <
// low and by compress(x, high, above) if x > high. Everything else stays: the bounds, -0.0, NaN.
// clipped has two int64 elements: how many were below low, how many above high.
// - self may have any shape and strides; do not change it.
// - output is new and contiguous, even where nothing changes.
// - Compare and compute in double: 0.1 is not a float. Round only when an element is stored.
std::tuple<Tensor, Tensor> leaky_clamp_cpu(
    const Tensor& self,
    double low,
    double high,
    double below,
    double above) {
  check(self, low, high, below, above);
  // TODO: a contiguous input, two new tensors, one loop for each dtype.
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: leaky_clamp_cpu");
}

// Returns two tensors like those of the CPU kernel, on self's device, which is meta. While
// torch.compile traces, a size may be a symbol: at::empty_like(self, ...) keeps it, but
// self.sizes() turns it into the int that it happens to be.
std::tuple<Tensor, Tensor> leaky_clamp_meta(
    const Tensor& self,
    double low,
    double high,
    double below,
    double above) {
  check(self, low, high, below, above);
  // TODO: two tensors without data.
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: leaky_clamp_meta");
}

// ---- given: do not change ----------------------------------------------------------------

void check(const Tensor& self, double low, double high, double below, double above) {
  const auto dtype = self.scalar_type();
  TORCH_CHECK_TYPE(
      dtype == at::kFloat || dtype == at::kDouble,
      "leaky_clamp: expected float32 or float64, got ",
      dtype);
  // Written so that NaN, for which every comparison is false, is refused.
  TORCH_CHECK_VALUE(low <= high, "leaky_clamp: expected low <= high, got ", low, " and ", high);
  TORCH_CHECK_VALUE(
      0 <= below && below <= 1, "leaky_clamp: expected below in [0, 1], got ", below);
  TORCH_CHECK_VALUE(
      0 <= above && above <= 1, "leaky_clamp: expected above in [0, 1], got ", above);
}

double compress(double x, double bound, double slope) {
  // 0 * inf is NaN.
  return slope == 0 ? bound : bound + slope * (x - bound);
}

} // namespace

TORCH_LIBRARY(lecture04_k02, m) {
  m.def(
      "leaky_clamp(Tensor self, float low, float high, *, float below=0., float above=0.)"
      " -> (Tensor output, Tensor clipped)");
}

// ---- the exercise ------------------------------------------------------------------------

// TODO: a block TORCH_LIBRARY_IMPL(lecture04_k02, CPU, m), and one for Meta: in each, m.impl takes
// the operator's name and a pointer to the kernel.
