// tier: small
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

std::tuple<Tensor, Tensor> leaky_clamp_cpu(
    const Tensor& self,
    double low,
    double high,
    double below,
    double above) {
  check(self, low, high, below, above);
  const auto input = self.contiguous();
  const auto output = at::empty_like(input);
  const auto clipped = at::zeros({2}, self.options().dtype(at::kLong));
  const auto counts = clipped.mutable_data_ptr<int64_t>();
  AT_DISPATCH_FLOATING_TYPES(self.scalar_type(), "leaky_clamp", [&] {
    const auto from = input.const_data_ptr<scalar_t>();
    const auto to = output.mutable_data_ptr<scalar_t>();
    for (int64_t i = 0; i < input.numel(); ++i) {
      // A float would round the bounds before the comparison.
      const double x = from[i];
      counts[0] += x < low;
      counts[1] += x > high;
      // NaN is beyond neither bound.
      to[i] = x < low ? compress(x, low, below) : x > high ? compress(x, high, above) : x;
    }
  });
  return {output, clipped};
}

std::tuple<Tensor, Tensor> leaky_clamp_meta(
    const Tensor& self,
    double low,
    double high,
    double below,
    double above) {
  check(self, low, high, below, above);
  const auto output = at::empty_like(self, self.options(), at::MemoryFormat::Contiguous);
  return {output, at::empty({2}, self.options().dtype(at::kLong))};
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

TORCH_LIBRARY_IMPL(lecture04_k02, CPU, m) {
  m.impl("leaky_clamp", &leaky_clamp_cpu);
}

TORCH_LIBRARY_IMPL(lecture04_k02, Meta, m) {
  m.impl("leaky_clamp", &leaky_clamp_meta);
}
