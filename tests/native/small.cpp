// tier: small
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>
#include <torch/library.h>

namespace {

at::Tensor twice(const at::Tensor& self) {
  TORCH_CHECK(self.is_contiguous(), "twice: expected a contiguous tensor");
  at::Tensor out = at::empty_like(self);
  const float* from = self.const_data_ptr<float>();
  float* to = out.mutable_data_ptr<float>();
  for (int64_t i = 0; i < self.numel(); ++i) {
    to[i] = 2 * from[i];
  }
  return out;
}

}  // namespace

TORCH_LIBRARY(lecture01_k01, m) {
  m.def("twice(Tensor self) -> Tensor");
}

TORCH_LIBRARY_IMPL(lecture01_k01, CPU, m) {
  m.impl("twice", &twice);
}
