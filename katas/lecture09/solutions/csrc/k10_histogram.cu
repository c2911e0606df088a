// Histograms with atomics: all in global memory, and privatised in shared memory.

#include <cuda_runtime.h>

constexpr int THREADS = 256;
constexpr int MOST_SHARED_BINS = 12288;

__global__ void count_global(int n, int bins, const int* values, int* counts) {
    const int step = blockDim.x * gridDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        const int value = values[i];
        if (value >= 0 && value < bins) atomicAdd(&counts[value], 1);
    }
}

__global__ void count_shared(int n, int bins, const int* values, int* counts) {
    extern __shared__ int own[];
    for (int bin = threadIdx.x; bin < bins; bin += blockDim.x) own[bin] = 0;
    // Nobody counts into a bin that is not 0 yet.
    __syncthreads();
    const int step = blockDim.x * gridDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        const int value = values[i];
        if (value >= 0 && value < bins) atomicAdd(&own[value], 1);
    }
    // Nobody reads a bin that others still count into.
    __syncthreads();
    for (int bin = threadIdx.x; bin < bins; bin += blockDim.x) atomicAdd(&counts[bin], own[bin]);
}

// Given: 4 for each multiprocessor of the device, since each block adds all its bins.
static int most_blocks() {
    int device = 0, processors = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
    return 4 * processors;
}

static int blocks_for(int n) { return min((n + THREADS - 1) / THREADS, most_blocks()); }

extern "C" cudaError_t kata_histogram_global(int n, int bins, const int* values, int* counts, cudaStream_t stream) {
    cudaMemsetAsync(counts, 0, bins * sizeof(int), stream);
    if (n > 0) count_global<<<blocks_for(n), THREADS, 0, stream>>>(n, bins, values, counts);
    return cudaGetLastError();
}

extern "C" cudaError_t kata_histogram(int n, int bins, const int* values, int* counts, cudaStream_t stream) {
    if (bins > MOST_SHARED_BINS) return kata_histogram_global(n, bins, values, counts, stream);
    cudaMemsetAsync(counts, 0, bins * sizeof(int), stream);
    if (n > 0) count_shared<<<blocks_for(n), THREADS, bins * sizeof(int), stream>>>(n, bins, values, counts);
    return cudaGetLastError();
}
