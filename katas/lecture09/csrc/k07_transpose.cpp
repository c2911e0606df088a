// tier: small
// Given: the operator around the kernel. lecture09_k07::transpose takes a CPU or CUDA tensor,
// and returns a new contiguous one.

#include "launch.h"

#include <ATen/ops/empty.h>
#include <torch/library.h>

using at::Tensor;

static void check(const Tensor& x) {
    TORCH_CHECK(x.scalar_type() == at::kFloat && x.dim() == 2, "transpose: expected a float32 matrix");
}

static Tensor transpose_meta(const Tensor& x) {
    check(x);
    return at::empty_symint({x.sym_size(1), x.sym_size(0)}, x.options());
}

static Tensor transpose(const Tensor& x) {
    check(x);
    TORCH_CHECK(x.numel() < (1 << 30), "transpose: expected less than 2^30 elements");
    const Tensor xs = x.contiguous(), out = at::empty({x.size(1), x.size(0)}, x.options());
    Launch launch("kata_transpose", xs);
    launch.in(xs, "x").out(out, "out");
    launch(static_cast<int>(xs.size(0)), static_cast<int>(xs.size(1)), pointer<const float>(xs), pointer<float>(out));
    return out;
}

TORCH_LIBRARY(lecture09_k07, m) { m.def("transpose(Tensor x) -> Tensor"); }
TORCH_LIBRARY_IMPL(lecture09_k07, CPU, m) { m.impl("transpose", transpose); }
TORCH_LIBRARY_IMPL(lecture09_k07, CUDA, m) { m.impl("transpose", transpose); }
TORCH_LIBRARY_IMPL(lecture09_k07, Meta, m) { m.impl("transpose", transpose_meta); }
