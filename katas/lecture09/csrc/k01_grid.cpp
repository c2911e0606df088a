// tier: small
// Given: the operator around the kernel. lecture09_k01::number fills n ints on the CPU or on a GPU.

#include "launch.h"

using at::Tensor;

static Tensor number(const Tensor& like, int64_t n) {
    const Tensor out = at::empty({n}, like.options().dtype(at::kInt));
    Launch launch("kata_number", out);
    launch.out(out, "out");
    launch(static_cast<int>(n), pointer<int>(out));
    return out;
}

TORCH_LIBRARY(lecture09_k01, m) { m.def("number(Tensor like, int n) -> Tensor"); }
TORCH_LIBRARY_IMPL(lecture09_k01, CPU, m) { m.impl("number", number); }
TORCH_LIBRARY_IMPL(lecture09_k01, CUDA, m) { m.impl("number", number); }
