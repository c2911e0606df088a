// tier: iter
#include <ATen/Dispatch.h>
#include <ATen/ExpandUtils.h>
#include <ATen/TensorMeta.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/Resize.h>
#include <ATen/native/TypeProperties.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <vector>

#include "compat.h"

using at::IntArrayRef;
using at::Tensor;
using at::TensorOptions;

namespace {

// ---- given: do not change ----------------------------------------------------------------

// These are declared in generated headers too. TORCH_META_FUNC(x) begins the definition of
// structured_x::meta, TORCH_IMPL_FUNC(x) that of structured_x::impl.
struct structured_tropical_addr : at::impl::MetaBase {
  void meta(const Tensor& self, const Tensor& row, const Tensor& col);
};

struct structured_tropical_addr_cpu : structured_tropical_addr {
  void impl(const Tensor& self, const Tensor& row, const Tensor& col, const Tensor& out);
};

struct structured_tropical_addr_meta : structured_tropical_addr {
  void impl(const Tensor&, const Tensor&, const Tensor&, const Tensor&) {}
};

// Refuses operands that do not fit, and returns the dtype of the result.
at::ScalarType checked(const Tensor& self, const Tensor& row, const Tensor& col);

// Refuses an out whose dtype or device differs from `options`.
void check_out(const Tensor& out, const TensorOptions& options);

// Refuses a self of a different dtype or different sizes.
void check_inplace(const Tensor& self, IntArrayRef sizes, const TensorOptions& options);

// ---- the exercise ------------------------------------------------------------------------

TORCH_META_FUNC(tropical_addr)(const Tensor& self, const Tensor& row, const Tensor& col) {
  const auto dtype = checked(self, row, col);
  // The derived class knows what to do.
  set_output_raw_strided(0, {row.numel(), col.numel()}, {}, self.options().dtype(dtype));
}

template <class Structured>
struct Functional final : Structured {
  void set_output_raw_strided(
      int64_t, IntArrayRef sizes, IntArrayRef, TensorOptions options KATA_DIM_NAMES) override {
    output = at::empty(sizes, options);
  }
  const Tensor& maybe_get_output(int64_t) override {
    return output;
  }
  Tensor output;
};

template <class Structured>
struct Out final : Structured {
  explicit Out(Tensor& out) : output(out) {}
  void set_output_raw_strided(
      int64_t, IntArrayRef sizes, IntArrayRef, TensorOptions options KATA_DIM_NAMES) override {
    check_out(output, options);
    at::native::resize_output(output, sizes);
  }
  const Tensor& maybe_get_output(int64_t) override {
    return output;
  }
  Tensor& output;
};

template <class Structured>
struct Inplace final : Structured {
  explicit Inplace(Tensor& self) : output(self) {}
  void set_output_raw_strided(
      int64_t, IntArrayRef sizes, IntArrayRef, TensorOptions options KATA_DIM_NAMES) override {
    check_inplace(output, sizes, options);
  }
  const Tensor& maybe_get_output(int64_t) override {
    return output;
  }
  Tensor& output;
};

template <class Structured>
Tensor functional(const Tensor& self, const Tensor& row, const Tensor& col) {
  Functional<Structured> op;
  op.meta(self, row, col);
  op.impl(self, row, col, op.output);
  return op.output;
}

template <class Structured>
Tensor& out(const Tensor& self, const Tensor& row, const Tensor& col, Tensor& out) {
  Out<Structured> op(out);
  op.meta(self, row, col);
  op.impl(self, row, col, op.output);
  return out;
}

template <class Structured>
Tensor& inplace(Tensor& self, const Tensor& row, const Tensor& col) {
  Inplace<Structured> op(self);
  op.meta(self, row, col);
  op.impl(self, row, col, op.output);
  return self;
}

// ---- given: do not change ----------------------------------------------------------------

at::ScalarType checked(const Tensor& self, const Tensor& row, const Tensor& col) {
  TORCH_CHECK_VALUE(
      row.dim() == 1 && col.dim() == 1,
      "tropical_addr: expected row and col of 1 dim, got ",
      row.dim(),
      " and ",
      col.dim());
  const std::vector<int64_t> sizes{row.numel(), col.numel()};
  TORCH_CHECK_VALUE(
      at::is_expandable_to(self.sizes(), sizes),
      "tropical_addr: expected self to expand to ",
      IntArrayRef(sizes),
      ", got ",
      self.sizes());
  const auto dtype = at::native::result_type(std::vector<Tensor>{self, row, col});
  TORCH_CHECK_TYPE(
      dtype == at::kFloat || dtype == at::kDouble || dtype == at::kLong,
      "tropical_addr: cannot compute in ",
      dtype);
  return dtype;
}

void check_out(const Tensor& out, const TensorOptions& options) {
  TORCH_CHECK(
      options.dtype() == out.dtype(),
      "Expected out tensor to have dtype ",
      options.dtype(),
      ", but got ",
      out.dtype(),
      " instead");
  TORCH_CHECK(
      options.device() == out.device(),
      "Expected out tensor to have device ",
      options.device(),
      ", but got ",
      out.device(),
      " instead");
}

void check_inplace(const Tensor& self, IntArrayRef sizes, const TensorOptions& options) {
  TORCH_CHECK(
      options.dtype() == self.dtype(),
      "Bad in-place call: input tensor dtype ",
      self.dtype(),
      " and output tensor dtype ",
      options.dtype(),
      " should match");
  TORCH_CHECK(
      sizes == self.sizes(),
      "Bad in-place call: input tensor size ",
      self.sizes(),
      " and output tensor size ",
      sizes,
      " should match");
}

TORCH_IMPL_FUNC(tropical_addr_cpu)
(const Tensor& self, const Tensor& row, const Tensor& col, const Tensor& out) {
  const auto dtype = out.scalar_type();
  const auto expanded = self.to(dtype).expand(out.sizes());
  const auto rows = row.to(dtype);
  const auto cols = col.to(dtype);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kLong, dtype, "tropical_addr", [&] {
    const auto a = expanded.accessor<const scalar_t, 2>();
    const auto x = rows.accessor<const scalar_t, 1>();
    const auto y = cols.accessor<const scalar_t, 1>();
    auto result = out.accessor<scalar_t, 2>();
    for (int64_t i = 0; i < result.size(0); ++i) {
      for (int64_t j = 0; j < result.size(1); ++j) {
        const auto known = a[i][j];
        const auto sum = x[i] + y[j];
        // NaN is not equal to itself, and nothing is greater than NaN.
        result[i][j] = known > sum || known != known ? known : sum;
      }
    }
  });
}

} // namespace

TORCH_LIBRARY(lecture04_k14, m) {
  m.def("tropical_addr(Tensor self, Tensor row, Tensor col) -> Tensor");
  m.def("tropical_addr.out(Tensor self, Tensor row, Tensor col, *, Tensor(a!) out) -> Tensor(a!)");
  m.def("tropical_addr_(Tensor(a!) self, Tensor row, Tensor col) -> Tensor(a!)");
}

TORCH_LIBRARY_IMPL(lecture04_k14, CPU, m) {
  m.impl("tropical_addr", &functional<structured_tropical_addr_cpu>);
  m.impl("tropical_addr.out", &out<structured_tropical_addr_cpu>);
  m.impl("tropical_addr_", &inplace<structured_tropical_addr_cpu>);
}

TORCH_LIBRARY_IMPL(lecture04_k14, Meta, m) {
  m.impl("tropical_addr", &functional<structured_tropical_addr_meta>);
  m.impl("tropical_addr.out", &out<structured_tropical_addr_meta>);
  m.impl("tropical_addr_", &inplace<structured_tropical_addr_meta>);
}
