// tier: small
// Given: the operator around the kernel. lecture09_k18::first_above takes a CPU or CUDA
// tensor.

#include "launch.h"

using at::Tensor;

static Tensor first_above_meta(const Tensor& x, double) {
    TORCH_CHECK(x.scalar_type() == at::kFloat && x.dim() == 2, "first_above: expected a float32 matrix");
    return at::empty_symint({x.sym_size(0)}, x.options().dtype(at::kInt));
}

static Tensor first_above(const Tensor& x, double limit) {
    const Tensor out = first_above_meta(x, limit), xs = x.contiguous();
    TORCH_CHECK(xs.numel() <= 1 << 30 && xs.size(0) <= 1 << 24, "first_above: expected at most 2**30 elements in 2**24 rows");
    Launch launch("kata_first_above", xs);
    launch.in(xs, "x").out(out, "out");
    launch(static_cast<int>(xs.size(0)), static_cast<int>(xs.size(1)), static_cast<float>(limit), pointer<const float>(xs), pointer<int>(out));
    return out;
}

TORCH_LIBRARY(lecture09_k18, m) { m.def("first_above(Tensor x, float limit) -> Tensor"); }
TORCH_LIBRARY_IMPL(lecture09_k18, CPU, m) { m.impl("first_above", first_above); }
TORCH_LIBRARY_IMPL(lecture09_k18, CUDA, m) { m.impl("first_above", first_above); }
TORCH_LIBRARY_IMPL(lecture09_k18, Meta, m) { m.impl("first_above", first_above_meta); }
