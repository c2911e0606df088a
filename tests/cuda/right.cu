// Kernels in the styles that are found in the wild, all right: the simulator must not complain.

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "call.cuh"

constexpr unsigned FULL = 0xffffffffu;

__global__ void axpy(int n, float a, const float* x, float* y) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        y[i] = a * x[i] + y[i];
    }
}
extern "C" cudaError_t kata_axpy(int n, const float* x, float* y) {
    axpy<<<3, 64>>>(n, 2.0f, x, y);
    return cudaGetLastError();
}

__global__ void copy4(int n, const float4* x, float4* y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i];
}
extern "C" cudaError_t kata_copy4(int n, const float* x, float* y) {
    copy4<<<(n / 4 + 63) / 64, 64>>>(n / 4, reinterpret_cast<const float4*>(x), reinterpret_cast<float4*>(y));
    return cudaGetLastError();
}

// A tree in shared memory, one atomic operation per block.
template <int THREADS>
__global__ void tree_sum(int n, const float* x, float* total) {
    __shared__ float part[THREADS];
    const int t = threadIdx.x, i = blockIdx.x * THREADS + t;
    part[t] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (t < half) part[t] += part[t + half];
        __syncthreads();
    }
    if (t == 0) atomicAdd(total, part[0]);
}
extern "C" cudaError_t kata_tree_sum(int n, const float* x, float* total) {
    cudaMemsetAsync(total, 0, sizeof(float));
    tree_sum<128><<<(n + 127) / 128, 128>>>(n, x, total);
    return cudaGetLastError();
}

__device__ float warp_sum(float v) {
    for (int offset = warpSize / 2; offset > 0; offset /= 2) v += __shfl_down_sync(FULL, v, offset);
    return v;
}

// Shuffles within warps, then one warp over the warps' sums.
__global__ void warp_block_sum(int n, const float* x, float* sums) {
    __shared__ float of_warp[32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float v = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += x[i];
    v = warp_sum(v);
    if (lane == 0) of_warp[warp] = v;
    __syncthreads();
    if (warp == 0) {
        v = lane < blockDim.x / 32 ? of_warp[lane] : 0.0f;
        v = warp_sum(v);
        if (lane == 0) sums[blockIdx.x] = v;
    }
}
extern "C" cudaError_t kata_two_launches(int n, const float* x, float* total) {
    float* parts;
    if (cudaError_t error = cudaMalloc(&parts, 4 * sizeof(float))) return error;
    warp_block_sum<<<4, 128>>>(n, x, parts);
    warp_block_sum<<<1, 32>>>(4, parts, total);
    cudaFree(parts);
    return cudaGetLastError();
}

// The last block that comes to an end adds up what the others left.
__device__ unsigned arrived;
__global__ void last_block_sum(int n, const float* x, float* parts, unsigned* counter, float* total) {
    __shared__ float part[64];
    __shared__ bool last;
    const int t = threadIdx.x;
    float v = 0.0f;
    for (int i = blockIdx.x * 64 + t; i < n; i += gridDim.x * 64) v += x[i];
    part[t] = v;
    __syncthreads();
    if (t == 0) {
        float sum = 0.0f;
        for (int i = 0; i < 64; ++i) sum += part[i];
        parts[blockIdx.x] = sum;
        __threadfence();
        last = atomicInc(counter, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && t == 0) {
        float sum = 0.0f;
        for (int i = 0; i < gridDim.x; ++i) sum += parts[i];
        *total = sum;
    }
}
extern "C" cudaError_t kata_last_block(int n, const float* x, float* total) {
    float* parts;
    unsigned* counter;
    cudaMalloc(&parts, 8 * sizeof(float));
    cudaMalloc(&counter, sizeof(unsigned));
    cudaMemset(counter, 0, sizeof(unsigned));
    last_block_sum<<<8, 64>>>(n, x, parts, counter, total);
    cudaFree(parts);
    cudaFree(counter);
    return cudaGetLastError();
}

// Hillis and Steele, with two buffers in dynamic shared memory.
__global__ void scan(int n, const float* x, float* y) {
    extern __shared__ float buffer[];
    float *from = buffer, *to = buffer + blockDim.x;
    const int t = threadIdx.x;
    from[t] = t < n ? x[t] : 0.0f;
    __syncthreads();
    for (int step = 1; step < blockDim.x; step *= 2) {
        to[t] = t >= step ? from[t] + from[t - step] : from[t];
        __syncthreads();
        float* swap = from;
        from = to;
        to = swap;
    }
    if (t < n) y[t] = from[t];
}
extern "C" cudaError_t kata_scan(int n, const float* x, float* y) {
    scan<<<1, 256, 2 * 256 * sizeof(float)>>>(n, x, y);
    return cudaGetLastError();
}

__global__ void warp_scan(int n, const float* x, float* y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
    float v = i < n ? x[i] : 0.0f;
    for (int step = 1; step < 32; step *= 2) {
        const float other = __shfl_up_sync(FULL, v, step);
        if (lane >= step) v += other;
    }
    if (i < n) y[i] = v;
}
extern "C" cudaError_t kata_warp_scan(int n, const float* x, float* y) {
    warp_scan<<<(n + 63) / 64, 64>>>(n, x, y);
    return cudaGetLastError();
}

__global__ void histogram(int n, const int* x, int* bins) {
    __shared__ int own[16];
    if (threadIdx.x < 16) own[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) atomicAdd(&own[x[i]], 1);
    __syncthreads();
    if (threadIdx.x < 16) atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}
extern "C" cudaError_t kata_histogram(int n, const int* x, int* bins) {
    cudaMemsetAsync(bins, 0, 16 * sizeof(int));
    histogram<<<4, 96>>>(n, x, bins);
    return cudaGetLastError();
}

// Three points with a halo; the ends stay as they are.
__global__ void stencil(int n, const float* x, float* y) {
    __shared__ float tile[64 + 2];
    const int t = threadIdx.x + 1, i = blockIdx.x * 64 + threadIdx.x;
    if (i < n) tile[t] = x[i];
    if (threadIdx.x == 0 && i > 0) tile[0] = x[i - 1];
    if (threadIdx.x == 63 && i + 1 < n) tile[65] = x[i + 1];
    __syncthreads();
    if (i < n) y[i] = i == 0 || i == n - 1 ? tile[t] : tile[t - 1] + tile[t] + tile[t + 1];
}
extern "C" cudaError_t kata_stencil(int n, const float* x, float* y) {
    stencil<<<(n + 63) / 64, 64>>>(n, x, y);
    return cudaGetLastError();
}

template <int TILE>
__global__ void matmul(int n, const float* a, const float* b, float* c) {
    __shared__ float as[TILE][TILE], bs[TILE][TILE];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * TILE + ty, column = blockIdx.x * TILE + tx;
    float sum = 0.0f;
    for (int k = 0; k < n; k += TILE) {
        as[ty][tx] = row < n && k + tx < n ? a[row * n + k + tx] : 0.0f;
        bs[ty][tx] = column < n && k + ty < n ? b[(k + ty) * n + column] : 0.0f;
        __syncthreads();
        for (int i = 0; i < TILE; ++i) sum += as[ty][i] * bs[i][tx];
        __syncthreads();
    }
    if (row < n && column < n) c[row * n + column] = sum;
}
extern "C" cudaError_t kata_matmul(int n, const float* a, const float* b, float* c) {
    const dim3 block(16, 16), grid((n + 15) / 16, (n + 15) / 16);
    matmul<16><<<grid, block>>>(n, a, b, c);
    return cudaGetLastError();
}

__global__ void transpose(int n, const float* x, float* y) {
    __shared__ float tile[32][33];
    const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 8) {
        if (row + k < n && column < n) tile[threadIdx.y + k][threadIdx.x] = x[(row + k) * n + column];
    }
    __syncthreads();
    const int to = blockIdx.y * 32 + threadIdx.x, from = blockIdx.x * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 8) {
        if (from + k < n && to < n) y[(from + k) * n + to] = tile[threadIdx.x][threadIdx.y + k];
    }
}
extern "C" cudaError_t kata_transpose(int n, const float* x, float* y) {
    transpose<<<dim3((n + 31) / 32, (n + 31) / 32), dim3(32, 8)>>>(n, x, y);
    return cudaGetLastError();
}

// One warp per row: maximum, sum of exponentials, quotient.
__global__ void softmax(int rows, int n, const float* x, float* y) {
    const int row = blockIdx.x * blockDim.y + threadIdx.y, lane = threadIdx.x;
    if (row >= rows) return;
    float most = -INFINITY, sum = 0.0f;
    for (int i = lane; i < n; i += 32) most = fmaxf(most, x[row * n + i]);
    for (int offset = 16; offset > 0; offset /= 2) most = fmaxf(most, __shfl_xor_sync(FULL, most, offset));
    for (int i = lane; i < n; i += 32) sum += expf(x[row * n + i] - most);
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(FULL, sum, offset);
    for (int i = lane; i < n; i += 32) y[row * n + i] = expf(x[row * n + i] - most) / sum;
}
extern "C" cudaError_t kata_softmax(int n, const float* x, float* y) {
    softmax<<<(n + 3) / 4, dim3(32, 4)>>>(n, n, x, y);
    return cudaGetLastError();
}

// Lanes of a warp exchange through shared memory; no other warp is concerned.
__global__ void layer_norm(int n, const float* x, float* y) {
    __shared__ float part[32];
    const int lane = threadIdx.x;
    float sum = 0.0f, squares = 0.0f;
    for (int i = lane; i < n; i += 32) sum += x[blockIdx.x * n + i];
    part[lane] = sum;
    __syncwarp();
    float mean = 0.0f;
    for (int i = 0; i < 32; ++i) mean += part[i];
    mean /= n;
    __syncwarp();
    for (int i = lane; i < n; i += 32) squares += (x[blockIdx.x * n + i] - mean) * (x[blockIdx.x * n + i] - mean);
    part[lane] = squares;
    __syncwarp();
    float variance = 0.0f;
    for (int i = 0; i < 32; ++i) variance += part[i];
    const float scale = rsqrtf(variance / n + 1e-5f);
    for (int i = lane; i < n; i += 32) y[blockIdx.x * n + i] = (x[blockIdx.x * n + i] - mean) * scale;
}
extern "C" cudaError_t kata_layer_norm(int n, const float* x, float* y) {
    layer_norm<<<n, 32>>>(n, x, y);
    return cudaGetLastError();
}

// Keeps the positive elements, in their order, by votes of one warp.
__global__ void compact(int n, const float* x, float* y) {
    int kept = 0;
    for (int i = threadIdx.x; i < (n + 31) / 32 * 32; i += 32) {
        const float v = i < n ? x[i] : 0.0f;
        const unsigned votes = __ballot_sync(FULL, v > 0.0f);
        if (v > 0.0f) y[kept + __popc(votes & ((1u << threadIdx.x) - 1))] = v;
        kept += __popc(votes);
    }
    for (int i = kept + threadIdx.x; i < n; i += 32) y[i] = 0.0f;
}
extern "C" cudaError_t kata_compact(int n, const float* x, float* y) {
    compact<<<1, 32>>>(n, x, y);
    return cudaGetLastError();
}

__constant__ float weights[3] = {0.25f, 0.5f, 0.25f};
__global__ void blur(int n, const float* x, float* y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0.0f;
    for (int k = -1; k <= 1; ++k) sum += weights[k + 1] * __ldg(&x[min(max(i + k, 0), n - 1)]);
    y[i] = sum;
}
extern "C" cudaError_t kata_blur(int n, const float* x, float* y) {
    blur<<<(n + 127) / 128, 128>>>(n, x, y);
    return cudaGetLastError();
}

__global__ void through_half(int n, const float* x, float* y) {
    __shared__ __half halves[64];
    const int i = blockIdx.x * 64 + threadIdx.x;
    if (i < n) halves[threadIdx.x] = __float2half(x[i]);
    __syncthreads();
    if (i < n) y[i] = __half2float(halves[threadIdx.x]);
}
extern "C" cudaError_t kata_through_half(int n, const float* x, float* y) {
    through_half<<<(n + 63) / 64, 64>>>(n, x, y);
    return cudaGetLastError();
}

// Votes of the whole block, and integer reductions of a warp.
__global__ void count_positive(int n, const float* x, int* counts) {
    const int i = threadIdx.x;
    const int all = __syncthreads_count(i < n && x[i] > 0.0f);
    const unsigned most = __reduce_max_sync(FULL, i < n && x[i] > 0.0f ? static_cast<unsigned>(i) : 0u);
    if (i == 0) counts[0] = all;
    if (i == blockDim.x - 1) counts[1] = static_cast<int>(most);
}
extern "C" cudaError_t kata_count_positive(int n, const float* x, int* counts) {
    count_positive<<<1, 96>>>(n, x, counts);
    return cudaGetLastError();
}

// Work on the caller's stream, in a grid as large as the device; the operator hands on the stream.
__global__ void filled(int n, const float* x, float* y) {
    extern __shared__ float copy[];
    __shared__ float twice[32];
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        copy[threadIdx.x] = x[i];
        twice[threadIdx.x] = 2.0f * copy[threadIdx.x];
        y[i] = twice[threadIdx.x];
    }
}
extern "C" void* kata_simt_stream();
extern "C" cudaError_t kata_filled(int n, const float* x, float* y) {
    auto stream = static_cast<cudaStream_t>(kata_simt_stream());
    cudaDeviceProp device;
    cudaGetDeviceProperties(&device, 0);
    int processors, threads, shared, lanes, room, none;
    cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0);
    cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerBlock, 0);
    cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlock, 0);
    cudaDeviceGetAttribute(&lanes, cudaDevAttrWarpSize, 0);
    cudaDeviceGetAttribute(&room, cudaDevAttrMaxThreadsPerMultiProcessor, 0);
    const bool same = processors == device.multiProcessorCount && threads == device.maxThreadsPerBlock && lanes == device.warpSize &&
                      shared == static_cast<int>(device.sharedMemPerBlock) && room == device.maxThreadsPerMultiProcessor;
    if (!same || cudaDeviceGetAttribute(&none, static_cast<cudaDeviceAttr>(0), 0) == cudaSuccess) return cudaErrorInvalidValue;
    cudaGetLastError();  // what was refused is the last error, until it is asked for
    float* scratch;
    if (cudaError_t error = cudaMallocAsync(&scratch, n * sizeof(float), stream)) return error;
    cudaMemcpyAsync(scratch, x, n * sizeof(float), cudaMemcpyDeviceToDevice, stream);
    cudaMemsetAsync(y, 0, n * sizeof(float), stream);
    filled<<<processors, 32, 32 * sizeof(float), stream>>>(n, scratch, y);
    cudaFreeAsync(scratch, stream);
    return cudaGetLastError();
}
extern "C" cudaError_t kata_fails_elsewise(int n, const float* x, float* y) {
    axpy<<<3, 64>>>(n, 2.0f, x, y);
    return cudaGetLastError() == cudaSuccess ? cudaSuccess : cudaErrorInvalidValue;
}
extern "C" cudaError_t kata_leaves_its_error(int n, const float* x, float* y) {
    axpy<<<3, 64>>>(n, 2.0f, x, y);
    return cudaPeekAtLastError();
}
extern "C" cudaError_t kata_asks_nothing(int n, const float* x, float* y) {
    axpy<<<3, 64>>>(n, 2.0f, x, y);
    cudaGetLastError();
    return cudaSuccess;
}

// Absolute values and classes of floats by the names that CUDA has in the global namespace.
__global__ void magnitude(int n, const float* x, float* y) {
    const int i = threadIdx.x;
    if (i < n) y[i] = isnan(x[i]) ? 0.0f : abs(x[i] / 16.0f);
}
// The same kernel twice: each launch is counted on its own.
extern "C" cudaError_t kata_magnitude(int n, const float* x, float* y) {
    magnitude<<<1, 256>>>(n, x, y);
    magnitude<<<1, 256>>>(n, x, y);
    return cudaGetLastError();
}

// Structures that functions take and return.
struct Point {
    float a, b;
    __device__ Point operator+(Point other) const { return {a + other.a, b + other.b}; }
};
__device__ Point turned(Point p) { return {p.b, p.a}; }
__global__ void points(int n, const Point* x, Point* y) {
    __shared__ Point tile[128];
    const int i = threadIdx.x;
    if (i < n) tile[i] = x[i] + turned(x[n - 1 - i]);
    __syncthreads();
    if (i < n) y[i] = turned(turned(tile[i]));
}
extern "C" cudaError_t kata_points(int n, const float* x, float* y) {
    points<<<1, 128>>>(n / 2, reinterpret_cast<const Point*>(x), reinterpret_cast<Point*>(y));
    return cudaGetLastError();
}
