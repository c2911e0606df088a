// The rest of the runtime and of the language; a line that says WRONG is the one to be named.

#include <cuComplex.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <iostream>

#include "run.cuh"

__constant__ float scale[2];
__device__ float offset;

__global__ void symbols(int n, const float* x, float* y) { y[threadIdx.x] = scale[1] * x[threadIdx.x] + offset; }
extern "C" cudaError_t kata_symbols(int n, const float* x, float* y) {
    const float scales[2] = {1.0f, 3.0f}, five = 5.0f;
    cudaMemcpyToSymbol(scale, scales, sizeof scales);
    cudaMemcpyToSymbol(offset, &five, sizeof five);
    symbols<<<1, 64>>>(n, x, y);
    return cudaGetLastError();
}

__global__ void symbols_again(int n, const float* x, float* y) { y[threadIdx.x] = scale[1] * x[threadIdx.x] + offset; }
RUN(symbols_again, 1, 64)

// Public kernels have it; nvcc takes it in C++17, and in C++20 has std's where this one is.
#if defined(__NVCC__) && __cplusplus >= 202002L
__device__ float between() { return 1.0f; }
#else
__device__ float lerp(float a, float b, float t) { return a + t * (b - a); }
__device__ float between() { return lerp(0.0f, 4.0f, 0.25f); }
#endif

__global__ void intrinsics(int n, const float* x, float* y) {
    const int i = threadIdx.x;
    const long long before = clock64();
    float v = __fadd_rn(x[i], __fmul_rn(2.0f, x[i])) + __fdiv_rn(x[i], 2.0f) + __fsqrt_rn(4.0f) + __frcp_rn(2.0f);
    v += static_cast<float>(__mul24(i, 3) + __popcll(0xffull) + __float2int_rn(2.5f) + __float2int_rd(-0.5f));
    v += between() + static_cast<float>(__mulhi(1 << 30, 8) + static_cast<int>(__umul24(3u, 4u)));
    v += __fmaf_rn(1.0f, 2.0f, 3.0f) + static_cast<float>(__clzll(1) + __ffsll(8));
#if __CUDA_ARCH__ >= 700
    v += 1.0f;
#endif
    y[i] = clock64() > before ? v : 0.0f;
}
RUN(intrinsics, 1, 64)

// What whole numbers of 8 and 16 bits do side by side, and sixteen bits that are rounded down or up.
__global__ void more_intrinsics(int n, const float* x, float* y) {
    const int i = threadIdx.x;
    int whole = static_cast<int>(__vadd4(0x01ff7f80u, 0x01010101u) == 0x02008081u);
    whole += static_cast<int>(__vsubss2(0x80000005u, 0x00010007u) == 0x8000fffeu);
    whole += static_cast<int>(__vmaxu4(0x01ff7f80u, 0x80808080u) == 0x80ff8080u);
    whole += static_cast<int>(__vcmpgts4(0x01ff7f80u, 0u) == 0xff00ff00u);
    whole += static_cast<int>(__vabsdiffu2(0x00010005u, 0x00030002u) == 0x00020003u);
    whole += static_cast<int>(__vsadu4(0x01020304u, 0u) == 10u) + static_cast<int>(__brevll(1ull) == 1ull << 63);
    whole += static_cast<int>(__mul64hi(-1ll, 1ll) == -1ll) + static_cast<int>(__rhadd(3, 4) == 4) + __hadd(3, 4);
    float v = __half2float(__float2half_rz(2049.0f)) - __half2float(__float2half_ru(2049.0f));
    v += __half2float(__float2half_rd(-2049.0f)) + __half2float(__float2half_rz(-2049.0f));
    v += static_cast<float>(__half2ll_ru(__half(2.5f)) + __half2short_rd(__half(-0.5f)));
    v += roundf(1000.0f * erfinvf(erff(0.25f))) / 1000.0f + norm4df(2.0f, 2.0f, 2.0f, 2.0f);
    y[i] = x[i] + v + static_cast<float>(whole);
}
RUN(more_intrinsics, 1, 64)

__global__ void complex_numbers(int n, const float* x, float* y) {
    __shared__ cuFloatComplex all[32];
    const int i = threadIdx.x;
    all[i] = reinterpret_cast<const cuFloatComplex*>(x)[i];
    __syncthreads();
    const cuFloatComplex product = cuCmulf(all[31 - i], make_cuFloatComplex(0.0f, 1.0f));
    const cuDoubleComplex half = cuCdiv(make_cuDoubleComplex(0.0, 2.0), make_cuDoubleComplex(0.0, 4.0));
    y[2 * i] = cuCimagf(product) + cuCabsf(make_cuComplex(3.0f, -4.0f));
    y[2 * i + 1] = cuCrealf(cuConjf(product)) + static_cast<float>(cuCreal(half) + cuCimag(half));
}
RUN(complex_numbers, 1, 32)

// nvcc takes it with -rdc=true only.
#ifndef __NVCC__
__global__ void launched(float* y) { y[threadIdx.x] = 0.0f; }
__global__ void launches_a_kernel(int n, const float* x, float* y) {
    launched<<<1, 64>>>(y);  // WRONG
}
RUN(launches_a_kernel, 1, 1)
#endif

__global__ void three_floats(int n, const float* x, float* y) {
    __shared__ float3 points[16];
    const int i = threadIdx.x;
    points[i] = make_float3(x[i], 2.0f * x[i], 3.0f * x[i]);
    __syncthreads();
    const float3 p = points[15 - i];
    const int4 q = make_int4(i, i + 1, i + 2, i + 3);
    for (int k = 0; k < 4; ++k) y[4 * i + k] = p.x + p.y + p.z + static_cast<float>(q.w - q.x);
}
RUN(three_floats, 1, 16)

__global__ void adds(int n, float by, const float* from, float* to) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = from[i] + by;
}

// Rows that are further apart on the device, copied and summed.
__global__ void sums_rows(size_t pitch, const float* rows, float* y) {
    const int i = threadIdx.x;
    y[i] = rows[i / 16 * (pitch / sizeof(float)) + i % 16];
}
extern "C" cudaError_t kata_pitched(int n, const float* x, float* y) {
    float* rows;
    size_t pitch = 0;
    cudaMallocPitch(&rows, &pitch, 16 * sizeof(float), 4);
    cudaMemcpy2D(rows, pitch, x, 16 * sizeof(float), 16 * sizeof(float), 4, cudaMemcpyDeviceToDevice);
    sums_rows<<<1, 64>>>(pitch, rows, y);
    cudaFree(rows);
    return cudaGetLastError();
}
extern "C" cudaError_t kata_by_address(int n, const float* x, float* y) {
    float by = 1.0f;
    void* args[] = {&n, &by, &x, &y};
    return cudaLaunchKernel((const void*)adds, dim3(2), dim3(32), args, 0, 0);
}
extern "C" cudaError_t kata_by_variable(int n, const float* x, float* y) {
    void (*chosen)(int, float, const float*, float*) = adds;
    chosen<<<2, 32>>>(n, 1.0f, x, y);
    return cudaGetLastError();
}

extern "C" cudaError_t kata_own_stream(int n, const float* x, float* y) {
    cudaStream_t stream;
    cudaEvent_t from, to;
    cudaStreamCreate(&stream);
    cudaEventCreate(&from);
    cudaEventCreate(&to);
    cudaEventRecord(from, stream);
    adds<<<2, 32, 0, stream>>>(n, 1.0f, x, y);
    cudaEventRecord(to, stream);
    cudaEventSynchronize(to);
    float milliseconds = -1.0f;
    cudaEventElapsedTime(&milliseconds, from, to);
    cudaStreamSynchronize(stream);
    cudaEventDestroy(from);
    cudaEventDestroy(to);
    cudaStreamDestroy(stream);
    return milliseconds < 0.0f ? cudaErrorInvalidValue : cudaGetLastError();
}
extern "C" cudaError_t kata_managed(int n, const float* x, float* y) {
    float* held;
    cudaMallocManaged(&held, n * sizeof(float));
    for (int i = 0; i < n; ++i) held[i] = 1.0f;
    adds<<<2, 32>>>(n, 0.0f, x, held);
    cudaDeviceSynchronize();
    held[0] += 1.0f;
    adds<<<2, 32>>>(n, 0.0f, held, y);
    cudaFree(held);
    return cudaGetLastError();
}

extern "C" cudaError_t kata_stream_that_waits_for_none(int n, const float* x, float* y) {
    cudaStream_t stream;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    adds<<<2, 32, 0, stream>>>(n, 1.0f, x, y);
    cudaStreamDestroy(stream);
    return cudaGetLastError();
}
extern "C" cudaError_t kata_symbol_past_the_end(int n, const float* x, float* y) {
    const float scales[3] = {1.0f, 3.0f, 4.0f};
    return cudaMemcpyToSymbol(scale, scales, sizeof scales);
}
extern "C" cudaError_t kata_managed_never_freed(int n, const float* x, float* y) {
    float* held;
    cudaMallocManaged(&held, n * sizeof(float));
    adds<<<2, 32>>>(n, 1.0f, x, y);
    return cudaGetLastError();
}
__global__ void float3_past_the_end(int n, const float* x, float* y) {
    const float3 v = reinterpret_cast<const float3*>(x)[threadIdx.x];  // WRONG
    y[threadIdx.x] = v.x;
}
RUN(float3_past_the_end, 1, 22)

// ---- Streams among themselves

__global__ void doubles(int n, float* values) { values[blockIdx.x * blockDim.x + threadIdx.x] *= 2.0f; }

struct Two {
    cudaStream_t a, b;
    cudaEvent_t event;
    explicit Two(unsigned flags = cudaStreamDefault) {
        cudaStreamCreateWithFlags(&a, flags);
        cudaStreamCreateWithFlags(&b, flags);
        cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    }
    ~Two() {
        cudaStreamDestroy(a);
        cudaStreamDestroy(b);
        cudaEventDestroy(event);
    }
};

extern "C" cudaError_t kata_event_between(int n, const float* x, float* y) {
    Two two;
    adds<<<2, 32, 0, two.a>>>(n, 1.0f, x, y);
    cudaEventRecord(two.event, two.a);
    cudaStreamWaitEvent(two.b, two.event, 0);
    doubles<<<2, 32, 0, two.b>>>(n, y);
    return cudaGetLastError();
}
extern "C" cudaError_t kata_host_between(int n, const float* x, float* y) {
    Two two;
    cudaMemsetAsync(y, 0, n * sizeof(float), two.a);
    cudaStreamSynchronize(two.a);
    adds<<<2, 32, 0, two.b>>>(n, 1.0f, x, y);
    cudaDeviceSynchronize();
    doubles<<<2, 32, 0, two.a>>>(n, y);
    return cudaGetLastError();
}
// The default stream waits for both, and the second for it.
extern "C" cudaError_t kata_default_between(int n, const float* x, float* y) {
    Two two;
    adds<<<1, 32, 0, two.a>>>(32, 0.5f, x, y);
    adds<<<1, 32, 0, two.b>>>(32, 0.5f, x + 32, y + 32);
    doubles<<<2, 32>>>(n, y);
    adds<<<2, 32, 0, two.b>>>(n, 1.0f, y, y);
    return cudaGetLastError();
}
// Streams that do not block start after an event of the caller's, and the caller waits for theirs.
extern "C" cudaError_t kata_fork_and_join(int n, const float* x, float* y) {
    Two two(cudaStreamNonBlocking);
    cudaEventRecord(two.event, nullptr);
    for (cudaStream_t stream : {two.a, two.b}) {
        cudaStreamWaitEvent(stream, two.event, 0);
        const int from = stream == two.a ? 0 : 32;
        adds<<<1, 32, 0, stream>>>(32, 1.0f, x + from, y + from);
    }
    for (cudaStream_t stream : {two.a, two.b}) {
        cudaEventRecord(two.event, stream);
        cudaStreamWaitEvent(nullptr, two.event, 0);
    }
    doubles<<<2, 32>>>(n, y);
    return cudaGetLastError();
}
extern "C" cudaError_t kata_no_event_between(int n, const float* x, float* y) {
    Two two;
    adds<<<2, 32, 0, two.a>>>(n, 1.0f, x, y);
    doubles<<<2, 32, 0, two.b>>>(n, y);
    return cudaGetLastError();
}
extern "C" cudaError_t kata_event_too_early(int n, const float* x, float* y) {
    Two two;
    cudaEventRecord(two.event, two.a);
    adds<<<2, 32, 0, two.a>>>(n, 1.0f, x, y);
    cudaStreamWaitEvent(two.b, two.event, 0);
    doubles<<<2, 32, 0, two.b>>>(n, y);
    return cudaGetLastError();
}
extern "C" cudaError_t kata_copies_too_early(int n, const float* x, float* y) {
    Two two;
    float* held;
    cudaMalloc(&held, n * sizeof(float));
    adds<<<2, 32, 0, two.a>>>(n, 1.0f, x, held);
    cudaMemcpyAsync(y, held, n * sizeof(float), cudaMemcpyDeviceToDevice, two.b);
    cudaFree(held);
    return cudaGetLastError();
}
extern "C" cudaError_t kata_never_joined(int n, const float* x, float* y) {
    Two two(cudaStreamNonBlocking);
    cudaEventRecord(two.event, nullptr);
    cudaStreamWaitEvent(two.a, two.event, 0);
    adds<<<2, 32, 0, two.a>>>(n, 1.0f, x, y);
    return cudaGetLastError();
}
