// Half precision and bfloat16; a line that says WRONG is the one to be named.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include "run.cuh"

__global__ void half_operators(int n, const float* x, float* y) {
    const int i = threadIdx.x;
    half a = __float2half(x[i]), b = half(0.1f);
    a = a * b + __hfma(a, b, __float2half(1.0f));
    a += b;
    y[i] = __hgt(a, __float2half(0.0f)) ? __half2float(a) : -__half2float(__hneg(a));
}
RUN(half_operators, 1, 64)

// Two at a time: one load of 4 bytes, one instruction.
__global__ void half_pairs(int n, const float* x, float* y) {
    __shared__ half2 pairs[32];
    const int i = threadIdx.x;
    if (i < 32) pairs[i] = __floats2half2_rn(x[2 * i], x[2 * i + 1]);
    __syncthreads();
    if (i < 32) {
        half2 v = pairs[i];
        v = __hadd2(__hmul2(v, __float2half2_rn(3.0f)), __halves2half2(__low2half(v), __high2half(v)));
        const float2 both = __half22float2(v);
        y[2 * i] = both.x;
        y[2 * i + 1] = both.y;
    }
}
RUN(half_pairs, 1, 64)

__global__ void half_shuffle(int n, const float* x, float* y) {
    half2 sum = __float2half2_rn(x[threadIdx.x]);
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
    y[threadIdx.x] = __low2float(sum);
}
RUN(half_shuffle, 1, 64)

__global__ void bfloat_operators(int n, const float* x, float* y) {
    __shared__ __nv_bfloat16 all[64];
    const int i = threadIdx.x;
    all[i] = __float2bfloat16(x[i] + 0.01f);
    __syncthreads();
    const __nv_bfloat162 both = __halves2bfloat162(all[i], all[i ^ 1]);
    y[i] = __bfloat162float(__low2bfloat16(both) * __high2bfloat16(both));
}
RUN(bfloat_operators, 1, 64)

__global__ void half_atomics(int n, const float* x, float* y) {
    __shared__ half sum;
    if (threadIdx.x == 0) sum = __float2half(0.0f);
    __syncthreads();
    atomicAdd(&sum, __float2half(x[threadIdx.x]));
    __syncthreads();
    y[threadIdx.x] = __half2float(sum);
}
RUN(half_atomics, 1, 64)

__global__ void half_no_barrier(int n, const float* x, float* y) {
    __shared__ half all[64];
    all[threadIdx.x] = __float2half(x[threadIdx.x]);
    y[threadIdx.x] = __half2float(all[63 - threadIdx.x]);  // WRONG
}
RUN(half_no_barrier, 1, 64)

__global__ void half_past_the_end(int n, const float* x, float* y) {
    __shared__ half all[64];
    all[threadIdx.x + 1] = __float2half(x[threadIdx.x]);  // WRONG
    __syncthreads();
    y[threadIdx.x] = __half2float(all[threadIdx.x]);
}
RUN(half_past_the_end, 1, 64)

// A half2 begins at a multiple of 4 bytes.
__global__ void half_misaligned(int n, const float* x, float* y) {
    __shared__ half all[66];
    all[threadIdx.x] = all[threadIdx.x + 2] = __float2half(x[threadIdx.x]);
    if (threadIdx.x == 0) {
        const half2 v = *reinterpret_cast<half2*>(&all[1]);  // WRONG
        y[0] = __low2float(v);
    }
}
RUN(half_misaligned, 1, 1)

__global__ void half_sum_without_atomics(int n, const float* x, float* y) {
    __shared__ half sum;
    if (threadIdx.x == 0) sum = __float2half(0.0f);
    __syncthreads();
    sum += __float2half(x[threadIdx.x]);  // WRONG
    __syncthreads();
    y[threadIdx.x] = __half2float(sum);
}
RUN(half_sum_without_atomics, 1, 64)

// ---- Eight bits, which are stored and converted

__global__ void eight_bits(int n, const float* x, float* y) {
    __shared__ __nv_fp8_e4m3 four[64];
    __shared__ __nv_fp8_e5m2 five[64];
    four[threadIdx.x] = __nv_fp8_e4m3(30.0f * x[threadIdx.x]);
    five[threadIdx.x] = __nv_fp8_e5m2(30.0f * x[threadIdx.x]);
    y[threadIdx.x] = float(four[threadIdx.x]) + float(five[threadIdx.x]);
}
RUN(eight_bits, 1, 64)

__global__ void eight_bits_small(int n, const float* x, float* y) {
    const __nv_fp8_storage_t kept = __nv_cvt_float_to_fp8(x[threadIdx.x] / 512.0f, __NV_SATFINITE, __NV_E4M3);
    y[threadIdx.x] = __half2float(__nv_cvt_fp8_to_halfraw(kept, __NV_E4M3));
}
RUN(eight_bits_small, 1, 64)

__global__ void eight_bits_large(int n, const float* x, float* y) {
    y[threadIdx.x] = float(__nv_fp8_e4m3(1e6f * x[threadIdx.x]));
}
RUN(eight_bits_large, 1, 64)

__global__ void eight_no_barrier(int n, const float* x, float* y) {
    __shared__ __nv_fp8_e4m3 all[64];
    all[threadIdx.x] = __nv_fp8_e4m3(x[threadIdx.x]);
    y[threadIdx.x] = float(all[63 - threadIdx.x]);  // WRONG
}
RUN(eight_no_barrier, 1, 64)

__global__ void eight_past_the_end(int n, const float* x, float* y) {
    __shared__ __nv_fp8_e4m3 all[64];
    all[threadIdx.x + 1] = __nv_fp8_e4m3(x[threadIdx.x]);  // WRONG
    __syncthreads();
    y[threadIdx.x] = float(all[threadIdx.x]);
}
RUN(eight_past_the_end, 1, 64)
