// out = x - y for tensors of any strides.

#include <cuda_runtime.h>

#include <cstdint>

constexpr int MOST_DIMS = 5;
constexpr int THREADS = 256;

// What the kernel must know about three tensors of one shape, copied to the device with the launch.
struct Layout {
    int dims;
    int sizes[MOST_DIMS];
    int out[MOST_DIMS], x[MOST_DIMS], y[MOST_DIMS]; // strides
};

__global__ void subtract(int n, Layout layout, float* out, const float* x, const float* y) {
    const int step = blockDim.x * gridDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        int rest = i, to = 0, from_x = 0, from_y = 0;
        // The last dim varies fastest: its index is the remainder of a division by its size. With a
        // constant bound the loop is unrolled, and all indices into the layout are constants.
        #pragma unroll
        for (int dim = MOST_DIMS - 1; dim >= 0; --dim) {
            if (dim >= layout.dims) continue;
            const int index = rest % layout.sizes[dim];
            rest /= layout.sizes[dim];
            to += index * layout.out[dim];
            from_x += index * layout.x[dim];
            from_y += index * layout.y[dim];
        }
        out[to] = x[from_x] - y[from_y];
    }
}

// Given: 8 for each multiprocessor of the device, enough to fill it with threads.
static int most_blocks() {
    int device = 0, processors = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
    return 8 * processors;
}

extern "C" cudaError_t kata_sub(int dims, const int64_t* sizes, const int64_t* out_strides, const int64_t* x_strides,
                                const int64_t* y_strides, float* out, const float* x, const float* y, cudaStream_t stream) {
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
