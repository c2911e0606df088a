// Work that makes work: a kernel decides how much the next one has to do.
//
// A breadth-first search goes from level to level, and only the device knows how many nodes a level
// has. Ask for it, as x.item() does, and the host waits, which a CUDA graph's capture prohibits.
//
// So launch the same grid at each level:
//
//   level       0    1    2    3         level 0, at frontiers          [5 . . . . .]
//   lengths     1    3    2    0         level 1, at frontiers + nodes  [0 1 4 . . .]
//                                        level 2, at frontiers          [3 2 . . . .]
//
// 1. step: the threads share the frontier, and append to the next one.
// 2. kata_distances: two memsets, the given kernel begin, then one launch for each level.
//
// Two threads may find a node at the same time: atomicCAS on its distance says which was first.
// atomicAdd returns the node's index in the next frontier.
//
// Begin on paper: what do the threads do when lengths[level] is 0? A memset sets bytes: why can it
// write -1?
// Afterwards read aten/src/ATen/native/cuda/Nonzero.cu in PyTorch's repository: which line waits for
// the device?
//
// Real life differs: with dynamic parallelism (nvcc -rdc=true) a kernel may launch kernels.

#include <cuda_runtime.h>

constexpr int BLOCKS = 8;
constexpr int THREADS = 64;

// Given: the source is the frontier of level 0.
__global__ void begin(const int* source, int* distance, int* frontiers, int* lengths) {
    distance[*source] = 0;
    frontiers[0] = *source;
    lengths[0] = 1;
}

// Find level + 1: the neighbours of the frontier whose distance is -1, each of them once.
// The neighbours of node v are neighbours[offsets[v]] to neighbours[offsets[v + 1] - 1].
// `now` holds lengths[level] nodes. Append to `next`, in any order, and count in
// lengths[level + 1], which starts at 0.
__global__ void step(int level, const int* offsets, const int* neighbours, int* distance,
                     const int* now, int* next, int* lengths) {
    // TODO: a grid-stride loop over the frontier; in it, a loop over the neighbours
}

// Write the distance of each node from the source, or -1 if it is more than `levels`.
// lengths has levels + 1 ints, frontiers two rows of `nodes`; both are uninitialised.
// Work on `stream`, and return cudaGetLastError().
extern "C" cudaError_t kata_distances(int nodes, int levels, const int* offsets,
                                      const int* neighbours, const int* source, int* distance,
                                      int* frontiers, int* lengths, cudaStream_t stream) {
    // TODO: cudaMemsetAsync twice, then begin, then step for the levels 0 to levels - 1
    return cudaErrorNotYetImplemented;
}
