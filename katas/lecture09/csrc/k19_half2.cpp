// tier: small
// Given: the operator around the kernel. lecture09_k19::dots takes CPU or CUDA tensors.

#include "launch.h"

#include <tuple>

using at::Tensor;
using Three = std::tuple<Tensor, Tensor, Tensor>;

static Three dots_meta(const Tensor& a, const Tensor& b) {
    TORCH_CHECK(a.scalar_type() == at::kHalf && a.dim() == 2, "dots: expected float16 matrices");
    TORCH_CHECK(b.scalar_type() == at::kHalf && b.sym_sizes() == a.sym_sizes(), "dots: expected two matrices of one shape");
    TORCH_CHECK(a.sym_size(1) % 2 == 0, "dots: expected an even number of columns");
    const c10::SymInt rows = a.sym_size(0);
    const auto half = a.options(), wide = a.options().dtype(at::kFloat);
    return {at::empty_symint({rows}, half), at::empty_symint({rows}, half), at::empty_symint({rows}, wide)};
}

// A half2 begins at a multiple of 4 bytes, a tensor of halves at one of 2.
static Tensor aligned(const Tensor& x) {
    const Tensor dense = x.contiguous();
    return reinterpret_cast<uintptr_t>(dense.data_ptr()) % 4 == 0 ? dense : dense.clone();
}

static Three dots(const Tensor& a, const Tensor& b) {
    const Three out = dots_meta(a, b);
    TORCH_CHECK(a.numel() <= 1 << 30 && a.size(0) <= 1 << 30, "dots: expected at most 2**30 elements and rows");
    const Tensor as = aligned(a), bs = aligned(b);
    const auto& [twice, fused, wide] = out;
    Launch launch("kata_dots", as);
    launch.in(as, "a").in(bs, "b").out(twice, "twice").out(fused, "fused").out(wide, "wide");
    launch(static_cast<int>(a.size(0)), static_cast<int>(a.size(1) / 2), pointer<const void>(as), pointer<const void>(bs), pointer<void>(twice), pointer<void>(fused), pointer<float>(wide));
    return out;
}

TORCH_LIBRARY(lecture09_k19, m) { m.def("dots(Tensor a, Tensor b) -> (Tensor, Tensor, Tensor)"); }
TORCH_LIBRARY_IMPL(lecture09_k19, CPU, m) { m.impl("dots", dots); }
TORCH_LIBRARY_IMPL(lecture09_k19, CUDA, m) { m.impl("dots", dots); }
TORCH_LIBRARY_IMPL(lecture09_k19, Meta, m) { m.impl("dots", dots_meta); }
