// A breadth-first search whose frontier never leaves the device.

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
    const int length = lengths[level];
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < length; i += blockDim.x * gridDim.x) {
        const int end = offsets[now[i] + 1];
        for (int edge = offsets[now[i]]; edge < end; ++edge) {
            const int node = neighbours[edge];
            if (atomicCAS(&distance[node], -1, level + 1) == -1) {
                next[atomicAdd(&lengths[level + 1], 1)] = node;
            }
        }
    }
}

// Write the distance of each node from the source, or -1 if it is more than `levels`.
// lengths has levels + 1 ints, frontiers two rows of `nodes`; both are uninitialised.
// Work on `stream`, and return cudaGetLastError().
extern "C" cudaError_t kata_distances(int nodes, int levels, const int* offsets,
                                      const int* neighbours, const int* source, int* distance,
                                      int* frontiers, int* lengths, cudaStream_t stream) {
    cudaMemsetAsync(distance, 0xFF, nodes * sizeof(int), stream);
    cudaMemsetAsync(lengths, 0, (levels + 1) * sizeof(int), stream);
    begin<<<1, 1, 0, stream>>>(source, distance, frontiers, lengths);
    for (int level = 0; level < levels; ++level) {
        int* now = frontiers + level % 2 * nodes;
        int* next = frontiers + (level + 1) % 2 * nodes;
        step<<<BLOCKS, THREADS, 0, stream>>>(level, offsets, neighbours, distance, now, next, lengths);
    }
    return cudaGetLastError();
}
