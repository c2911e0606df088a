// tier: iter
//
// Structured kernels: write one meta function for three operators.
//
// add, add_ and add.out get their result tensor in three ways, and each used to check shapes
// itself, not always in the same way. Now one function computes shape and dtype, and asks for such
// a tensor. A different class answers in each case:
//
//   tropical_addr(self, row, col)             Functional    allocates
//   tropical_addr(self, row, col, out=out)    Out           checks out, resizes it
//   tropical_addr_(self, row, col)            Inplace       checks self
//
//   a call -> meta -> set_output_raw_strided, of one of the three -> impl
//
// The operator writes max(self[i][j], row[i] + col[j]) to element i, j of its result. That is impl,
// which is given, like all checks.
//
// 1. meta: check, then ask for the output, 2 lines.
// 2. set_output_raw_strided of the three classes, one or two lines each.
// 3. functional, out and inplace: the functions that the three operators run, 3 or 4 lines each.
//
// Begin on paper: follow a call of the functional operator along the arrows. Which step knows that
// it is not in place?
// Afterwards open torchgen/dest/register_dispatch_key.py in site-packages (gen_class, gen_one): it
// writes your steps 2 and 3 for each operator.
//
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

// Asks for output 0: one row for each element of row, one column for each of col, the dtype of
// `checked`, on the device of self. It reads shapes and dtypes, but no elements.
TORCH_META_FUNC(tropical_addr)(const Tensor& self, const Tensor& row, const Tensor& col) {
  // TODO: set_output_raw_strided takes 0, sizes, strides ({} for contiguous), options.
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: meta");
}

// Each class sets `output` to the requested tensor. A new tensor is contiguous; an out with the
// right sizes keeps its strides, otherwise resize it (at::native::resize_output); leave self
// unchanged if it fits.
template <class Structured>
struct Functional final : Structured {
  void set_output_raw_strided(
      int64_t, IntArrayRef sizes, IntArrayRef, TensorOptions options KATA_DIM_NAMES) override {
    // TODO
    TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: Functional");
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
    // TODO
    TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: Out");
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
    // TODO
    TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: Inplace");
  }
  const Tensor& maybe_get_output(int64_t) override {
    return output;
  }
  Tensor& output;
};

// Structured is structured_tropical_addr_cpu or _meta. Functional<Structured> and the other two
// classes inherit its meta and impl; maybe_get_output(0) returns the tensor that impl writes to.
template <class Structured>
Tensor functional(const Tensor& self, const Tensor& row, const Tensor& col) {
  // TODO: an object of Functional<Structured>, meta, impl.
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: functional");
}

template <class Structured>
Tensor& out(const Tensor& self, const Tensor& row, const Tensor& col, Tensor& out) {
  // TODO
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: out");
}

template <class Structured>
Tensor& inplace(Tensor& self, const Tensor& row, const Tensor& col) {
  // TODO
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: inplace");
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
