// Subtract tensors of any layout: from a linear index to three offsets.
//
// A kernel that takes data[i] for element i of x.t(), x[::2] or x.expand(3, 4) reads the
// wrong elements. Sizes and strides say where the right ones are:
//
//   sizes (2, 3), strides (1, 2)          linear  0  1  2  3  4  5
//   [ a b c ]                             index   00 01 02 10 11 12
//   [ d e f ]    memory: a d b e c f      offset  0  2  4  1  3  5
//
// Write `subtract`, about 12 lines, with a loop as in k03_axpy. The linear index counts elements
// row by row, whatever the strides.
//
// Unroll the loop over dims, with #pragma unroll and a constant bound: an array whose index is
// unknown at compile time is put into local memory, as far away as global memory.
//
// Begin on paper: which division gives row and column of linear index 4?
// Afterwards read IndexToOffset in aten/src/ATen/cuda/detail/TensorInfo.cuh.

#include <cuda_runtime.h>

#include <cstdint>

constexpr int MOST_DIMS = 5;
constexpr int THREADS = 256;

// What the kernel must know about three tensors of the same shape, with 0 to 5 dims. An expanded dim
// has stride 0; the stride of a dim of size 1 is never used. Strides count elements.
struct Layout {
    int dims;
    int sizes[MOST_DIMS];
    int out[MOST_DIMS], x[MOST_DIMS], y[MOST_DIMS]; // strides
};

// n, and n plus the threads of the grid, fit an int.
__global__ void subtract(int n, Layout layout, float* out, const float* x, const float* y) {
    // TODO: for each linear index, the indices, and from them three offsets
}

// Given: 8 for each multiprocessor of the device, enough to fill it with threads.
static int most_blocks() {
    int device = 0, processors = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
    return 8 * processors;
}

// Given: sizes and strides are in the memory of the host, which no kernel can read; a struct that is an
// argument is copied to the device with the launch.
extern "C" cudaError_t kata_sub(int dims, const int64_t* sizes, const int64_t* out_strides, const int64_t* x_strides,
                                const int64_t* y_strides, float* out, const float* x, const float* y, cudaStream_t stream) {
    return cudaErrorNotYetImplemented;  // TODO: delete this line when the kernel is written
    Layout layout{};
    layout.dims = dims;
    int n = 1;
    for (int dim = 0; dim < dims; ++dim) {
        n *= static_cast<int>(sizes[dim]);
        layout.sizes[dim] = static_cast<int>(sizes[dim]);
        layout.out[dim] = static_cast<int>(out_strides[dim]);
        layout.x[dim] = static_cast<int>(x_strides[dim]);
        layout.y[dim] = static_cast<int>(y_strides[dim]);
    }
    if (n > 0) {
        const int blocks = min((n + THREADS - 1) / THREADS, most_blocks());
        subtract<<<blocks, THREADS, 0, stream>>>(n, layout, out, x, y);
    }
    return cudaGetLastError();
}
