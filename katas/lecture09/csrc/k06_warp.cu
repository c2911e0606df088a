// Running sums by shuffles: what a warp can do without shared memory.
//
// Write the running sums of each row of a float32 matrix, rows * columns elements, contiguous:
// out[r][c] = x[r][0] + x[r][1] + ... + x[r][c], as torch.cumsum(x, 1) does; this is called an
// inclusive scan. There are 0 to 1024 columns, and so 0 to 32 warps to a row.
//
// * The kernel `scan`, a `__global__` function. One block does one row, with one thread per
//   column, rounded up to whole warps: blockDim.x is the next multiple of 32. Threads past the
//   last column have no element; they take part in the shuffles with the value 0, and come to
//   every __syncthreads() like the others. (Since Volta a GPU waits only for threads that have not
//   returned. The rule here is stricter, as CUDA's guide is.)
// * `kata_scan`, which launches it on `stream` with one block per row. Without rows or columns
//   there is nothing to launch. It returns cudaGetLastError().
//
// The 32 lanes of a warp can read each other's registers. In `__shfl_up_sync(mask, value, d)`
// every lane hands in its value and gets that of the lane d places below; a lane that has none
// so far below gets its own value back, which must not be added. If that is done for d = 1, 2, 4,
// 8, 16, always with the sums so far, then each lane ends with the sum of all lanes up to it: 5
// shuffles for 32 lanes. `mask` names the lanes that take part, one bit for each (0xffffffff: all
// 32): every lane that it names, unless it has returned, must come to the same call with the same
// mask, and a lane that it does not name must not. So a shuffle with the full mask inside an `if`
// that some lanes of the warp do not enter is wrong: on a GPU the warp may hang, or get anything.
//
// Shuffles end with the warp. What goes between warps is one float for each of them in shared
// memory: the warp's total. With the running sums of the totals each warp knows what to add. These
// are at most 32 values: one warp can do them by shuffles once more, but there need not be 32.
//
// What it may cost:
// * each element of x is read once and each of out written once, by neighbouring threads: at
//   1024 columns 4 sectors of 32 bytes for each load and store of a warp;
// * at most 2 barriers (__syncthreads) per block;
// * shared memory is for the totals alone: at most 2 floats per warp are written there, the
//   total and the sum of totals; but every warp does its own 32 columns, so each one with a
//   warp after it in the row writes at least 1;
// * at most 5 wavefronts of shared memory per warp of the block: a load or store that the lanes
//   of a warp make together is one, more only if they want different words of one bank;
// * at most 12 shuffles and votes per warp of the block.
//
// Where nvcc is installed, a test reads what it makes of the kernel: the shuffles are instructions
// (shfl), and nothing is in local memory, where an array goes whose index is not known when
// compiling.
//
// Only additions of elements up to c go into out[r][c]: what comes before an infinity or a NaN is
// what it would be without it, and an infinity stays one until the opposite infinity comes. So
// nothing is taken away again, and nothing multiplied by 0, since inf - inf and 0 * inf are NaN.
// The order of the additions is yours. The names and arguments of `scan` and `kata_scan` stay as
// they are; rows * columns fits an int. About 40 lines.
//
// In PyTorch: aten/src/ATen/native/cuda/block_reduce.cuh, `BlockReduceSum`: a sum by shuffles and
// one value per warp. aten/src/ATen/cuda/ScanUtils.cuh, `inclusiveBinaryPrefixScan`: a scan of
// bits, for which one vote of the warp is enough.

#include <cuda_runtime.h>

__global__ void scan(int columns, const float* x, float* out) {
    // TODO: a scan per warp, then what comes from the warps before
}

extern "C" cudaError_t kata_scan(int rows, int columns, const float* x, float* out, cudaStream_t stream) {
    // TODO: launch the kernel
    return cudaErrorNotYetImplemented;
}
