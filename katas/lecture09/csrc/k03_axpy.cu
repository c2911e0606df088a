// The first kernel: indices, bounds, a grid-stride loop.
//
// Write out[i] = a * x[i] + y[i] for n float32 elements, all three arrays contiguous and apart
// from each other.
//
// * The kernel `axpy`, a `__global__` function. A launch has gridDim.x blocks of blockDim.x
//   threads, all along x. A thread begins at its own number in the whole grid, and goes on in
//   steps of the number of threads of the grid until it is past the end: a grid-stride loop. So
//   the same kernel is right for any launch, and neighbouring threads touch neighbouring
//   elements: the 32 threads of a warp read 128 bytes in a row, which are 4 sectors of 32 bytes.
// * `kata_axpy`, which launches it on `stream` with blocks of 256 threads, as many blocks as are
//   needed for one element per thread, but never more than most_blocks() (given): 8 for each
//   multiprocessor of the device, which fill it with threads. The device that the CPU plays has 8
//   multiprocessors, so there 64 blocks are the most. With n == 0 there is nothing to launch: a
//   grid of no blocks is refused (cudaErrorInvalidConfiguration). It returns cudaGetLastError(),
//   which is where a launch that was refused shows.
//
// Where nvcc is installed, a test reads what it makes of the kernel: the product and the sum are one
// instruction, a fused multiply-add (fma), and no instruction is about float64, which a literal
// without an f would bring in. Another test reads your text for a double or such a literal.
//
// n may be larger than the grid by far, and no multiple of anything. Each element of x and y is
// read once, each element of out is written once. n fits an int, and so does n plus the threads
// of the grid. The names and arguments of `axpy` and `kata_axpy` stay as they are.
// About 10 lines. Without a GPU the kernel runs on the CPU, one thread after the other, in an
// order that is another one at each call.
//
// In PyTorch: CUDA_KERNEL_LOOP in aten/src/ATen/cuda/detail/KernelUtils.h is such a loop, and
// aten/src/ATen/native/cuda/Loops.cuh is what elementwise operators use.

#include <cuda_runtime.h>

__global__ void axpy(int n, float a, const float* x, const float* y, float* out) {
    // TODO: the grid-stride loop
}

// Given: 8 for each multiprocessor of the device, which fill it with threads.
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
