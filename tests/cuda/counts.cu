// Kernels whose accesses are counted: one block of 64 threads, 2048 floats in and out.
// `test_simt_counts.py` says what each counts, which is the same with every compiler.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "call.cuh"

#define COUNT(NAME, TYPE, ...)                                                     \
    __global__ void NAME([[maybe_unused]] const TYPE* x, TYPE* y) {                \
        const int i = threadIdx.x;                                                 \
        __VA_ARGS__                                                                \
    }                                                                              \
    LAUNCH(NAME, TYPE)
#define LAUNCH(NAME, TYPE)                                                         \
    extern "C" cudaError_t kata_##NAME(int, const float* x, float* y) {            \
        NAME<<<1, 64>>>(reinterpret_cast<const TYPE*>(x), reinterpret_cast<TYPE*>(y)); \
        return cudaGetLastError();                                                 \
    }

// ---- What an expression reads twice, and what a compiler makes one of

COUNT(twice, float, y[i] = x[i] + x[i];)
COUNT(twice_whole, int, y[i] = x[i] + x[i];)
COUNT(three_times, float, y[i] = x[i] + x[i] + x[i];)
COUNT(square, float, y[i] = x[i] * x[i];)
COUNT(neighbours, float, y[i] = x[i] + x[i + 1];)
COUNT(positive, float, y[i] = x[i] > 0.0f ? x[i] : 0.0f;)
COUNT(positive_whole, int, y[i] = x[i] > 0 ? x[i] : 0;)
COUNT(size, int, y[i] = x[i] < 0 ? -x[i] : x[i];)
COUNT(larger, int, y[i] = x[i] > x[i + 64] ? x[i] : x[i + 64];)
COUNT(rest, int, y[i] = x[i] - x[i] / 4 * 4;)
COUNT(distributed, int, y[i] = x[i] * x[i + 64] + x[i + 128] * x[i + 64];)
COUNT(bits, int, y[i] = (x[i] & 1) | (x[i] & 2);)
COUNT(no_number, float, y[i] = x[i] != x[i] ? 0.0f : 1.0f;)
COUNT(within, int, y[i] = x[i] >= 0 && x[i] < 10;)
COUNT(either, int, y[i] = x[i] == 1 || x[i] == 2;)
__global__ void several_lines(const int* x, int* y) {
    const int i = threadIdx.x;
    y[i] = x[i] > 0
               ? x[i]
               : 0;
    y[i + 64] = x[i + 64] +
                x[i + 64];
}
LAUNCH(several_lines, int)

// ---- What two statements read is read twice

__global__ void two_statements(const float* x, float* y) {
    const int i = threadIdx.x;
    const float a = x[i];
    const float b = x[i];
    y[i] = a + b;
}
LAUNCH(two_statements, float)
__global__ void two_loops(const float* x, float* y) {
    float sum = 0.0f, squares = 0.0f;
    for (int i = threadIdx.x; i < 64; i += blockDim.x) {
        sum += x[i];
    }
    for (int i = threadIdx.x; i < 64; i += blockDim.x) {
        squares += x[i] * x[i];
    }
    y[threadIdx.x] = sum + squares;
}
LAUNCH(two_loops, float)
__global__ void branch(const float* x, float* y) {
    const int i = threadIdx.x;
    if (x[i] > 0.0f) {
        y[i] = x[i];
    }
}
LAUNCH(branch, float)

__global__ void two_in_a_line(const float* x, float* y) {
    const int i = threadIdx.x;
    const float a = x[i]; const float b = x[i];
    y[i] = a + b;
}
LAUNCH(two_in_a_line, float)
__global__ void head_and_body(const float* x, float* y) {
    const int i = threadIdx.x;
    float sum = 0.0f;
    /* é */ if (x[i] == x[i]) sum += x[i] + x[i];
    y[i] = sum;
}
LAUNCH(head_and_body, float)
__global__ void loop_and_body(const int* x, int* y) {
    const int i = threadIdx.x;
    int sum = 0;
    for (int k = 0; k < x[64]; ++k) sum += x[i] > 0 ? x[i] : 0;
    y[i] = y[i + 64] = sum;
}
LAUNCH(loop_and_body, int)
__global__ void lambda_in_a_line(const float* x, float* y) {
    const int i = threadIdx.x;
    const auto f = [&](int k) { const float a = x[k]; return a + x[k] + x[k]; };
    y[i] = f(i) + x[i];
}
LAUNCH(lambda_in_a_line, float)

// ---- Assignments, and their values

COUNT(doubles, float, y[i] *= 2.0f;)
COUNT(adds, float, y[i] += x[i];)
COUNT(adds_itself, float, y[i] += y[i];)
COUNT(counts_up, int, y[i]++;)
COUNT(counts_before, int, ++y[i];)
COUNT(value_before, int, y[i + 64] = y[i]++;)
COUNT(value_after, int, y[i + 64] = ++y[i];)
COUNT(chained, float, y[i] = y[i + 64] = x[i];)
COUNT(chained_far, int, y[x[i] & 63] = y[i + 64] = x[i + 64];)
COUNT(tested, int, if ((y[i] -= 1) == 0) y[i + 64] = 1;)
COUNT(itself, float, y[i] = y[i];)
COUNT(stored_and_used, float, y[i + 64] = (y[i] = x[i]) + y[i];)
COUNT(swapped, float, const float t = y[i]; y[i] = y[i + 64]; y[i + 64] = t;)
COUNT(std_swapped, float, std::swap(y[i], y[i + 64]);)

// ---- Loops

COUNT(loop, float, float sum = 0.0f; for (int k = 0; k < 4; ++k) sum += x[k]; y[i] = sum;)
COUNT(same_in_loop, float, float sum = 0.0f; for (int k = 0; k < 4; ++k) sum += x[i]; y[i] = sum;)
COUNT(adds_in_loop, float, for (int k = 0; k < 4; ++k) y[i] += x[k];)
COUNT(counts_in_loop, int, for (int k = 0; k < 4; ++k) y[i]++;)
COUNT(bound, int, int sum = 0; for (int k = 0; k < (x[0] & 3); ++k) sum += k; y[i] = sum;)
COUNT(largest_in_loop, int, int m = 0; for (int k = 0; k < 4; ++k) m = x[k] > m ? x[k] : m; y[i] = m;)
COUNT(unrolled, float, y[i] = x[i]; y[i + 64] = x[i + 64]; y[i + 128] = x[i + 128];)
COUNT(chained_in_loop, float, for (int k = 0; k < 4; ++k) y[i] = y[i + 64 * (k + 1)] = x[i + 64 * k];)

// ---- Functions, references, pointers, lambdas

__device__ float at(const float* p, int i) { return p[i]; }
__device__ float larger_of(const float& a, const float& b) { return a > b ? a : b; }
COUNT(function, float, y[i] = at(x, i) + at(x, i);)
COUNT(function_and_element, float, y[i] = at(x, i) + x[i];)
COUNT(references, float, y[i] = larger_of(x[i], x[i + 64]);)
COUNT(reference, float, float& r = y[i]; r = r + x[i];)
COUNT(constant, float, const float c = x[i]; y[i] = c + c;)
COUNT(lambda, float, const auto f = [&](int k) { return x[k] + x[k]; }; y[i] = f(i);)
COUNT(pointer, float, const float* p = x + i; y[i] = *p + p[64];)
COUNT(through_max, float, y[i] = fmaxf(x[i], x[i + 64]);)
COUNT(conditions, bool, y[i] = x[i] && !x[i + 64];)
COUNT(chosen, float, y[i] = i % 2 ? x[i] : x[i + 64];)
COUNT(chosen_place, float, (i % 2 ? y[i] : y[i + 64]) = x[i];)
COUNT(cases, int, switch (x[i] & 1) { case 0: y[i] = x[i]; break; default: y[i] = 1; })

// ---- Sizes

COUNT(bytes, unsigned char, y[i] = x[i] + x[i];)
COUNT(shorts, short, y[i] += x[i];)
COUNT(longs, long long, y[i] = x[i] + x[i];)
COUNT(doubles_64, double, y[i] = x[i] + x[i + 64];)
COUNT(halves, __half, y[i] = x[i] + x[i + 64];)
COUNT(pairs_of_halves, __half2, y[i] = __hadd2(x[i], x[i + 64]);)
COUNT(vector, float4, y[i] = x[i];)
COUNT(vector_parts, float4, y[i].x = x[i].x + x[i].w;)
COUNT(vector_made, float4, const float4 v = x[i]; y[i] = make_float4(v.y, v.x, v.w, v.z);)
COUNT(vector_cast, float, reinterpret_cast<float4*>(y)[i] = reinterpret_cast<const float4*>(x)[i];)
COUNT(vector_of_two, float2, const float2 v = x[i]; y[i].x = v.y; y[i].y = v.x;)
COUNT(vector_of_three, float3, y[i] = x[i];)
COUNT(vector_of_doubles, double2, y[i] = x[i];)

// ---- Structures

struct Pair {
    float value;
    int index;
};
struct Triple {
    float a, b, c;
};
struct Four {
    float a, b, c, d;
};
struct alignas(8) Close {
    float a, b;
};
struct alignas(16) Wide {
    float v[4];
};
struct Complex {
    double re, im;
};
struct One {
    double value;
};
struct Mixed {
    float f;
    double d;
    int i;
};
struct Many {
    float v[8];
};
struct Small {
    unsigned char r, g, b;
};
struct Body {
    float4 place;
    float mass;
    int id;
};
COUNT(pair, Pair, y[i] = x[i];)
COUNT(pair_made, Pair, y[i] = {x[i].value, i};)
COUNT(pair_named, Pair, y[i] = Pair{1.0f, i};)
COUNT(pair_parts, Pair, y[i].value = x[i].value + x[i].value; y[i].index = x[i].index;)
COUNT(pair_local, Pair, Pair p = x[i]; p.index += 1; y[i] = p;)
COUNT(pair_zero, Pair, y[i] = {};)
COUNT(triple, Triple, y[i] = x[i];)
COUNT(four, Four, y[i] = x[i];)
COUNT(four_made, Four, y[i] = {1.0f, 2.0f, 3.0f, x[i].a};)
COUNT(close, Close, y[i] = x[i];)
COUNT(close_made, Close, y[i] = {x[i].a, x[i].b};)
COUNT(close_parts, Close, y[i].a = x[i].b;)
COUNT(wide, Wide, y[i] = x[i];)
COUNT(wide_local, Wide, Wide w = x[i]; for (float& v : w.v) v += 1.0f; y[i] = w;)
COUNT(wide_part, Wide, y[i].v[1] = x[i].v[2];)
COUNT(complex, Complex, y[i] = x[i];)
COUNT(complex_made, Complex, y[i] = {x[i].im, x[i].re};)
COUNT(one, One, y[i] = x[i];)
COUNT(mixed, Mixed, y[i] = x[i];)
COUNT(many, Many, y[i] = x[i];)
COUNT(many_made, Many, y[i] = Many{{1.0f, 2.0f}};)
COUNT(small, Small, y[i] = x[i];)
COUNT(body, Body, y[i] = x[i];)
COUNT(body_local, Body, Body b = x[i]; b.mass = 1.0f; y[i] = b;)
COUNT(chosen_pair, Pair, y[i] = i % 2 ? x[i] : x[i + 64];)
COUNT(bound_parts, Pair, const auto [value, index] = x[i]; y[i].value = value + index;)

// ---- Arrays of a thread, and copies of bytes

COUNT(array, float, float v[4]; for (int k = 0; k < 4; ++k) v[k] = x[4 * i + k]; y[i] = v[0] + v[3];)
COUNT(array_made, float, const float v[2] = {x[i], x[i + 64]}; y[i] = v[0] + v[1];)
COUNT(copied, float, float v[4]; memcpy(v, x + 4 * i, sizeof v); std::memcpy(y + 4 * i, v, sizeof v);)
COUNT(moved, float, memmove(y + 4 * i, x + 4 * i, 16);)
COUNT(set, float, memset(y + 4 * i, 0, 16);)
COUNT(copied_far, float, memcpy(y + 16 * i, x + 16 * i, 64);)

// ---- Shared memory

__global__ void shared_sum(const float* x, float* y) {
    __shared__ float tile[64];
    const int i = threadIdx.x;
    tile[i] = x[i];
    __syncthreads();
    for (int left = 32; left; left /= 2) {
        if (i < left) tile[i] += tile[i + left];
        __syncthreads();
    }
    y[i] = tile[0] + tile[0];
}
LAUNCH(shared_sum, float)
__global__ void shared_structs(const Complex* x, Complex* y) {
    __shared__ Complex tile[64];
    const int i = threadIdx.x;
    tile[i] = {x[i].re, x[i].im};
    __syncthreads();
    y[i] = tile[63 - i];
}
LAUNCH(shared_structs, Complex)
__global__ void shared_close(const Close* x, Close* y) {
    extern __shared__ Close rows[];
    const int i = threadIdx.x;
    rows[i] = {x[i].b, x[i].a};
    __syncthreads();
    y[i] = rows[i ^ 1];
}
extern "C" cudaError_t kata_shared_close(int, const float* x, float* y) {
    shared_close<<<1, 64, 64 * sizeof(Close)>>>(reinterpret_cast<const Close*>(x), reinterpret_cast<Close*>(y));
    return cudaGetLastError();
}
__global__ void conflicts(const float* x, float* y) {
    __shared__ float tile[32][32];
    const int i = threadIdx.x % 32, j = threadIdx.x / 32;
    tile[i][j] = tile[i][j + 2] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = tile[i][j] + tile[i][j];
}
LAUNCH(conflicts, float)

// ---- What no register holds

COUNT(is_volatile, float, volatile const float* v = x; y[i] = v[i] + v[i];)
COUNT(volatile_stores, float, volatile float* v = y; v[i] += 1.0f;)
COUNT(atomics, int, atomicAdd(y, 1); atomicAdd(y, 1);)
COUNT(atomic_value, int, y[i + 64] = atomicAdd(y, 1) + atomicMax(y, 3);)
COUNT(hints, float, __stcs(y + i, __ldg(x + i) + __ldg(x + i));)

// ---- What others are met between

__global__ void met_between(const float* x, float* y) {
    const int i = threadIdx.x;
    float a = x[i]; __syncwarp(); a += x[i];
    y[i] = a;
}
LAUNCH(met_between, float)
