// tier: small
// Given: the operator around the kernels. lecture11_k15::distances takes CPU and CUDA tensors.

#include "launch.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <torch/library.h>

using at::Tensor;

static Tensor check(const Tensor& offsets, const Tensor& neighbours, const Tensor& source, int64_t levels) {
    for (const Tensor& each : {offsets, neighbours, source}) {
        TORCH_CHECK(each.scalar_type() == at::kInt, "distances: expected int32");
        TORCH_CHECK(each.dim() == 1 && each.is_contiguous(), "distances: expected contiguous vectors");
    }
    TORCH_CHECK(offsets.numel() >= 2 && source.numel() == 1, "distances: expected a node, and one source");
    TORCH_CHECK(levels >= 0 && levels <= 1000, "distances: expected 0 to 1000 levels");
    return at::empty({offsets.numel() - 1}, offsets.options());
}

static Tensor distances(const Tensor& offsets, const Tensor& neighbours, const Tensor& source, int64_t levels) {
    const Tensor distance = check(offsets, neighbours, source, levels);
    const int64_t nodes = distance.numel();
    const Tensor frontiers = at::zeros({2, nodes}, offsets.options());
    // Not 0: setting the counters is the exercise.
    const Tensor lengths = at::empty({levels + 1}, offsets.options());
    const Tensor edges = neighbours.numel() ? neighbours : at::zeros({1}, offsets.options());
    Launch launch("kata_distances", offsets);
    launch.in(offsets, "offsets").in(edges, "neighbours").in(source, "source");
    launch.out(distance, "distance").inout(frontiers, "frontiers").out(lengths, "lengths");
    launch(
        static_cast<int>(nodes),
        static_cast<int>(levels),
        pointer<const int>(offsets),
        pointer<const int>(edges),
        pointer<const int>(source),
        pointer<int>(distance),
        pointer<int>(frontiers),
        pointer<int>(lengths));
    return distance;
}

TORCH_LIBRARY(lecture11_k15, m) {
    m.def("distances(Tensor offsets, Tensor neighbours, Tensor source, int levels) -> Tensor");
}

TORCH_LIBRARY_IMPL(lecture11_k15, CPU, m) { m.impl("distances", distances); }
TORCH_LIBRARY_IMPL(lecture11_k15, CUDA, m) { m.impl("distances", distances); }
TORCH_LIBRARY_IMPL(lecture11_k15, Meta, m) { m.impl("distances", check); }
