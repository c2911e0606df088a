// The counter of the source is not set to 0 first, and the rows are two pointers that are swapped.

#include <cuda_runtime.h>

constexpr int BLOCKS = 8;
constexpr int THREADS = 64;

// Given: the source is the frontier of level 0.
__global__ void begin(const int* source, int* distance, int* frontiers, int* lengths) {
    distance[*source] = 0;
    frontiers[0] = *source;
    lengths[0] = 1;
}

// Finds level + 1: the neighbours of the frontier whose distance is -1, each of them once.
// The neighbours of node v are neighbours[offsets[v]] to neighbours[offsets[v + 1] - 1].
// `now` holds lengths[level] nodes. `next` gets lengths[level + 1], which is 0 before, in any order.
__global__ void step(int level, const int* offsets, const int* neighbours, int* distance,
                     const int* now, int* next, int* lengths) {
    const int length = lengths[level];
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < length; i += blockDim.x * gridDim.x) {
        const int end = offsets[now[i] + 1];
        for (int edge = offsets[now[i]]; edge < end; ++edge) {
            const int node = neighbours[edge];
            if (atomicCAS(&distance[node], -1, level + 1) >= 0) continue;
            const int place = atomicAdd(lengths + level + 1, 1);
            next[place] = node;
        }
    }
}

// Writes the distance of each node from the source, or -1 where it is more than `levels`.
// lengths has levels + 1 ints, frontiers two rows of `nodes`. What they hold before is garbage.
// Works on `stream`, and returns cudaGetLastError().
extern "C" cudaError_t kata_distances(int nodes, int levels, const int* offsets,
                                      const int* neighbours, const int* source, int* distance,
                                      int* frontiers, int* lengths, cudaStream_t stream) {
    cudaMemsetAsync(distance, 0xFF, nodes * sizeof(int), stream);
    begin<<<1, 1, 0, stream>>>(source, distance, frontiers, lengths);
    cudaMemsetAsync(lengths + 1, 0, levels * sizeof(int), stream);
    int* now = frontiers;
    int* next = frontiers + nodes;
    for (int level = 0; level < levels; ++level) {
        step<<<BLOCKS, THREADS, 0, stream>>>(level, offsets, neighbours, distance, now, next, lengths);
        int* before = now;
        now = next;
        next = before;
    }
    return cudaGetLastError();
}
