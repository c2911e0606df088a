// The same kernel for any n and any launch: a grid-stride loop.
//
// A thread begins at its own index in the grid, and takes steps of the whole grid, gridDim.x *
// blockDim.x threads:
//
//              block 0        block 1
//   thread     0   1   2      0   1   2
//   round 1    0   1   2      3   4   5       n is 10
//   round 2    6   7   8      9   -   -
//
// In each round the lanes of a warp touch neighbours: 4 sectors of 32 bytes.
//
// 1. axpy: out[i] = a * x[i] + y[i], in float32.
// 2. kata_axpy: blocks of 256 threads, one thread per element, but at most most_blocks() blocks.
//
// - A grid of 0 blocks is refused: launch nothing if n is 0.
// - Launch on `stream`, and return cudaGetLastError(), which reports a refused launch.
//
// About 10 lines. Begin on paper: who computes element 7?
// Afterwards read CUDA_KERNEL_LOOP in aten/src/ATen/cuda/detail/KernelUtils.h.
// Real life differs: an H200 has 132 multiprocessors, the simulated device 8.

#include <cuda_runtime.h>

__global__ void axpy(int n, float a, const float* x, const float* y, float* out) {
    // TODO: the grid-stride loop
}

// Given: 8 for each multiprocessor of the device, enough to fill it with threads. n, and n plus the threads
// of the grid, fit an int.
static int most_blocks() {
    int device = 0, processors = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
    return 8 * processors;
}

extern "C" cudaError_t kata_axpy(int n, float a, const float* x, const float* y, float* out, cudaStream_t stream) {
    // TODO: launch the kernel
    return cudaErrorNotYetImplemented;
}
