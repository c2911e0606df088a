// CUDA C++ for the host compiler: the names that the source of a kernel may use.
//
// A .cu file is compiled against this header by the C++ compiler of the machine, with
// -fsanitize=thread, and linked with simt.cpp instead of a sanitizer's runtime: every load and
// store of a kernel is a call there, which checks and counts it. plugins/native/cudasource.py
// rewrites the three things that are not C++: <<<...>>>, __shared__ and extern __shared__.
// nvcc never sees this file; the names are those of the CUDA Runtime API and of the CUDA C++
// Programming Guide.
#pragma once

#include <algorithm>
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
// As nvcc does, for names without std: abs, exp, isnan of a float are overloads, not C's functions.
#include <math.h>
#include <tuple>
#include <type_traits>
#include <utility>

// Functions that access memory for the caller's line report it themselves, with its address.
#define SIMT_PLAIN __attribute__((no_sanitize("thread"), noinline))
#define SIMT_HERE __builtin_return_address(0)
// The text of a name, after the macros in it.
#define SIMT_NAME(...) SIMT_TEXT(__VA_ARGS__)
#define SIMT_TEXT(...) #__VA_ARGS__

#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(bytes) alignas(bytes)

struct uint3 {
    unsigned x, y, z;
};

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
};

using cudaStream_t = struct CUstream_st*;

// The numbers are those of driver_types.h.
enum cudaError_t {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInvalidConfiguration = 9,
    cudaErrorNotYetImplemented = 31,
    cudaErrorLaunchOutOfResources = 701,
};
enum cudaMemcpyKind {
    cudaMemcpyHostToHost,
    cudaMemcpyHostToDevice,
    cudaMemcpyDeviceToHost,
    cudaMemcpyDeviceToDevice,
    cudaMemcpyDefault,
};
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };

constexpr int warpSize = 32;

namespace simt {

enum class Kind : uint8_t { Read, Write, Atomic };
enum class Warp : uint8_t { Sync, Index, Up, Down, Xor, Ballot, All, Any, Reduce };
enum class Reduce : uint8_t { Add, Min, Max, And, Or, Xor };

// The configuration of a launch: by default no dynamic shared memory, and the default stream.
struct Config {
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
    Config(dim3 grid, dim3 block, size_t shared = 0, cudaStream_t stream = nullptr)
        : grid(grid), block(block), shared(shared), stream(stream) {}
};

// The place of a shared variable, and the run and block that last declared it.
struct Slot {
    void* address = nullptr;
    uint32_t run = 0, block = 0;
};

// A shared variable, as messages name its elements.
struct Variable {
    const char* name;
    size_t bytes;
    unsigned element;
    unsigned rank;
    size_t extents[3];
};

uint3 thread_index();
uint3 block_index();
dim3 block_size();
dim3 grid_size();

void access(const void* address, unsigned bytes, Kind kind, const void* here);
void declare(Slot& slot, const Variable& variable);
void* dynamic(const char* name, unsigned element);
uint64_t warp(Warp operation, unsigned mask, uint64_t value, int argument, int width,
              Reduce reduce, bool is_signed, const void* here);
void fence();
void launch(const char* kernel, const Config& config, void (*run)(void*), void* arguments,
            size_t bytes);
void allow_dynamic(size_t bytes);
void need_stream(const char* what, cudaStream_t stream);

// Stands for a __shared__ variable, which is the only member of a structure. Its place, with
// nothing beside it, is poisoned when a block first gets here.
template <class Holder, class T>
SIMT_PLAIN T& shared(T Holder::*member, const char* name) {
    static Slot slot;
    using Element = std::remove_all_extents_t<T>;
    declare(slot, {name, sizeof(T), sizeof(Element), std::rank_v<T>,
                   {std::extent_v<T, 0>, std::extent_v<T, 1>, std::extent_v<T, 2>}});
    return static_cast<Holder*>(slot.address)->*member;
}

// A kernel and its arguments, copied once, as a launch copies them.
template <class Function, class... Args>
struct Call {
    Function function;
    std::tuple<Args...> args;

    template <size_t... I>
    SIMT_PLAIN void apply(std::index_sequence<I...>) {
        function(std::get<I>(args)...);
    }
    SIMT_PLAIN static void run(void* self) {
        static_cast<Call*>(self)->apply(std::index_sequence_for<Args...>{});
    }
};

// Stands for kernel<<<config>>> before the arguments.
template <class Function>
struct Kernel {
    const char* name;
    Config config;
    Function function;

    template <class... Args>
    SIMT_PLAIN void operator()(Args... args) const {
        Call<Function, Args...> call{function, {args...}};
        launch(name, config, &Call<Function, Args...>::run, &call, sizeof call);
    }
};

template <class Function>
SIMT_PLAIN Kernel<Function> kernel(const char* name, Config config, Function function) {
    return {name, config, function};
}

template <class T>
SIMT_PLAIN uint64_t bits(T value) {
    static_assert(sizeof(T) <= 8, "a shuffle moves 4 or 8 bytes");
    uint64_t found = 0;
    std::memcpy(&found, &value, sizeof value);
    return found;
}

template <class T>
SIMT_PLAIN T from_bits(uint64_t value) {
    T found;
    std::memcpy(&found, &value, sizeof found);
    return found;
}

}  // namespace simt

#define threadIdx (simt::thread_index())
#define blockIdx (simt::block_index())
#define blockDim (simt::block_size())
#define gridDim (simt::grid_size())

void __syncthreads();
int __syncthreads_count(int predicate);
int __syncthreads_and(int predicate);
int __syncthreads_or(int predicate);
void __threadfence();
inline void __threadfence_block() {}

// ---- Warps. Every lane named in the mask must come to the same call with the same mask.

SIMT_PLAIN inline void __syncwarp(unsigned mask = 0xffffffffu) {
    simt::warp(simt::Warp::Sync, mask, 0, 0, 32, simt::Reduce::Add, false, SIMT_HERE);
}

#define SIMT_SHUFFLE(NAME, OPERATION)                                                       \
    template <class T>                                                                      \
    SIMT_PLAIN T NAME(unsigned mask, T value, int lane, int width = 32) {                   \
        return simt::from_bits<T>(simt::warp(OPERATION, mask, simt::bits(value), lane,      \
                                             width, simt::Reduce::Add, false, SIMT_HERE)); \
    }
SIMT_SHUFFLE(__shfl_sync, simt::Warp::Index)
SIMT_SHUFFLE(__shfl_up_sync, simt::Warp::Up)
SIMT_SHUFFLE(__shfl_down_sync, simt::Warp::Down)
SIMT_SHUFFLE(__shfl_xor_sync, simt::Warp::Xor)
#undef SIMT_SHUFFLE

#define SIMT_VOTE(TYPE, NAME, OPERATION)                                                    \
    SIMT_PLAIN inline TYPE NAME(unsigned mask, int predicate) {                             \
        return static_cast<TYPE>(simt::warp(OPERATION, mask, predicate != 0, 0, 32,         \
                                            simt::Reduce::Add, false, SIMT_HERE));         \
    }
SIMT_VOTE(unsigned, __ballot_sync, simt::Warp::Ballot)
SIMT_VOTE(int, __all_sync, simt::Warp::All)
SIMT_VOTE(int, __any_sync, simt::Warp::Any)
#undef SIMT_VOTE

#define SIMT_REDUCE(NAME, OPERATION)                                                        \
    template <class T>                                                                      \
    SIMT_PLAIN T NAME(unsigned mask, T value) {                                             \
        static_assert(std::is_integral_v<T> && sizeof(T) == 4, "int or unsigned");          \
        return static_cast<T>(simt::warp(simt::Warp::Reduce, mask,                          \
                                         static_cast<uint64_t>(static_cast<int64_t>(value)), 0, 32,           \
                                         OPERATION, std::is_signed_v<T>, SIMT_HERE));       \
    }
SIMT_REDUCE(__reduce_add_sync, simt::Reduce::Add)
SIMT_REDUCE(__reduce_min_sync, simt::Reduce::Min)
SIMT_REDUCE(__reduce_max_sync, simt::Reduce::Max)
SIMT_REDUCE(__reduce_and_sync, simt::Reduce::And)
SIMT_REDUCE(__reduce_or_sync, simt::Reduce::Or)
SIMT_REDUCE(__reduce_xor_sync, simt::Reduce::Xor)
#undef SIMT_REDUCE

// ---- Atomics. They return what was there before.

#define SIMT_ATOMIC(NAME, NEW)                                                              \
    template <class T>                                                                      \
    SIMT_PLAIN T NAME(T* address, std::type_identity_t<T> value) {                          \
        simt::access(address, sizeof(T), simt::Kind::Atomic, SIMT_HERE);                    \
        T old = *address;                                                                   \
        *address = NEW;                                                                     \
        return old;                                                                         \
    }
SIMT_ATOMIC(atomicAdd, static_cast<T>(old + value))
SIMT_ATOMIC(atomicSub, static_cast<T>(old - value))
SIMT_ATOMIC(atomicMax, old < value ? value : old)
SIMT_ATOMIC(atomicMin, value < old ? value : old)
SIMT_ATOMIC(atomicAnd, old & value)
SIMT_ATOMIC(atomicOr, old | value)
SIMT_ATOMIC(atomicXor, old ^ value)
SIMT_ATOMIC(atomicExch, value)
SIMT_ATOMIC(atomicInc, old >= value ? T(0) : T(old + 1))
SIMT_ATOMIC(atomicDec, old == 0 || old > value ? value : T(old - 1))
#undef SIMT_ATOMIC

template <class T>
SIMT_PLAIN T atomicCAS(T* address, std::type_identity_t<T> compare, std::type_identity_t<T> value) {
    simt::access(address, sizeof(T), simt::Kind::Atomic, SIMT_HERE);
    T old = *address;
    if (old == compare) *address = value;
    return old;
}

template <class T>
SIMT_PLAIN T __ldg(const T* address) {
    simt::access(address, sizeof(T), simt::Kind::Read, SIMT_HERE);
    return *address;
}

// ---- Vector types: one access of all their bytes, which must be aligned to them.

#define SIMT_VECTOR(NAME, T, COUNT, FIELDS, PARAMETERS, INITIAL)                            \
    struct alignas(sizeof(T) * COUNT) NAME {                                                \
        T FIELDS;                                                                           \
        NAME() = default;                                                                   \
        SIMT_PLAIN NAME PARAMETERS : INITIAL {}                                             \
        SIMT_PLAIN NAME(const NAME& other) {                                                \
            simt::access(&other, sizeof other, simt::Kind::Read, SIMT_HERE);                \
            simt::access(this, sizeof other, simt::Kind::Write, SIMT_HERE);                 \
            std::memcpy(static_cast<void*>(this), &other, sizeof other);                    \
        }                                                                                   \
        SIMT_PLAIN NAME& operator=(const NAME& other) {                                     \
            simt::access(&other, sizeof other, simt::Kind::Read, SIMT_HERE);                \
            simt::access(this, sizeof other, simt::Kind::Write, SIMT_HERE);                 \
            std::memmove(static_cast<void*>(this), &other, sizeof other);                   \
            return *this;                                                                   \
        }                                                                                   \
    };
#define SIMT_LIST(...) __VA_ARGS__
#define SIMT_VECTOR2(NAME, T)                                                               \
    SIMT_VECTOR(NAME, T, 2, SIMT_LIST(x, y), (T x, T y), SIMT_LIST(x(x), y(y)))             \
    SIMT_PLAIN inline NAME make_##NAME(T x, T y) { return {x, y}; }
#define SIMT_VECTOR4(NAME, T)                                                               \
    SIMT_VECTOR(NAME, T, 4, SIMT_LIST(x, y, z, w), (T x, T y, T z, T w),                    \
                SIMT_LIST(x(x), y(y), z(z), w(w)))                                          \
    SIMT_PLAIN inline NAME make_##NAME(T x, T y, T z, T w) { return {x, y, z, w}; }
SIMT_VECTOR2(float2, float)
SIMT_VECTOR4(float4, float)
SIMT_VECTOR2(double2, double)
SIMT_VECTOR2(int2, int)
SIMT_VECTOR4(int4, int)
SIMT_VECTOR2(uint2, unsigned)
SIMT_VECTOR4(uint4, unsigned)
SIMT_VECTOR4(uchar4, unsigned char)
#undef SIMT_VECTOR2
#undef SIMT_VECTOR4
#undef SIMT_VECTOR

// ---- Arithmetic of CUDA that C++ lacks.

template <class A, class B>
constexpr std::common_type_t<A, B> min(A a, B b) {
    using T = std::common_type_t<A, B>;
    return T(b) < T(a) ? T(b) : T(a);
}
template <class A, class B>
constexpr std::common_type_t<A, B> max(A a, B b) {
    using T = std::common_type_t<A, B>;
    return T(a) < T(b) ? T(b) : T(a);
}
inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
inline double rsqrt(double x) { return 1.0 / std::sqrt(x); }
inline float __fdividef(float a, float b) { return a / b; }
inline float __saturatef(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __clz(int x) { return x ? __builtin_clz(static_cast<unsigned>(x)) : 32; }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline unsigned __brev(unsigned x) {
    unsigned found = 0;
    for (int i = 0; i < 32; ++i) found |= (x >> i & 1u) << (31 - i);
    return found;
}
inline int __float_as_int(float x) { return simt::from_bits<int>(simt::bits(x)); }
inline float __int_as_float(int x) { return simt::from_bits<float>(simt::bits(x)); }
inline unsigned __float_as_uint(float x) { return simt::from_bits<unsigned>(simt::bits(x)); }
inline float __uint_as_float(unsigned x) { return simt::from_bits<float>(simt::bits(x)); }
// Macros, since the C library declares functions of these names.
#define __expf(x) std::exp(static_cast<float>(x))
#define __logf(x) std::log(static_cast<float>(x))
#define __powf(x, y) std::pow(static_cast<float>(x), static_cast<float>(y))
#define __sinf(x) std::sin(static_cast<float>(x))
#define __cosf(x) std::cos(static_cast<float>(x))

// ---- The host's side. Device memory is memory of this process, but kernels may touch only the
// buffers that were given to them or allocated here.

cudaError_t cudaGetLastError();
cudaError_t cudaPeekAtLastError();
const char* cudaGetErrorString(cudaError_t error);
cudaError_t simt_malloc(void** pointer, size_t bytes);
cudaError_t cudaFree(void* pointer);
cudaError_t cudaMemsetAsync(void* pointer, int value, size_t bytes, cudaStream_t stream = nullptr);
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream = nullptr);
inline cudaError_t cudaMemset(void* pointer, int value, size_t bytes) {
    return cudaMemsetAsync(pointer, value, bytes);
}
inline cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
    return cudaMemcpyAsync(to, from, bytes, kind);
}
template <class T>
cudaError_t cudaMalloc(T** pointer, size_t bytes) {
    return simt_malloc(reinterpret_cast<void**>(pointer), bytes);
}
template <class T>
cudaError_t cudaMallocAsync(T** pointer, size_t bytes, cudaStream_t stream) {
    simt::need_stream("cudaMallocAsync", stream);
    return simt_malloc(reinterpret_cast<void**>(pointer), bytes);
}
// A small device: eight multiprocessors, unless a test asks for others, each with room for eight
// blocks of 256 threads.
enum cudaDeviceAttr {
    cudaDevAttrMaxThreadsPerBlock = 1,
    cudaDevAttrMaxSharedMemoryPerBlock = 8,
    cudaDevAttrWarpSize = 10,
    cudaDevAttrMultiProcessorCount = 16,
    cudaDevAttrMaxThreadsPerMultiProcessor = 39,
};
inline cudaError_t cudaGetDevice(int* device) {
    *device = 0;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
struct cudaDeviceProp {
    char name[256];
    size_t sharedMemPerBlock;
    int warpSize, maxThreadsPerBlock, multiProcessorCount, maxThreadsPerMultiProcessor;
};
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* found, int device);
inline cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
    simt::need_stream("cudaFreeAsync", stream);
    return cudaFree(pointer);
}
inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
template <class Function>
cudaError_t cudaFuncSetAttribute(Function, cudaFuncAttribute, int bytes) {
    simt::allow_dynamic(static_cast<size_t>(bytes));
    return cudaSuccess;
}
