"""A kata in CUDA C++: one kernel, and the operator around it."""

from __future__ import annotations

from pathlib import Path


HEADER = Path(__file__).parents[2] / "katas/lecture09/csrc/launch.h"
OPERATOR = """// tier: small
#include "launch.h"

static at::Tensor twice(const at::Tensor& x) {
    const at::Tensor y = at::empty(x.sizes(), x.options());
    Launch launch("kata_twice", x);
    launch.in(x, "x").out(y, "y");
    launch(static_cast<int>(x.numel()), pointer<const float>(x), pointer<float>(y));
    return y;
}
TORCH_LIBRARY(lecture01_k01, m) { m.def("twice(Tensor x) -> Tensor"); }
TORCH_LIBRARY_IMPL(lecture01_k01, CPU, m) { m.impl("twice", twice); }
"""
KERNEL = """
__global__ void twice(int n, const float* x, float* y) {
    const int i = threadIdx.x;
    if (i < n) y[i] = x[i] + x[i];
}
extern "C" cudaError_t kata_twice(int n, const float* x, float* y, cudaStream_t stream) {
    twice<<<1, 64, 0, stream>>>(n, x, y);
    return cudaGetLastError();
}
"""
