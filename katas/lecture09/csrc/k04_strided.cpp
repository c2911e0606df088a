// tier: small
// Given: the operator around the kernel. lecture09_k04::sub takes CPU and CUDA tensors.
// It copies nothing: x and y are broadcast by expand, which makes views.

#include "launch.h"

#include <climits>
#include <cstdint>

using at::Tensor;

static constexpr int64_t MOST_DIMS = 5;

// Return whether an int can hold the number of elements, and the distance from the first to the last.
static bool small(const Tensor& tensor) {
    int64_t last = 0;
    for (int64_t dim = 0; dim < tensor.dim(); ++dim) last += (tensor.size(dim) - 1) * tensor.stride(dim);
    return tensor.numel() < INT_MAX / 2 && last < INT_MAX;
}

// The result has the strides of x, where x has no holes and does not overlap itself.
static Tensor check(const Tensor& x, const Tensor& y) {
    TORCH_CHECK(x.scalar_type() == at::kFloat && y.scalar_type() == at::kFloat, "sub: expected float32");
    TORCH_CHECK(x.dim() <= MOST_DIMS, "sub: expected at most 5 dims");
    return at::empty_like(x);
}

static Tensor sub_meta(const Tensor& x, const Tensor& y) {
    y.expand_symint(x.sym_sizes());
    return check(x, y);
}

static Tensor sub(const Tensor& x, const Tensor& y) {
    const Tensor other = y.expand(x.sizes()), out = check(x, other);
    TORCH_CHECK(small(x) && small(other), "sub: expected offsets that fit an int");
    Launch launch("kata_sub", x);
    launch.in(x, "x").in(other, "y").out(out, "out");
    launch(static_cast<int>(x.dim()), x.sizes().data(), out.strides().data(), x.strides().data(), other.strides().data(),
           pointer<float>(out), pointer<const float>(x), pointer<const float>(other));
    return out;
}

TORCH_LIBRARY(lecture09_k04, m) { m.def("sub(Tensor x, Tensor y) -> Tensor"); }
TORCH_LIBRARY_IMPL(lecture09_k04, CPU, m) { m.impl("sub", sub); }
TORCH_LIBRARY_IMPL(lecture09_k04, CUDA, m) { m.impl("sub", sub); }
TORCH_LIBRARY_IMPL(lecture09_k04, Meta, m) { m.impl("sub", sub_meta); }
