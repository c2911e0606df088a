// A kernel for views: from a linear index to offsets, by sizes and strides.
//
// Write out = x - y for float32 tensors of one shape, of 0 to 5 dims, with any strides: sliced,
// transposed, expanded. The operator (k04_strided.cpp, given) broadcasts y to the shape of x and
// makes out, with the strides of x where it can; it copies nothing, so the kernel has to find
// each element where it lies.
//
// The element (i_0, ..., i_last) of a tensor lies at data[i_0 * stride[0] + ... + i_last *
// stride[last]]. Strides count elements, not bytes; data is the first element of the view,
// storage offset included. An expanded dim has stride 0, one that is sliced with a step a larger
// stride than the sizes would give; no stride is negative in PyTorch. The indices are the same for
// all three tensors, the offsets are not.
//
// * The kernel `subtract`: a grid-stride loop, as in k03_axpy, over linear indices from 0 to n.
//   The linear index counts the elements in row-major order, the last dim fastest, whatever the
//   strides; so in contiguous tensors neighbouring threads touch neighbouring elements, 4
//   sectors of 32 bytes for each load or store of a warp. Each element is computed once: n
//   loads of x, n of y, n stores to out, and no other loads or stores of global memory.
// * `kata_sub`, which launches it once, on `stream`, with blocks of 256 threads, as many as are
//   needed for one element per thread, but never more than most_blocks() (given), which on the
//   CPU is 64; not at all if there are no elements. It returns cudaGetLastError(). Mind where its
//   arguments point to: out, x and y to memory of the device, but sizes and strides are arrays of
//   `dims` numbers in the memory of the host, which no kernel can read. What gets to the device
//   with each launch, without a copy of your own, are the kernel's arguments, and a struct that
//   holds arrays can be one of them.
//
// Where nvcc is installed, a test reads what it makes of the kernel. Registers cannot be indexed: an
// array of the kernel, or a struct that holds one, whose index is not known when compiling is put
// into local memory, which is each thread's own and lies where global memory lies. There must be
// none of it. A loop over dims with a constant bound can be unrolled (`#pragma unroll`), and then
// all its indices are constants; leave it, or skip a step, where the tensor has fewer dims. Another
// test reads your text for an index that is no such constant.
//
// With 0 dims there is one element, at offset 0. All sizes, strides and offsets fit an int, and
// so does n plus the threads of the grid; a stride that is never used, of a dim of size 1, may be
// any number. x and y may share memory, out is apart from both. The name and the arguments of
// `kata_sub` stay, and the name of `subtract`; its arguments and the struct are yours to change.
// Out of scope: other dtypes, and other orders of the dims. (TensorIterator sorts dims by stride
// first, so that a transposed tensor is read along its memory, and merges those that it can.)
// About 25 lines.
//
// In PyTorch: aten/src/ATen/cuda/detail/TensorInfo.cuh (TensorInfo, IndexToOffset), with room
// for 25 dims; aten/src/ATen/cuda/detail/OffsetCalculator.cuh, which is what TensorIterator's
// kernels use and which multiplies instead of dividing, by IntegerDivider.cuh.

#include <cuda_runtime.h>

#include <cstdint>

constexpr int MOST_DIMS = 5;

// What the kernel has to know of three tensors of one shape.
struct Layout {
    int dims;
    int sizes[MOST_DIMS];
    int out[MOST_DIMS], x[MOST_DIMS], y[MOST_DIMS]; // strides
};

__global__ void subtract(int n, Layout layout, float* out, const float* x, const float* y) {
    // TODO: for each linear index the indices, and from them three offsets
}

// Given: 8 for each multiprocessor of the device, which fill it with threads.
static int most_blocks() {
    int device = 0, processors = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
    return 8 * processors;
}

extern "C" cudaError_t kata_sub(int dims, const int64_t* sizes, const int64_t* out_strides, const int64_t* x_strides,
                                const int64_t* y_strides, float* out, const float* x, const float* y, cudaStream_t stream) {
    // TODO: fill in the layout, launch the kernel
    return cudaErrorNotYetImplemented;
}
