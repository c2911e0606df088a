// A histogram: threads that count in the same place.
//
// Count how often each of the ints 0, 1, ..., bins - 1 is among n int32 values. A value that is
// negative, or bins and more, is counted nowhere, as torch.histc ignores what is outside its
// range; torch.bincount would raise an error or make more bins. Counts are int32.
//
// Two threads that do `counts[value] += 1` at once both read the old count, and one of the two is
// lost. atomicAdd reads, adds and writes as one step that nobody comes between. It has its price:
// atomics on one address wait for each other, and those on global memory wait long.
//
// * The kernel `count_global`: a grid-stride loop over the values, and one atomicAdd to counts in
//   global memory for each value in range, no more and no fewer.
// * The kernel `count_shared`: a histogram of its own for each block, in shared memory, which is
//   close to the threads and free of what other blocks do: it is privatised. It is dynamic, bins
//   ints: the number of bins is known at the launch only. The threads of the block set it to 0
//   together, count into it with at most one shared atomic for each value in range, and
//   then add it to counts in global memory: at most one global atomic for each bin and block, so
//   bins * blocks however large n is. At most 2 barriers per block.
// * `kata_histogram_global` launches `count_global`. `kata_histogram` launches `count_shared` if
//   bins ints fit into the 48 KiB of shared memory that a block may always have, which are 12288
//   of them, and else `count_global`.
//
// Both functions work on `stream`, return cudaGetLastError(), and
// * set counts to 0 first, for it holds whatever was there before: cudaMemsetAsync does, outside
//   the kernels. A block cannot do it for the others, since blocks run in any order.
// * launch one kernel with blocks of 256 threads, as many blocks as are needed for one value per
//   thread, but never more than most_blocks() (given), which on the CPU is 32. With n == 0 nothing
//   is launched, and all counts are 0.
//
// In both kernels each value is read once, neighbours by neighbouring threads: in all no more than
// n / 8 sectors of 32 bytes, rounded up. Likewise neighbouring threads of `count_shared` take
// neighbouring bins: setting to 0 costs a block at most bins / 32 wavefronts of shared memory,
// adding to counts touches at most bins / 8 sectors (where bins is a multiple of 32).
//
// Where nvcc is installed, a test reads what it makes of the kernels: atomic additions are
// instructions (atom or red) on shared and on global memory, none is a loop that compares and swaps
// (cas), and nothing is in local memory.
//
// bins is at least 1. n fits an int, and so does n plus the threads of the grid. The names and
// arguments of the four functions stay as they are. About 30 lines.
//
// In PyTorch: aten/src/ATen/native/cuda/SummaryOps.cu, whose kernelHistogram1D has both ways in
// one template, and whose CUDA_tensor_histogram chooses between them.

#include <cuda_runtime.h>

constexpr int THREADS = 256;
constexpr int MOST_SHARED_BINS = 12288;

__global__ void count_global(int n, int bins, const int* values, int* counts) {
    // TODO: one atomic operation on global memory for each value in range
}

__global__ void count_shared(int n, int bins, const int* values, int* counts) {
    // TODO: count in shared memory, then add to counts
}

// Given: 4 for each multiprocessor of the device, since each adds all its bins.
static int most_blocks() {
    int device = 0, processors = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
    return 4 * processors;
}

extern "C" cudaError_t kata_histogram_global(int n, int bins, const int* values, int* counts, cudaStream_t stream) {
    // TODO: set counts to 0, launch count_global
    return cudaErrorNotYetImplemented;
}

extern "C" cudaError_t kata_histogram(int n, int bins, const int* values, int* counts, cudaStream_t stream) {
    // TODO: the same, with count_shared where its bins fit
    return cudaErrorNotYetImplemented;
}
