// RoIAlign backward on a GPU: many threads add to one pixel.
//
// As in k09, a bin's gradient goes back to the pixels that the bin read. Now each element of grad
// has a thread of its own, and bins of two boxes may have read the same pixel:
//
//   thread 7      grad[7]   / 4 * weight   ──┐
//                                            ├──►  += on one pixel
//   thread 901    grad[901] / 4 * weight   ──┘
//
// If both do += at once, one sum is lost; with atomicAdd none is. But atomics run in any order, and
// (a + b) + c is not a + (b + c): the last bits differ from run to run. An operator has to say so:
// some callers have set torch.use_deterministic_algorithms(True).
//
// 1. spread and kata_spread, about 20 lines.
// 2. One line in k10_roi_cuda.cpp: at::globalContext().alertNotDeterministic(...), with the full name
//    of the operator.
//
// Begin on paper: what are the box, channel, row and column of bins of grad[i]?
// Afterwards read the note above alertNotDeterministic in aten/src/ATen/Context.h; on your disk it is
// torch/include/ATen/Context.h. Its example spells the name differently.
// Real life differs: torchvision's kernel takes double and half too, and any number of points.

#include <cuda_runtime.h>

constexpr int THREADS = 128;

// Given: along one side, a point reads two pixels, with these weights.
struct Side {
    int pixel[2];
    float weight[2];
};

// Given: what point k of `points` between `first` and `last` reads, of `pixels` pixels. False if it is
// more than one pixel outside: then it reads nothing, and `side` does not change.
__device__ bool reads(float first, float last, int points, int k, int pixels, Side& side) {
    float at = first - 0.5f + (last - first) * (k + 0.5f) / points;
    if (at < -1 || at > pixels) return false;
    at = fminf(fmaxf(at, 0.0f), pixels - 1.0f);
    side.pixel[0] = static_cast<int>(at);
    side.pixel[1] = min(side.pixel[0] + 1, pixels - 1);
    side.weight[1] = at - side.pixel[0];
    side.weight[0] = 1 - side.weight[1];
    return true;
}

// Given: enough blocks for one thread per element, at most 64.
static int blocks_for(int n) { return min((n + THREADS - 1) / THREADS, 64); }

// Adds to grad_maps [images, channels, height, width] what the n elements of grad [boxes, channels,
// bins_y, bins_x] hand back. rois is [boxes, 5]: image, x1, y1, x2, y2, in pixels after multiplying by
// `scale`. A bin has two points along each side; the four points share its gradient equally. Any grid
// works, and a point takes at most 4 atomics. n, and every index, fits in an int.
__global__ void spread(int n, int channels, int height, int width, int bins_y, int bins_x, float scale, const float* grad,
                       const float* rois, float* grad_maps) {
    // TODO: a grid-stride loop over i, and what grad[i] adds to its map
}

// One launch on the stream, after grad_maps (`bytes` bytes) is set to 0 there: at first its contents are
// arbitrary. n may be 0. Return cudaGetLastError().
extern "C" cudaError_t kata_spread(int n, int channels, int height, int width, int bins_y, int bins_x, float scale, size_t bytes,
                                   const float* grad, const float* rois, float* grad_maps, cudaStream_t stream) {
    // TODO: zeros, then blocks_for(n) blocks of THREADS
    return cudaErrorNotYetImplemented;
}
