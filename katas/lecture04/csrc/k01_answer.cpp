// tier: small
//
// Turn three lines of C++ into a PyTorch operator.
//
// torch.add is not written in Python: it is a C++ function with a schema, registered under a name.
// Register one of your own, and see what you get for free:
//
//     answer = torch.ops.lecture04_k01.answer
//     answer(torch.tensor(6.0))                     # tensor(42.)
//     answer(x).sum().backward()                    # a gradient that you have not written
//     answer(torch.empty(2**40, device="meta"))     # a shape, without 4 TB of memory
//
// 1. answer returns (x + 1) * (2 * x - 6): in C++ tensors have + - * too.
// 2. m.def registers it, with the schema answer(Tensor x) -> Tensor.
//
// Begin with the second step, and run the tests.
// Afterwards open torch/include/torch/library.h in site-packages, and read its first comment.
//
#include <ATen/core/Tensor.h>
#include <ATen/TensorOperators.h>
#include <torch/library.h>

using at::Tensor;

Tensor answer(const Tensor& x) {
  // TODO: one line.
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: answer");
}

TORCH_LIBRARY(lecture04_k01, m) {
  // TODO: m.def takes two arguments, the schema as text and a pointer to the function: &answer.
}
