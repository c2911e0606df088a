// The same kernel for any n and any launch: a grid-stride loop.
//
// One thread per element works until n is larger than the grid, or the caller asks for other
// blocks. So a thread begins at its own number in the grid, and takes steps of the whole grid:
//
//              block 0        block 1
//   thread     0   1   2      0   1   2
//   round 1    0   1   2      3   4   5       3 threads a block, 2 blocks,
//   round 2    6   7   8      9  10  11       n = 10
//                             (no element)
//
// The lanes of a warp touch neighbours in each round: 128 bytes, which are 4 sectors of 32 bytes.
//
// 1. axpy: out[i] = a * x[i] + y[i], in float32. gridDim.x and blockDim.x say how many threads
//    there are.
// 2. kata_axpy: blocks of 256 threads, one thread per element, but at most most_blocks() blocks.
//
// - A grid of 0 blocks is refused: launch nothing where n is 0.
// - Launch on `stream`, the caller's.
// - A launch raises nothing. Return cudaGetLastError(), where a refused one shows.
//
// About 10 lines. Begin on paper: who computes element 7 in the picture?
// Afterwards read CUDA_KERNEL_LOOP in aten/src/ATen/cuda/detail/KernelUtils.h.
// Real life differs: an H200 has 132 multiprocessors, the simulated device 8. There PyTorch's a * x
// + y took 0.85 of this kernel's time.

#include <cuda_runtime.h>

__global__ void axpy(int n, float a, const float* x, const float* y, float* out) {
    // TODO: the grid-stride loop
}

// Given: 8 for each multiprocessor of the device, which fill it with threads. n, and n plus the threads
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
