// tier: small
// Given: the operator around the kernel. lecture09_k03::axpy takes CPU and CUDA tensors.

#include "launch.h"

using at::Tensor;

static Tensor check(const Tensor& x, const Tensor& y) {
    TORCH_CHECK(x.scalar_type() == at::kFloat && y.scalar_type() == at::kFloat, "axpy: expected float32");
    TORCH_CHECK(x.sizes() == y.sizes(), "axpy: expected x and y of one shape");
    return at::empty(x.sizes(), x.options());
}

static Tensor axpy_meta(const Tensor& x, const Tensor& y, double) { return check(x, y); }

static Tensor axpy(const Tensor& x, const Tensor& y, double a) {
    const Tensor out = check(x, y), xs = x.contiguous(), ys = y.contiguous();
    Launch launch("kata_axpy", xs);
    launch.in(xs, "x").in(ys, "y").out(out, "out");
    launch(static_cast<int>(xs.numel()), static_cast<float>(a), pointer<const float>(xs), pointer<const float>(ys), pointer<float>(out));
    return out;
}

TORCH_LIBRARY(lecture09_k03, m) { m.def("axpy(Tensor x, Tensor y, float a) -> Tensor"); }
TORCH_LIBRARY_IMPL(lecture09_k03, CPU, m) { m.impl("axpy", axpy); }
TORCH_LIBRARY_IMPL(lecture09_k03, CUDA, m) { m.impl("axpy", axpy); }
TORCH_LIBRARY_IMPL(lecture09_k03, Meta, m) { m.impl("axpy", axpy_meta); }
