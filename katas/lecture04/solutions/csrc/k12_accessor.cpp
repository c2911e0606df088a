// tier: small
#include <ATen/Dispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros_like.h>
#include <torch/library.h>

#include <algorithm>

using at::Tensor;

namespace {

// ---- the exercise ------------------------------------------------------------------------

// Refuses wrong dtypes, dims, widths and sizes, so that all indices below are valid. Given.
void check(const Tensor& self, const Tensor& band, const Tensor& vec, int64_t lower, int64_t upper);

void banded_addmv_cpu(
    const Tensor& self,
    const Tensor& band,
    const Tensor& vec,
    int64_t lower,
    int64_t upper) {
  check(self, band, vec, lower, upper);
  const auto n = vec.numel();
  AT_DISPATCH_FLOATING_TYPES_AND(at::kLong, self.scalar_type(), "banded_addmv_", [&] {
    const auto a = band.accessor<const scalar_t, 2>();
    const auto x = vec.accessor<const scalar_t, 1>();
    auto y = self.accessor<scalar_t, 1>();
    for (int64_t i = 0; i < n; ++i) {
      // An accessor would not notice a column before the first or after the last.
      const auto end = std::min(n, i + upper + 1);
      for (auto j = std::max<int64_t>(0, i - lower); j < end; ++j) {
        y[i] += a[upper + i - j][j] * x[j];
      }
    }
  });
}

// ---- given: do not change ----------------------------------------------------------------

void check(
    const Tensor& self,
    const Tensor& band,
    const Tensor& vec,
    int64_t lower,
    int64_t upper) {
  const auto dtype = self.scalar_type();
  TORCH_CHECK_TYPE(
      dtype == at::kFloat || dtype == at::kDouble || dtype == at::kLong,
      "banded_mv: expected float32, float64 or int64, got ",
      dtype);
  TORCH_CHECK_TYPE(
      band.scalar_type() == dtype && vec.scalar_type() == dtype,
      "banded_mv: expected one dtype, got ",
      dtype,
      ", ",
      band.scalar_type(),
      " and ",
      vec.scalar_type());
  TORCH_CHECK_VALUE(
      band.dim() == 2 && vec.dim() == 1 && self.dim() == 1,
      "banded_mv: expected band of 2 dims, vec and self of 1, got ",
      band.dim(),
      ", ",
      vec.dim(),
      " and ",
      self.dim());
  TORCH_CHECK_VALUE(
      lower >= 0 && upper >= 0,
      "banded_mv: expected lower and upper of 0 or more, got ",
      lower,
      " and ",
      upper);
  // While torch.compile traces, a size may be a symbol; compared with an int, it becomes one.
  TORCH_CHECK_VALUE(
      band.sym_size(0) == lower + upper + 1,
      "banded_mv: expected ",
      lower + upper + 1,
      " rows of band, got ",
      band.sym_size(0));
  const auto n = band.sym_size(1);
  TORCH_CHECK_VALUE(
      vec.sym_numel() == n && self.sym_numel() == n,
      "banded_mv: expected ",
      n,
      " elements of vec and of self, got ",
      vec.sym_numel(),
      " and ",
      self.sym_numel());
}

void banded_addmv_meta(
    const Tensor& self,
    const Tensor& band,
    const Tensor& vec,
    int64_t lower,
    int64_t upper) {
  check(self, band, vec, lower, upper);
}

Tensor banded_mv_cpu(const Tensor& band, const Tensor& vec, int64_t lower, int64_t upper) {
  const auto result = at::zeros_like(vec, vec.options(), at::MemoryFormat::Contiguous);
  banded_addmv_cpu(result, band, vec, lower, upper);
  return result;
}

Tensor banded_mv_meta(const Tensor& band, const Tensor& vec, int64_t lower, int64_t upper) {
  const auto result = at::zeros_like(vec, vec.options(), at::MemoryFormat::Contiguous);
  check(result, band, vec, lower, upper);
  return result;
}

} // namespace

TORCH_LIBRARY(lecture04_k12, m) {
  m.def("banded_mv(Tensor band, Tensor vec, int lower, int upper) -> Tensor");
  m.def("banded_addmv_(Tensor(a!) self, Tensor band, Tensor vec, int lower, int upper) -> ()");
}

TORCH_LIBRARY_IMPL(lecture04_k12, CPU, m) {
  m.impl("banded_mv", &banded_mv_cpu);
  m.impl("banded_addmv_", &banded_addmv_cpu);
}

TORCH_LIBRARY_IMPL(lecture04_k12, Meta, m) {
  m.impl("banded_mv", &banded_mv_meta);
  m.impl("banded_addmv_", &banded_addmv_meta);
}
