// tier: small
// Given: the operator around the kernel. lecture09_k27::matmul takes CPU and CUDA tensors.

#include "launch.h"

#include <ATen/ops/empty.h>
#include <torch/library.h>

using at::Tensor;

static void check(const Tensor& a, const Tensor& b) {
    TORCH_CHECK(a.scalar_type() == at::kFloat && b.scalar_type() == at::kFloat, "matmul: expected float32");
    TORCH_CHECK(a.dim() == 2 && b.dim() == 2 && a.sym_size(1) == b.sym_size(0), "matmul: expected a of m x k and b of k x n");
}

static Tensor matmul_meta(const Tensor& a, const Tensor& b) {
    check(a, b);
    return at::empty_symint({a.sym_size(0), b.sym_size(1)}, a.options());
}

static Tensor matmul(const Tensor& a, const Tensor& b) {
    check(a, b);
    TORCH_CHECK(a.device() == b.device(), "matmul: expected a and b on one device");
    const Tensor as = a.contiguous(), bs = b.contiguous(), out = at::empty({a.size(0), b.size(1)}, a.options());
    const int64_t most = 1 << 19, elements = 1 << 30;
    TORCH_CHECK(a.size(0) <= most && a.size(1) <= most && b.size(1) <= most, "matmul: expected sizes up to 2^19");
    TORCH_CHECK(as.numel() < elements && bs.numel() < elements && out.numel() < elements, "matmul: expected less than 2^30 elements");
    Launch launch("kata_matmul", as);
    launch.in(as, "a").in(bs, "b").out(out, "out");
    launch(static_cast<int>(as.size(0)), static_cast<int>(as.size(1)), static_cast<int>(bs.size(1)),
           pointer<const float>(as), pointer<const float>(bs), pointer<float>(out));
    return out;
}

TORCH_LIBRARY(lecture09_k27, m) { m.def("matmul(Tensor a, Tensor b) -> Tensor"); }
TORCH_LIBRARY_IMPL(lecture09_k27, CPU, m) { m.impl("matmul", matmul); }
TORCH_LIBRARY_IMPL(lecture09_k27, CUDA, m) { m.impl("matmul", matmul); }
TORCH_LIBRARY_IMPL(lecture09_k27, Meta, m) { m.impl("matmul", matmul_meta); }
