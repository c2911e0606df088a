// tier: small
#include <ATen/core/Tensor.h>
#include <torch/library.h>

using at::Tensor;

namespace {

// ---- given: do not change ----------------------------------------------------------------

Tensor negate_(const Tensor& self) {
  return self.neg_();
}

Tensor first_half(const Tensor& self) {
  return self.narrow(0, 0, self.size(0) / 2);
}

void add_to(const Tensor& x, const Tensor& total) {
  total.add_(x);
}

Tensor halved(const Tensor& self) {
  return self.mul(0.5);
}

Tensor keep_max_(const Tensor& self, const Tensor& other) {
  return self.copy_(self.maximum(other));
}

} // namespace

// ---- the exercise ------------------------------------------------------------------------

TORCH_LIBRARY(lecture04_k03, m) {
  m.def("negate_(Tensor(a!) self) -> Tensor(a!)");
  m.def("first_half(Tensor(a) self) -> Tensor(a)");
  m.def("add_to(Tensor x, Tensor(a!) total) -> ()");
  // A promise of sharing that is not kept makes nothing faster, and a compiler copies for it.
  m.def("halved(Tensor self) -> Tensor");
  m.def("keep_max_(Tensor(a!) self, Tensor other) -> Tensor(a!)");
}

// ---- given: do not change ----------------------------------------------------------------

TORCH_LIBRARY_IMPL(lecture04_k03, CPU, m) {
  m.impl("negate_", &negate_);
  m.impl("first_half", &first_half);
  m.impl("add_to", &add_to);
  m.impl("halved", &halved);
  m.impl("keep_max_", &keep_max_);
}
