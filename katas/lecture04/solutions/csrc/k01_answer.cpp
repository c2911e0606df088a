// tier: small
#include <ATen/core/Tensor.h>
#include <ATen/TensorOperators.h>
#include <torch/library.h>

using at::Tensor;

Tensor answer(const Tensor& x) {
  return (x + 1) * (2 * x - 6);
}

TORCH_LIBRARY(lecture04_k01, m) {
  // Registered without a key, it is a kernel for every backend: the operators it calls have meta
  // kernels and derivatives, so it has them too.
  m.def("answer(Tensor x) -> Tensor", &answer);
}
