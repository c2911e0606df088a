// NMS on a GPU: first a bit for each pair, then one pass over the bits.
//
// Who survives depends on who survived before: a loop, which a GPU is bad at. Whether two boxes overlap
// depends on nothing else: that is done for all pairs at once, 64 bits to a word. Boxes are sorted by
// score, best first, so box i can only drop a box j > i:
//
//             j  0..63   64..127  128..191        word = masks[i * words + j / 64]
//   i   0..63    block   block    block           bit  = j % 64
//     64..127      -     block    block
//    128..191      -       -      block           - : nobody to drop, the words stay 0
//
// 1. nms_masks for at most 64 boxes: one block of 64 threads, one for each i. All of them read the 64
//    boxes j, so load these into shared memory once. kata_nms_masks launches it.
// 2. A grid of words x words blocks. Those below the diagonal return; the last blocks are not full.
// 3. sweep: one block. For i = 0, 1, ... all threads test bit i of the removed words; if it is
//    0, i survives, and they share the work of OR-ing row i of masks into the removed words. kata_sweep
//    launches it.
//
// Begin on paper: which bits can box 63 have set in word 0, and box 64 in word 1? About 30 lines.
// Afterwards read WARP_BALLOT in aten/src/ATen/cuda/DeviceUtils.cuh: a bit for each thread of a warp.
// Real life differs: for years torchvision copied the masks to the CPU, and swept there.

#include <cuda_runtime.h>

constexpr int BITS = 64;
constexpr int MOST_WORDS = 64;

typedef unsigned long long Word;

// Given: whether the IoU of two boxes x0, y0, x1, y1 is above the threshold.
__device__ bool above(const float* a, const float* b, float threshold) {
    const float width = fminf(a[2], b[2]) - fmaxf(a[0], b[0]), height = fminf(a[3], b[3]) - fmaxf(a[1], b[1]);
    const float both = fmaxf(width, 0.0f) * fmaxf(height, 0.0f);
    const float areas = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]);
    return both > threshold * (areas - both);
}

// masks[i * words + c] has bit k set if box c * 64 + k follows box i and their IoU is above the threshold.
// masks starts as 0. A block has 64 threads, reads at most 512 floats from global memory (64 boxes i
// and 64 boxes j), and writes no word below the diagonal.
__global__ void nms_masks(int n, int words, float threshold, const float* boxes, Word* masks) {
    // TODO: a tile of 64 boxes, a barrier, a word for each thread
}

// kept[i]: whether box i survives. One block of 64 threads; words is at most MOST_WORDS.
__global__ void sweep(int n, int words, const Word* masks, bool* kept) {
    // TODO: the removed words, in shared memory; all must have read before any writes, and all must have
    // written before any reads again
}

// One launch. Return cudaGetLastError().
extern "C" cudaError_t kata_nms_masks(int n, int words, float threshold, const float* boxes, Word* masks, cudaStream_t stream) {
    // TODO: a grid of words x words
    return cudaErrorNotYetImplemented;
}

// One launch. Return cudaGetLastError().
extern "C" cudaError_t kata_sweep(int n, int words, const Word* masks, bool* kept, cudaStream_t stream) {
    // TODO: one block
    return cudaErrorNotYetImplemented;
}
