// tier: small
//
// Debug: the kernels are right, and their schemas lie.
//
// A schema is a promise. Tensor(a!) is written to; two that share a letter may share memory; all
// else is read, or new. PyTorch never looks into your kernel to see whether that is true:
//
//     def f(x, total):
//         torch.ops.lecture04_k03.add_to(x, total)    # a write that its schema hides
//     graph = make_fx(f)(x, total).graph
//     graph.eliminate_dead_code()                     # and the call is gone
//
// Of the five schemas below, four are false. Mend those.
//
// Begin with negate_: compare its schema with that of torch.ops.aten.neg_.default.
// Afterwards read opcheck in torch/library.py, in site-packages: it finds such lies.
//
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
  // TODO: four of these are false. The code is written, so no NotImplementedError says where.
  m.def("negate_(Tensor self) -> Tensor");
  m.def("first_half(Tensor self) -> Tensor");
  m.def("add_to(Tensor x, Tensor total) -> ()");
  m.def("halved(Tensor(a) self) -> Tensor(a)");
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
