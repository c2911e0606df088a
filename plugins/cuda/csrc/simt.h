// CUDA C++ for the host compiler: the names that the source of a kernel may use.
//
// A .cu file is compiled against this header by the C++ compiler of the machine, with
// -fsanitize=thread, and linked with simt.cpp instead of a sanitizer's runtime: every load and
// store of a kernel is a call there, which checks and counts it. plugins/cuda/source.py
// rewrites what is not C++: <<<...>>>, variables of the memory spaces, inline PTX.
// nvcc never sees this file; the names are those of the CUDA Runtime API and of the CUDA C++
// Programming Guide.
#pragma once

#include <algorithm>
#include <cassert>
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
// Clang 19 takes two declarations of va_list for different types if a precompiled header has <math.h>
// and a source then includes <string>, so that is in the header; so is what most sources want.
#include <iostream>
#include <limits>
// As nvcc does, for names without std: abs, exp, isnan of a float are overloads, not C's functions.
// C++20's lerp, which comes with them, is hidden: kernels have functions of that name.
namespace std {
void simt_no_lerp();
}
#define lerp simt_no_lerp
#include <math.h>
#undef lerp
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

// Before version 16 clang leaves it to the sanitizer's runtime to take the place of memcpy in the whole
// program. Here the copies of kernels are meant alone, and those of what is copied whole, as a struct is.
#if defined(__clang__) && __clang_major__ < 16 && !defined(SIMT_SIMULATOR)
asm(".weakref memcpy, __tsan_memcpy");
asm(".weakref memmove, __tsan_memmove");
asm(".weakref memset, __tsan_memset");
#endif

// Functions that access memory for the caller's line report it themselves, with its address.
#define SIMT_PLAIN __attribute__((no_sanitize("thread"), noinline))
#define SIMT_HERE __builtin_return_address(0)
// The text of a name, after the macros in it.
#define SIMT_NAME(...) SIMT_TEXT(__VA_ARGS__)
#define SIMT_TEXT(...) #__VA_ARGS__

#define __global__
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __forceinline__ inline
#define __grid_constant__
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __block_size__(...)
#define __align__(bytes) alignas(bytes)
#define __builtin_align__(bytes) alignas(bytes)
#define CUDART_VERSION 13000
#define CUDART_CB
#define CUDART_INF_F INFINITY
#define CUDART_NAN_F NAN
// As for `nvcc -arch=sm_80`: kernels then use bfloat16, reductions of a warp, and no TMA.
#define __CUDA_ARCH__ 800
#define __CUDACC__ 1

struct uint3 {
    unsigned x, y, z;
};

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
};

using cudaStream_t = struct CUstream_st*;
using cudaEvent_t = struct CUevent_st*;

// The numbers are those of driver_types.h.
enum cudaError {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInvalidConfiguration = 9,
    cudaErrorNotYetImplemented = 31,
    cudaErrorInvalidDevice = 101,
    cudaErrorNotReady = 600,
    cudaErrorLaunchOutOfResources = 701,
    cudaErrorCooperativeLaunchTooLarge = 720,
};
using cudaError_t = cudaError;
enum cudaMemcpyKind {
    cudaMemcpyHostToHost,
    cudaMemcpyHostToDevice,
    cudaMemcpyDeviceToHost,
    cudaMemcpyDeviceToDevice,
    cudaMemcpyDefault,
};
enum cudaFuncAttribute {
    cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
    cudaFuncAttributePreferredSharedMemoryCarveout = 9,
};
enum cudaFuncCache { cudaFuncCachePreferNone, cudaFuncCachePreferShared, cudaFuncCachePreferL1, cudaFuncCachePreferEqual };
constexpr unsigned cudaStreamDefault = 0, cudaStreamNonBlocking = 1;
constexpr unsigned cudaEventDefault = 0, cudaEventBlockingSync = 1, cudaEventDisableTiming = 2;
constexpr unsigned cudaMemAttachGlobal = 1, cudaMemAttachHost = 2;
constexpr unsigned cudaHostAllocDefault = 0, cudaHostAllocPortable = 1, cudaHostAllocMapped = 2;
constexpr int cudaCpuDeviceId = -1, cudaInvalidDeviceId = -2;

// Variables, as they are to nvcc: a variable, a parameter or a member of the same name hides them, in host
// code and in kernels. The simulator stores to them before a thread goes on.
#ifndef SIMT_SIMULATOR
extern const uint3 threadIdx, blockIdx;
extern const dim3 blockDim, gridDim;
#endif
constexpr int warpSize = 32;

namespace simt {

enum class Kind : uint8_t { Read, Write, Atomic };
enum class Warp : uint8_t { Sync, Index, Up, Down, Xor, Ballot, All, Any, Reduce, Match, Active, Call };
enum class Reduce : uint8_t { Add, Min, Max, And, Or, Xor };
// What a variable at file scope is to kernels.
enum class Where : uint8_t { Device, Constant, Shared };

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

// Whether copies of a structure go by 8 bytes. Vectors and `half` copy on their own.
template <class T>
constexpr bool is_wide = false;
template <class T>
    requires((std::is_class_v<T> || std::is_union_v<T>) && requires { sizeof(T); })
constexpr bool is_wide<T> = std::is_trivially_copyable_v<T> && alignof(T) >= 8;

// A shared variable, as messages name its elements.
struct Variable {
    const char* name;
    size_t bytes;
    unsigned element;
    unsigned rank;
    size_t extents[3];
    bool wide = false;
};

// The content of a shared array with rows, whose first bound the launch decides.
template <class T>
using Element = T;

// A variable at file scope, known to the simulator since its library was loaded.
struct Static {
    Static(Where where, void* address, const Variable& variable);
};

template <class T>
Variable variable_of(const char* name) {
    using Element = std::remove_all_extents_t<T>;
    return {name, sizeof(T), sizeof(Element), std::rank_v<T>,
            {std::extent_v<T, 0>, std::extent_v<T, 1>, std::extent_v<T, 2>},
            is_wide<std::remove_cv_t<Element>>};
}

template <class T>
Static watch(Where where, T& variable, const char* name) {
    return {where, const_cast<void*>(static_cast<const volatile void*>(&variable)), variable_of<T>(name)};
}

void access(const void* address, unsigned bytes, Kind kind, const void* here);
// An atomic operation that changes nothing unless it finds `compare`.
void access_compare(const void* address, unsigned bytes, const void* compare, const void* here);
// Memory that an atomic store is about to write, whatever it held.
void begin_value(const void* address, unsigned bytes);
// The widest load has 16 bytes: two of them make a double4.
inline void access_vector(const void* address, unsigned bytes, Kind kind, const void* here) {
    for (unsigned at = 0; at < bytes; at += 16) {
        access(static_cast<const char*>(address) + at, bytes < 16 ? bytes : 16, kind, here);
    }
}
void declare(Slot& slot, const Variable& variable);
void* dynamic(const char* name, unsigned element, bool wide = false);
void* dynamic_file(const char* name, unsigned element, bool wide = false);
uint64_t warp(Warp operation, unsigned mask, uint64_t value, int argument, int width,
              Reduce reduce, bool is_signed, const void* here);
enum class Scope : uint8_t { Block, Device };
void fence(Scope scope);
void launch(const char* kernel, const Config& config, void (*run)(void*), void* arguments,
            size_t bytes, bool cooperative = false);
void allow_dynamic(size_t bytes);
// The memory at the address holds structures that are wide, in the launch that follows.
void widen(const void* address);
template <class T>
void widen_argument(const T& value) {
    if constexpr (std::is_pointer_v<T> && !std::is_function_v<std::remove_pointer_t<T>>) {
        if constexpr (is_wide<std::remove_cv_t<std::remove_pointer_t<T>>>) widen(const_cast<const void*>(static_cast<const volatile void*>(value)));
    }
}
// Which lines of the source are one statement, see lines.h.
struct Statements {
    explicit Statements(const char* text);
};

// ---- What the headers of synchronisation are made of.

// The index of the thread in its block.
unsigned thread_rank();
// __syncthreads(), for the caller's line.
uint64_t block_sync(uint64_t value, const void* here);
// Waits for all threads of the grid, which cudaLaunchCooperativeKernel has launched.
void grid_sync(const void* here);
bool cooperative();
// Waits for `count` threads of the block, of which `first` is the first, that are several warps; not
// for each other's memory unless `order` says so.
void tile_sync(unsigned first, unsigned count, const void* here, bool order = true);
// Where a thread of the block lays out what others read.
void* board(unsigned thread, size_t bytes);
// What this thread did before `release` comes before what another does after `acquire`.
void release(const void* object);
void acquire(const void* object);
// Waits until `ready` is true of the argument; `what` is the call that messages name.
void wait_until(bool (*ready)(void*), void* argument, const char* what, const void* here);
// Makes the lanes of a mask meet, and calls `made` once with what each has given.
// The memory of the lanes is not ordered by it.
void warp_call(unsigned mask, void* given, void (*made)(void* const* given), const char* what, const void* here);
// Copies `bytes` when `complete` says so: until then a read of `to` is a fault.
void copy_later(void* to, const void* from, size_t bytes, size_t zeros, unsigned step, const void* owner,
                const void* here);
// Makes this thread's copies visible to it: those of `owner` but the last `leave` batches.
void commit(const void* owner);
void complete(const void* owner, unsigned leave);
// Counts those who have come to a place of the block's shared memory, and waits for so many.
void count(const void* place);
unsigned counted(const void* place);
void wait_count(const void* place, unsigned wanted, const char* what, const void* here);
// Ends the run with a message that begins with `what`, about the caller's line.
[[noreturn]] void report(const char* what, const void* here, const char* why, ...);
void need_stream(const char* what, cudaStream_t stream);

// Stands for a __shared__ variable, which is the only member of a structure. Its place, with
// nothing beside it, is poisoned when a block first gets here.
template <class Holder, class T>
SIMT_PLAIN T& shared(T Holder::*member, const char* name) {
    static Slot slot;
    declare(slot, variable_of<T>(name));
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
    bool cooperative = false;

    template <class... Args>
    SIMT_PLAIN void operator()(Args... args) const {
        Call<Function, Args...> call{function, {args...}};
        (widen_argument(args), ...);
        launch(name, config, &Call<Function, Args...>::run, &call, sizeof call, cooperative);
    }
};

template <class Function>
SIMT_PLAIN Kernel<Function> kernel(const char* name, Config config, Function function) {
    return {name, config, function};
}

// A kernel and its name, for the calls that launch one by its address.
template <class Function>
struct Named {
    const char* name;
    Function* function;
};
template <class Function>
SIMT_PLAIN Named<Function> named(const char* name, Function* function) {
    return {name, function};
}
template <class... Args, size_t... I>
SIMT_PLAIN void launch_pointers(Named<void(Args...)> kernel, const Config& config, void** args, bool cooperative,
                                std::index_sequence<I...>) {
    Kernel<void (*)(Args...)> made{kernel.name, config, kernel.function, cooperative};
    made.template operator()<Args...>(*static_cast<std::remove_reference_t<Args>*>(args[I])...);
}

// The compiler refuses what calls these.
[[gnu::error("inline PTX is not supported on the CPU: only the GPU's assembler knows it")]] void inline_ptx();

template <class T>
SIMT_PLAIN uint64_t bits(T value) {
    static_assert(sizeof(T) <= 8, "a shuffle moves 4 or 8 bytes");
    uint64_t found = 0;
    std::memcpy(&found, static_cast<const void*>(&value), sizeof value);
    return found;
}

template <class T>
SIMT_PLAIN T from_bits(uint64_t value) {
    T found;
    std::memcpy(static_cast<void*>(&found), &value, sizeof found);
    return found;
}

}  // namespace simt

#define SIMT_DEVICE __attribute__((section("simt_device"), aligned(16)))
#define SIMT_WATCH(WHERE, NAME, TEXT)                                                         \
    SIMT_DEVICE static char simt_after_##NAME[64];                                            \
    static const simt::Static simt_static_##NAME =                                            \
        (static_cast<void>(simt_after_##NAME), simt::watch(simt::Where::WHERE, NAME, TEXT))

#define SIMT_STATEMENTS(TEXT) static const simt::Statements simt_statements(TEXT)

void __syncthreads();
int __syncthreads_count(int predicate);
int __syncthreads_and(int predicate);
int __syncthreads_or(int predicate);
inline void __threadfence() { simt::fence(simt::Scope::Device); }
inline void __threadfence_system() { simt::fence(simt::Scope::Device); }
inline void __threadfence_block() { simt::fence(simt::Scope::Block); }

[[noreturn]] void __trap();

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

SIMT_PLAIN inline unsigned __activemask() {
    return static_cast<unsigned>(
        simt::warp(simt::Warp::Active, 0, 0, 0, 32, simt::Reduce::Add, false, SIMT_HERE));
}
template <class T>
SIMT_PLAIN unsigned __match_any_sync(unsigned mask, T value) {
    return static_cast<unsigned>(simt::warp(simt::Warp::Match, mask, simt::bits(value), 0, 32,
                                            simt::Reduce::Add, false, SIMT_HERE));
}
template <class T>
SIMT_PLAIN unsigned __match_all_sync(unsigned mask, T value, int* all) {
    const auto same = simt::warp(simt::Warp::Match, mask, simt::bits(value), 0, 32, simt::Reduce::Add,
                                 false, SIMT_HERE);
    // The upper half has the lanes that took part.
    *all = (same >> 32) == (same & 0xffffffffu);
    return *all ? static_cast<unsigned>(same) : 0u;
}

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

#define SIMT_ATOMIC_OF(NAME, NEW)                                                           \
    template <class T>                                                                      \
    SIMT_PLAIN T NAME(T* address, std::type_identity_t<T> value) {                          \
        simt::access(address, sizeof(T), simt::Kind::Atomic, SIMT_HERE);                    \
        T old;                                                                              \
        std::memcpy(static_cast<void*>(&old), address, sizeof old);                         \
        const T made = NEW;                                                                 \
        std::memcpy(static_cast<void*>(address), &made, sizeof made);                       \
        return old;                                                                         \
    }
// Their scopes are not told apart: what is atomic for a block is for the device.
#define SIMT_ATOMIC(NAME, NEW)                                                              \
    SIMT_ATOMIC_OF(NAME, NEW) SIMT_ATOMIC_OF(NAME##_block, NEW) SIMT_ATOMIC_OF(NAME##_system, NEW)
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
#undef SIMT_ATOMIC_OF

#define SIMT_CAS(NAME)                                                                      \
    template <class T>                                                                      \
    SIMT_PLAIN T NAME(T* address, std::type_identity_t<T> compare, std::type_identity_t<T> value) { \
        simt::access_compare(address, sizeof(T), &compare, SIMT_HERE);                      \
        T old = *address;                                                                   \
        if (std::memcmp(&old, &compare, sizeof old) == 0) *address = value;                 \
        return old;                                                                         \
    }
SIMT_CAS(atomicCAS)
SIMT_CAS(atomicCAS_block)
SIMT_CAS(atomicCAS_system)
#undef SIMT_CAS

// ---- Loads and stores with a hint for the caches, which are accesses like any other.

#define SIMT_LOAD(NAME)                                                                     \
    template <class T>                                                                      \
    SIMT_PLAIN T NAME(const T* address) {                                                   \
        simt::access_vector(address, sizeof(T), simt::Kind::Read, SIMT_HERE);               \
        T found;                                                                            \
        std::memcpy(static_cast<void*>(&found), address, sizeof found);                     \
        return found;                                                                       \
    }
SIMT_LOAD(__ldg)
SIMT_LOAD(__ldca)
SIMT_LOAD(__ldcg)
SIMT_LOAD(__ldcs)
SIMT_LOAD(__ldlu)
SIMT_LOAD(__ldcv)
#undef SIMT_LOAD
#define SIMT_STORE(NAME)                                                                    \
    template <class T>                                                                      \
    SIMT_PLAIN void NAME(T* address, std::type_identity_t<T> value) {                       \
        simt::access_vector(address, sizeof(T), simt::Kind::Write, SIMT_HERE);              \
        std::memcpy(static_cast<void*>(address), &value, sizeof value);                     \
    }
SIMT_STORE(__stwb)
SIMT_STORE(__stcg)
SIMT_STORE(__stcs)
SIMT_STORE(__stwt)
#undef SIMT_STORE

#include "simt_vectors.h"
#include "simt_math.h"
#include "simt_device.h"
#include "simt_host.h"

// ---- Copies of bytes. g++ makes them without a call of the sanitizer, so they have other names.
#if !defined(__clang__) && !defined(SIMT_SIMULATOR)
extern "C" {
void* __tsan_memcpy(void* to, const void* from, size_t bytes);
void* __tsan_memmove(void* to, const void* from, size_t bytes);
void* __tsan_memset(void* to, int value, size_t bytes);
}
namespace std {
using ::__tsan_memcpy;
using ::__tsan_memmove;
using ::__tsan_memset;
}
#define memcpy __tsan_memcpy
#define memmove __tsan_memmove
#define memset __tsan_memset
#endif
