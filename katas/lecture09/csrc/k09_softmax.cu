// Online softmax: the maximum and the sum of a row in one pass.
//
// Write softmax of each row of a float32 matrix, rows * n elements, contiguous, as
// torch.softmax(x, -1) does: out[r][i] = exp(x[r][i] - m) / s, with m the largest element of row
// r and s the sum of exp(x[r][j] - m) over the row. Without m it would be the same number on
// paper, but exp(89) is infinite in float32.
//
// By this formula a row is read three times: for m, then for s, then for the result. Softmax
// waits for memory, so a third of that is worth saving: m and s can be had in one pass. Keep the
// m and s of the elements so far. One more element x makes of them
//
//     m' = max(m, x)      s' = s * exp(m - m') + exp(x - m')
//
// which corrects s by the factor by which all its terms change. By the same rule two parts of a
// row, each with an m and an s of its own, become one: so threads can share a row, each with its
// own m and s of its own elements, and combine them by shuffles and shared memory.
//
// * The kernel `softmax`, a `__global__` function, whose arguments are yours. One block or one
//   warp per row, as you like, of any number of threads; a row may have fewer elements than it
//   has threads, and a thread without elements takes part in combining all the same.
// * `kata_softmax` launches it once, on `stream`; not at all if there are no rows. rows is 0
//   where n is 0. It returns cudaGetLastError().
//
// What it may cost:
// * at most 2 loads of global memory for each element of x, whatever memory they are from, and at
//   most 1 store;
// * of 32-byte sectors, for which neighbouring threads have to touch neighbouring elements: at
//   most 2 for each 8 elements read, and 1 for each 8 written, where n is a multiple of 8;
// * nothing else in global memory, and at least 32 threads in the grid for each row. Barriers,
//   shuffles and shared memory are free here.
//
// Where nvcc is installed, a test reads what it makes of the kernel: exponentials come from the
// instruction that GPUs have for them, 2 to the power of a float32 (ex2), no instruction is about
// float64, and nothing is in local memory, where an array goes whose index is not known when
// compiling. Another test reads your text for a double, or a literal without an f that meets a
// float.
//
// Rows may be of any length: n = 100,000 is more than the shared memory of a block holds. There
// are less than 2^31 - 1 elements in all, and that many blocks a grid may have along x.
//
// Any float may stand anywhere. -inf is how attention masks what must not be seen: its result is
// 0, and it changes nothing for the others, whether it comes first in the row or is all that some
// of the threads see. Mind that -inf - (-inf) is NaN. A row is NaN as a whole if all of it is
// -inf, or if it holds +inf or NaN; no other row is. Other results are right if they are within
// 1e-4 of what float64 gives, relatively, or within 1e-7; __expf is good enough.
//
// Out of scope: other dtypes, gradients. The name and the arguments of `kata_softmax` stay.
// About 50 lines. Without a GPU the kernel runs on the CPU, thread after thread, in an order that
// is another one at each call.
//
// In PyTorch: aten/src/ATen/native/cuda/SoftMax.cu, cunn_SoftMaxForward, which makes the three
// passes, and aten/src/ATen/native/cuda/PersistentSoftmax.cuh, softmax_warp_forward, which keeps
// a short row in registers. torch/_inductor/runtime/triton_helpers.py, online_softmax_combine, is
// the rule above in what torch.compile generates. It is from Milakov and Gimelshein, "Online
// normalizer calculation for softmax" (2018), and flash attention is built on it.

#include <cuda_runtime.h>

#include <cfloat>

__global__ void softmax(int n, const float* x, float* out) {
    // TODO: a pass for m and s, combine those of the threads, a pass for the results
}

extern "C" cudaError_t kata_softmax(int rows, int n, const float* x, float* out, cudaStream_t stream) {
    // TODO: launch the kernel
    return cudaErrorNotYetImplemented;
}
