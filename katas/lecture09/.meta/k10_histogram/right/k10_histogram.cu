// Another way: each block counts a stretch of its own, and adds only the bins that it met.

#include <cuda_runtime.h>

constexpr int THREADS = 256;
constexpr int MOST_SHARED_BINS = 12288;

__device__ void count(int n, int bins, const int* values, int* counts) {
    // Whole rounds of the block, so that each begins where a sector does.
    const int rounds = (n + THREADS * gridDim.x - 1) / (THREADS * gridDim.x);
    const int first = blockIdx.x * rounds * THREADS, end = min(first + rounds * THREADS, n);
    for (int i = first + static_cast<int>(threadIdx.x); i < end; i += THREADS) {
        // A negative value is a large one without a sign.
        const unsigned value = values[i];
        if (value < static_cast<unsigned>(bins)) atomicAdd(counts + value, 1);
    }
}

__global__ void count_global(int n, int bins, const int* values, int* counts) { count(n, bins, values, counts); }

__global__ void count_shared(int n, int bins, const int* values, int* counts) {
    extern __shared__ int own[];
    const int t = threadIdx.x;
    for (int bin = bins - 1 - t; bin >= 0; bin -= THREADS) own[bin] = 0;
    __syncthreads();
    count(n, bins, values, own);
    __syncthreads();
    for (int bin = t; bin < bins; bin += THREADS) {
        if (const int found = own[bin]) atomicAdd(counts + bin, found);
    }
}

// Given: 4 for each multiprocessor of the device, since each block adds all its bins.
static int most_blocks() {
    int device = 0, processors = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
    return 4 * processors;
}

static cudaError_t start(bool shared, int n, int bins, const int* values, int* counts, cudaStream_t stream) {
    const cudaError_t error = cudaMemsetAsync(counts, 0, sizeof(int) * bins, stream);
    if (error != cudaSuccess || n == 0) return error;
    const dim3 grid(min((n - 1) / THREADS + 1, most_blocks())), block(THREADS);
    if (shared) {
        count_shared<<<grid, block, sizeof(int) * bins, stream>>>(n, bins, values, counts);
    } else {
        count_global<<<grid, block, 0, stream>>>(n, bins, values, counts);
    }
    return cudaGetLastError();
}

extern "C" cudaError_t kata_histogram_global(int n, int bins, const int* values, int* counts, cudaStream_t stream) {
    return start(false, n, bins, values, counts, stream);
}

extern "C" cudaError_t kata_histogram(int n, int bins, const int* values, int* counts, cudaStream_t stream) {
    return start(bins <= MOST_SHARED_BINS, n, bins, values, counts, stream);
}
