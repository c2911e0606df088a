// Atomics that order, variables of the source, shared arrays, what lanes may do at once; a line that
// says WRONG is the one to be named.

#include <cassert>
#include <cuda/atomic>
#include <cuda_runtime.h>

#include "run.cuh"

// ---- Loads and stores with a hint for the caches

__global__ void cache_hints(int n, const float* x, float* y) {
    const int i = threadIdx.x;
    __stcs(&y[i], __ldcs(&x[i]) + __ldcg(&x[i]) + __ldca(&x[i]));
    __stcg(&y[i], __ldcg(&y[i]) + __ldg(&x[i]));
}
RUN(cache_hints, 1, 64)

__global__ void wide_hints(int n, const float* x, float* y) {
    const int i = threadIdx.x;
    __stcs(reinterpret_cast<float4*>(y) + i, __ldcs(reinterpret_cast<const float4*>(x) + i));
}
RUN(wide_hints, 1, 16)

__global__ void hint_past_the_end(int n, const float* x, float* y) {
    y[threadIdx.x] = __ldcs(&x[threadIdx.x + 1]);  // WRONG
}
RUN(hint_past_the_end, 1, 64)

__global__ void hint_is_no_order(int n, const float* x, float* y) {
    __stcg(&y[threadIdx.x], x[threadIdx.x]);
    y[threadIdx.x] += __ldcg(&y[63 - threadIdx.x]);  // WRONG
}
RUN(hint_is_no_order, 1, 64)

// ---- The last block that finishes, on variables of the source

__device__ unsigned int finished = 0;
__device__ float parts[8];

__global__ void last_block(int n, const float* x, float* y) {
    __shared__ float part[16];
    __shared__ bool last;
    const int t = threadIdx.x;
    part[t] = x[blockIdx.x * 16 + t];
    __syncthreads();
    if (t == 0) {
        float sum = 0.0f;
        for (int i = 0; i < 16; ++i) sum += part[i];
        parts[blockIdx.x] = sum;
        __threadfence();
        last = atomicInc(&finished, gridDim.x) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    float sum = 0.0f;
    for (int i = 0; i < gridDim.x; ++i) sum += parts[i];
    for (int i = t; i < n; i += 16) y[i] = sum;
    if (t == 0) finished = 0;
}
RUN(last_block, 4, 16)

// All threads write, one fence after the barrier is for all of them.
__global__ void fence_for_all(int n, const float* x, float* y, float* between) {
    __shared__ bool last;
    const int i = blockIdx.x * 16 + threadIdx.x;
    between[i] = x[i];
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicAdd(&finished, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (last) {
        for (int k = threadIdx.x; k < n; k += 16) y[k] = 2.0f * between[k];
    }
}
extern "C" cudaError_t kata_fence_for_all(int n, const float* x, float* y) {
    float* between;
    cudaMalloc(&between, n * sizeof(float));
    fence_for_all<<<4, 16>>>(n, x, y, between);
    cudaFree(between);
    return cudaGetLastError();
}

__global__ void last_without_fence(int n, const float* x, float* y) {
    parts[blockIdx.x] = x[blockIdx.x];
    if (atomicAdd(&finished, 1u) == gridDim.x - 1) {
        for (int i = 0; i < gridDim.x; ++i) y[i] = parts[i];  // WRONG
    }
}
RUN(last_without_fence, 4, 1)

// The fence comes too late: the last block may not find what it is behind.
__global__ void fence_afterwards(int n, const float* x, float* y) {
    parts[blockIdx.x] = x[blockIdx.x];
    const bool last = atomicAdd(&finished, 1u) == gridDim.x - 1;
    __threadfence();
    if (last) {
        for (int i = 0; i < gridDim.x; ++i) y[i] = parts[i];  // WRONG
    }
}
RUN(fence_afterwards, 4, 1)

__device__ unsigned int another = 0;
__global__ void last_by_two_variables(int n, const float* x, float* y) {
    parts[blockIdx.x] = x[blockIdx.x];
    const bool last = atomicAdd(&finished, 1u) == gridDim.x - 1;
    if (last) {
        for (int i = 0; i < gridDim.x; ++i) y[i] = parts[i];  // WRONG
    }
    __threadfence();
    atomicAdd(&another, 1u);
}
RUN(last_by_two_variables, 4, 1)

__global__ void fence_of_a_block(int n, const float* x, float* y) {
    parts[blockIdx.x] = x[blockIdx.x];
    __threadfence_block();
    if (atomicAdd(&finished, 1u) == gridDim.x - 1) {
        for (int i = 0; i < gridDim.x; ++i) y[i] = parts[i];  // WRONG
    }
}
RUN(fence_of_a_block, 4, 1)

// ---- The same by cuda::atomic

using DeviceCount = cuda::atomic_ref<unsigned int, cuda::thread_scope_device>;

__global__ void last_by_atomic_ref(int n, const float* x, float* y) {
    float sum = 0.0f;
    for (int i = 0; i < 16; ++i) sum += x[blockIdx.x * 16 + i];
    parts[blockIdx.x] = sum;
    if (DeviceCount(finished).fetch_add(1u, cuda::memory_order_acq_rel) != gridDim.x - 1) return;
    sum = 0.0f;
    for (int i = 0; i < gridDim.x; ++i) sum += parts[i];
    for (int i = 0; i < n; ++i) y[i] = sum;
}
RUN(last_by_atomic_ref, 4, 1)

__global__ void relaxed_atomic_ref(int n, const float* x, float* y) {
    parts[blockIdx.x] = x[blockIdx.x];
    if (DeviceCount(finished).fetch_add(1u, cuda::memory_order_relaxed) == gridDim.x - 1) {
        for (int i = 0; i < gridDim.x; ++i) y[i] = parts[i];  // WRONG
    }
}
RUN(relaxed_atomic_ref, 4, 1)

using BlockFlag = cuda::atomic<int, cuda::thread_scope_block>;

__global__ void lock_by_atomic(int n, const float* x, float* y) {
    __shared__ BlockFlag held;
    __shared__ float sum;
    if (threadIdx.x == 0) {
        held.store(0, cuda::memory_order_relaxed);
        sum = 0.0f;
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        int free = 0;
        while (!held.compare_exchange_strong(free, 1, cuda::memory_order_acquire)) free = 0;
        sum += x[threadIdx.x];
        held.store(0, cuda::memory_order_release);
    }
    __syncthreads();
    y[threadIdx.x] = sum;
}
RUN(lock_by_atomic, 1, 64)

__global__ void relaxed_lock(int n, const float* x, float* y) {
    __shared__ BlockFlag held;
    __shared__ float sum;
    if (threadIdx.x == 0) {
        held.store(0, cuda::memory_order_relaxed);
        sum = 0.0f;
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        int free = 0;
        while (!held.compare_exchange_strong(free, 1, cuda::memory_order_relaxed)) free = 0;
        sum += x[threadIdx.x];  // WRONG
        held.store(0, cuda::memory_order_relaxed);
    }
    __syncthreads();
    y[threadIdx.x] = sum;
}
RUN(relaxed_lock, 1, 64)

__global__ void atomic_greatest(int n, const float* x, float* y) {
    __shared__ int most;
    if (threadIdx.x == 0) most = -1000;
    __syncthreads();
    cuda::atomic_ref<int, cuda::thread_scope_block> all(most);
    all.fetch_max(static_cast<int>(x[threadIdx.x]), cuda::memory_order_relaxed);
    __syncthreads();
    y[threadIdx.x] = all.load();
}
RUN(atomic_greatest, 1, 64)

__device__ float total = 0.0f;
__global__ void sums_into_variable(int n, const float* x, float* y) {
    total += x[threadIdx.x];  // WRONG
    y[threadIdx.x] = x[threadIdx.x];
}
RUN(sums_into_variable, 1, 64)

__global__ void past_a_variable(int n, const float* x, float* y) {
    parts[threadIdx.x] = x[threadIdx.x];  // WRONG
}
RUN(past_a_variable, 1, 9)

__constant__ float weights[2] = {1.0f, 2.0f};
__global__ void changes_a_constant(int n, const float* x, float* y) {
    const_cast<float*>(weights)[0] = x[0];  // WRONG
}
RUN(changes_a_constant, 1, 1)

__device__ int positives = 0;
__global__ void counts_into_variable(int n, const float* x, float* y) {
    if (x[threadIdx.x] > 0.0f) atomicAdd(&positives, 1);
    __syncthreads();
    y[threadIdx.x] = static_cast<float>(positives);
}
RUN(counts_into_variable, 1, 64)

// ---- Every spelling of a shared array

__shared__ float at_file_scope[64];
__global__ void static_spellings(int n, const float* x, float* y) {
    float __shared__ after_the_type[64];
    __shared__ alignas(16) float aligned_so[64];
    alignas(16) __shared__ float aligned_before[64];
    static __shared__ __align__(16) float rows[8][8];
    volatile __shared__ float not_kept[64];
    const int i = threadIdx.x;
    at_file_scope[i] = after_the_type[i] = aligned_so[i] = aligned_before[i] = rows[i / 8][i % 8] = x[i];
    not_kept[i] = x[i];
    __syncthreads();
    const int j = 63 - i;
    y[i] = at_file_scope[j] + after_the_type[j] + aligned_so[j] + aligned_before[j] + rows[j / 8][j % 8] + not_kept[j];
}
RUN(static_spellings, 1, 64)

__global__ void dynamic_spellings(int n, const float* x, float* y) {
    extern float __shared__ after_the_type[];
    alignas(16) extern __shared__ float whole[];
    extern __shared__ __align__(16) float rows[][8];
    const int i = threadIdx.x;
    after_the_type[i] = x[i];
    __syncthreads();
    y[i] = whole[63 - i] + rows[i / 8][i % 8];
}
extern "C" cudaError_t kata_dynamic_spellings(int n, const float* x, float* y) {
    dynamic_spellings<<<1, 64, 64 * sizeof(float)>>>(n, x, y);
    return cudaGetLastError();
}

__global__ void file_scope_no_barrier(int n, const float* x, float* y) {
    at_file_scope[threadIdx.x] = x[threadIdx.x];
    y[threadIdx.x] = at_file_scope[63 - threadIdx.x];  // WRONG
}
RUN(file_scope_no_barrier, 1, 64)

__global__ void past_dynamic(int n, const float* x, float* y) {
    extern float __shared__ after_the_type[];
    after_the_type[threadIdx.x + 1] = x[threadIdx.x];  // WRONG
    y[threadIdx.x] = x[threadIdx.x];
}
extern "C" cudaError_t kata_past_dynamic(int n, const float* x, float* y) {
    past_dynamic<<<1, 64, 64 * sizeof(float)>>>(n, x, y);
    return cudaGetLastError();
}

// ---- Lanes that store the same, and a lock

__global__ void same_value(int n, const float* x, float* y) {
    __shared__ float first;
    if (threadIdx.x < 32) first = x[0];
    __syncthreads();
    y[threadIdx.x] = first;
}
RUN(same_value, 1, 64)

__global__ void other_values(int n, const float* x, float* y) {
    __shared__ float any;
    if (threadIdx.x < 32) any = x[0] + threadIdx.x;  // WRONG
    __syncthreads();
    y[threadIdx.x] = any;
}
RUN(other_values, 1, 64)

__global__ void same_value_of_warps(int n, const float* x, float* y) {
    __shared__ float first;
    first = x[0];  // WRONG
    __syncthreads();
    y[threadIdx.x] = first;
}
RUN(same_value_of_warps, 1, 64)

// The last thread reads what nobody wrote, and does not use it.
__global__ void discards_unwritten(int n, const float* x, float* y) {
    __shared__ float all[65];
    all[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    const float next = all[threadIdx.x + 1];  // WRONG
    y[threadIdx.x] = threadIdx.x < 63 ? next : 0.0f;
}
RUN(discards_unwritten, 1, 64)

__global__ void multiplies_unwritten(int n, const float* x, float* y) {
    __shared__ float all[65];
    all[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    const float next = all[threadIdx.x + 1];  // WRONG
    y[threadIdx.x] = next * (threadIdx.x < 63 ? 1.0f : 0.0f);
}
RUN(multiplies_unwritten, 1, 64)

// What is read and not used was written before, as all threads know.
__global__ void discards_in_time(int n, const float* x, float* y) {
    __shared__ float all[64];
    all[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    const float unused = all[63 - threadIdx.x];
    y[threadIdx.x] = n < 0 ? unused : x[threadIdx.x];
}
RUN(discards_in_time, 1, 64)

// The second warp comes later, but without a fence, and does not use what it reads.
__global__ void discards_too_early(int n, const float* x, float* y) {
    __shared__ float all[32];
    __shared__ int turn;
    if (threadIdx.x == 0) turn = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        all[0] = x[0];
        atomicExch(&turn, 1);
    }
    if (threadIdx.x == 32) {
        while (atomicAdd(&turn, 0) == 0) continue;
        const float early = all[0];  // WRONG
        if (n < 0) y[32] = early;
    }
    y[threadIdx.x] = x[threadIdx.x];
}
RUN(discards_too_early, 1, 64)

// What is past a thread's share is read, and thrown away.
__global__ void reads_past_its_share(int n, const float* x, float* y) {
    __shared__ float all[64];
    const int i = threadIdx.x;
    all[i] = x[i];
    __syncthreads();
    float own[2];
    for (int u = 0; u < 2; ++u) {
        own[u] = all[min(63, i + 64 * u)];  // WRONG
    }
    for (int u = 0; u < 2; ++u) {
        if (i + 64 * u < 64) all[min(63, i + 64 * u)] = 2.0f * own[u];
    }
    __syncthreads();
    y[i] = all[63 - i];
}
RUN(reads_past_its_share, 1, 64)

__global__ void reads_the_last(int n, const float* x, float* y) {
    __shared__ float all[64];
    const int i = threadIdx.x;
    all[i] = x[i];
    __syncthreads();
    const float last = all[63];  // WRONG
    all[i] = all[i] + last + 1.0f;
    __syncthreads();
    y[i] = all[63 - i];
}
RUN(reads_the_last, 1, 64)

__global__ void lock_of_warps(int n, const float* x, float* y) {
    __shared__ int lock;
    __shared__ float sum;
    if (threadIdx.x == 0) {
        lock = 0;
        sum = 0.0f;
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        while (atomicCAS(&lock, 0, 1) != 0) continue;
        __threadfence_block();
        sum += x[threadIdx.x];
        __threadfence_block();
        atomicExch(&lock, 0);
    }
    __syncthreads();
    y[threadIdx.x] = sum;
}
RUN(lock_of_warps, 1, 64)

__global__ void lock_without_fence(int n, const float* x, float* y) {
    __shared__ int lock;
    __shared__ float sum;
    if (threadIdx.x == 0) {
        lock = 0;
        sum = 0.0f;
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        while (atomicCAS(&lock, 0, 1) != 0) continue;
        sum += x[threadIdx.x];  // WRONG
        atomicExch(&lock, 0);
    }
    __syncthreads();
    y[threadIdx.x] = sum;
}
RUN(lock_without_fence, 1, 64)

__global__ void lock_never_freed(int n, const float* x, float* y) {
    __shared__ int lock;
    if (threadIdx.x == 0) lock = 0;
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        while (atomicCAS(&lock, 0, 1) != 0) continue;  // WRONG
    }
    y[threadIdx.x] = x[threadIdx.x];
}
RUN(lock_never_freed, 1, 64)

// ---- Barriers in branches

// The whole block takes the one branch or the other.
__global__ void barrier_in_one_branch(int n, const float* x, float* y) {
    __shared__ float all[64];
    all[threadIdx.x] = x[threadIdx.x];
    if (n == 64) {
        __syncthreads();
        y[threadIdx.x] = all[63 - threadIdx.x];
    } else {
        __syncthreads();
        y[threadIdx.x] = 0.0f;
    }
}
RUN(barrier_in_one_branch, 1, 64)

// All threads come to a barrier, but not to the same.
__global__ void barriers_in_both_branches(int n, const float* x, float* y) {
    __shared__ float all[64];
    all[threadIdx.x] = x[threadIdx.x];
    if (threadIdx.x < 32) {
        __syncthreads();  // WRONG
    } else {
        __syncthreads();
    }
    y[threadIdx.x] = all[63 - threadIdx.x];
}
RUN(barriers_in_both_branches, 1, 64)

// ---- Threads that have returned

__global__ void returns_before(int n, const float* x, float* y) {
    __shared__ float all[64];
    if (threadIdx.x >= 48) {
        y[threadIdx.x] = 0.0f;
        return;
    }
    all[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = all[47 - threadIdx.x];
}
RUN(returns_before, 1, 64)

__global__ void full_mask_after(int n, const float* x, float* y) {
    if (threadIdx.x % 32 >= 16) {
        y[threadIdx.x] = 0.0f;
        return;
    }
    y[threadIdx.x] = __shfl_xor_sync(0xffffffffu, x[threadIdx.x], 1);
}
RUN(full_mask_after, 1, 64)

__global__ void strict_barrier(int n, const float* x, float* y) {
    y[threadIdx.x] = x[threadIdx.x];
    if (threadIdx.x >= 48) return;
    __syncthreads();  // WRONG
}
RUN(strict_barrier, 1, 64)

__global__ void strict_mask(int n, const float* x, float* y) {
    y[threadIdx.x] = x[threadIdx.x];
    if (threadIdx.x % 32 >= 16) return;
    y[threadIdx.x] = __shfl_xor_sync(0xffffffffu, x[threadIdx.x], 1);  // WRONG
}
RUN(strict_mask, 1, 64)

// ---- What ends a thread

__global__ void asserts(int n, const float* x, float* y) {
    assert(threadIdx.x < 64);
    float own[2048];
    for (int i = 0; i < 2048; i += 64) own[i + threadIdx.x % 64] = x[threadIdx.x];
    y[threadIdx.x] = own[threadIdx.x] / 2;
}
RUN(asserts, 1, 64)

__global__ void assertion_fails(int n, const float* x, float* y) {
    assert(threadIdx.x != 5);  // WRONG
    y[threadIdx.x] = x[threadIdx.x];
}
RUN(assertion_fails, 1, 64)

__global__ void traps(int n, const float* x, float* y) {
    y[threadIdx.x] = x[threadIdx.x];
    if (threadIdx.x == 5) __trap();  // WRONG
}
RUN(traps, 1, 64)

__global__ void divides_by_zero(int n, const float* x, float* y) {
    y[threadIdx.x] = static_cast<float>(n / (static_cast<int>(threadIdx.x) - 5));  // WRONG
}
RUN(divides_by_zero, 1, 64)

__global__ void too_large_an_array(int n, const float* x, float* y) {  // WRONG
    float own[300000];
    own[threadIdx.x] = x[threadIdx.x];
    y[threadIdx.x] = own[threadIdx.x];
}
RUN(too_large_an_array, 1, 1)

__global__ void too_large_by_far(int n, const float* x, float* y) {  // WRONG
    float own[3000000];
    own[threadIdx.x] = x[threadIdx.x];
    y[threadIdx.x] = own[threadIdx.x];
}
RUN(too_large_by_far, 1, 1)

// ---- Threads that wait for each other by a volatile variable, as PTX's rules have it

__device__ volatile int ready = 0;
__device__ float given;

__global__ void waits_for_a_block(int n, const float* x, float* y) {
    const int t = threadIdx.x;
    if (blockIdx.x == 0) {
        if (t == 0) {
            given = x[0];
            __threadfence();
            ready = 1;
        }
        y[t] = x[t];
        return;
    }
    if (t == 0) {
        while (ready == 0) {
        }
        __threadfence();
    }
    __syncthreads();
    y[32 + t] = given;
}
RUN(waits_for_a_block, 2, 32)

// Each block adds to what the block before it has left.
__device__ volatile int flags[4];
__device__ float sums[4];

__global__ void waits_its_turn(int n, const float* x, float* y) {
    __shared__ float before;
    const int t = threadIdx.x, b = blockIdx.x;
    if (t == 0) {
        float sum = 0.0f;
        for (int i = 0; i < 16; ++i) sum += x[b * 16 + i];
        float left = 0.0f;
        if (b > 0) {
            while (flags[b - 1] == 0) __nanosleep(20);
            __threadfence();
            left = sums[b - 1];
        }
        sums[b] = left + sum;
        __threadfence();
        flags[b] = 1;
        before = left;
    }
    __syncthreads();
    y[b * 16 + t] = before + x[b * 16 + t];
}
RUN(waits_its_turn, 4, 16)

// A barrier of all blocks that are there at once: they all wait for the last.
__device__ unsigned int arrived = 0;

__global__ void waits_for_all(int n, const float* x, float* y) {
    extern __shared__ float given_all[];
    __shared__ float own[16];
    const int t = threadIdx.x, i = blockIdx.x * 16 + t;
    given_all[t] = own[t] = y[i] = x[i];
    __threadfence();
    __syncthreads();
    if (t == 0) {
        atomicAdd(&arrived, 1);
        while (atomicAdd(&arrived, 0) < gridDim.x) {
        }
        __threadfence();
    }
    __syncthreads();
    const float sum = given_all[15 - t] + own[15 - t] + y[63 - i];
    __syncthreads();
    if (t == 0) {
        __threadfence();
        atomicAdd(&arrived, 1);
        while (*static_cast<volatile unsigned int*>(&arrived) < 2 * gridDim.x) {
        }
        __threadfence();
    }
    __syncthreads();
    y[i] = sum;
}
extern "C" cudaError_t kata_waits_for_all(int n, const float* x, float* y) {
    waits_for_all<<<4, 16, 16 * sizeof(float)>>>(n, x, y);
    return cudaGetLastError();
}

__device__ int taken = 0;
__device__ float total_of_locks = 0.0f;

__global__ void lock_by_volatile(int n, const float* x, float* y) {
    const int i = blockIdx.x * 16 + threadIdx.x;
    if (threadIdx.x == 0) {
        while (atomicCAS(&taken, 0, 1) != 0) {
        }
        __threadfence();
        total_of_locks += x[i];
        __threadfence();
        *static_cast<volatile int*>(&taken) = 0;
    }
    y[i] = x[i];
}
RUN(lock_by_volatile, 4, 16)

__global__ void flag_between_warps(int n, const float* x, float* y) {
    __shared__ volatile int flag;
    __shared__ float first;
    const int t = threadIdx.x;
    if (t == 0) flag = 0;
    __syncthreads();
    if (t == 0) {
        first = x[0];
        __threadfence_block();
        flag = 1;
    }
    if (t >= 32) {
        while (!flag) {
        }
        __threadfence_block();
        y[t] = first;
    } else {
        y[t] = x[t];
    }
}
RUN(flag_between_warps, 1, 64)

__global__ void volatile_without_fence(int n, const float* x, float* y) {
    const int t = threadIdx.x;
    if (blockIdx.x == 0) {
        if (t == 0) {
            given = x[0];
            ready = 1;
        }
        y[t] = x[t];
        return;
    }
    while (ready == 0) {
    }
    y[32 + t] = given;  // WRONG
}
RUN(volatile_without_fence, 2, 32)

__device__ volatile int volatile_total = 0;

__global__ void volatile_sum(int n, const float* x, float* y) {
    volatile_total = volatile_total + 1;  // WRONG
    y[threadIdx.x] = x[threadIdx.x];
}
RUN(volatile_sum, 1, 64)

// Before Volta the lanes of a warp went in step, and volatile was enough.
__global__ void volatile_in_a_warp(int n, const float* x, float* y) {
    __shared__ float all[64];
    const int t = threadIdx.x;
    all[t] = x[t];
    __syncthreads();
    if (t < 32) {
        volatile float* values = all;
        values[t] += values[t + 32];
        for (int step = 16; step; step /= 2) values[t] += values[t + step];  // WRONG
    }
    __syncthreads();
    y[t] = all[0];
}
RUN(volatile_in_a_warp, 1, 64)

__global__ void waits_for_no_one(int n, const float* x, float* y) {
    while (ready < 2) {  // WRONG
    }
    y[threadIdx.x] = x[threadIdx.x];
}
RUN(waits_for_no_one, 1, 64)

// ---- A load that nobody needs to wait for: an atomic operation compares the value before it is used

__device__ double in_double = 0.0;
__device__ float in_float = 0.0f;

__device__ void add_by_comparing(double* address, double value) {
    auto* bits = reinterpret_cast<unsigned long long*>(address);
    unsigned long long found = *bits, assumed;
    do {
        assumed = found;
        found = atomicCAS(bits, assumed, __double_as_longlong(value + __longlong_as_double(assumed)));
    } while (assumed != found);
}

__global__ void adds_by_comparing(int n, const float* x, float* y) {
    __shared__ double all;
    const int i = blockIdx.x * 16 + threadIdx.x;
    if (threadIdx.x == 0) all = 0.0;
    __syncthreads();
    add_by_comparing(&in_double, x[i]);
    add_by_comparing(&all, x[i]);
    __syncthreads();
    y[i] = static_cast<float>(all);
}
RUN(adds_by_comparing, 4, 16)

__global__ void uses_before_adding(int n, const float* x, float* y) {
    const float before = in_float;  // WRONG
    atomicAdd(&in_float, x[threadIdx.x]);
    y[threadIdx.x] = before;
}
RUN(uses_before_adding, 1, 64)

__global__ void compares_another(int n, const float* x, float* y) {
    auto* bits = reinterpret_cast<int*>(&in_float);
    const int before = *bits;  // WRONG
    atomicCAS(bits, -1, before + 1);
    y[threadIdx.x] = x[threadIdx.x];
}
RUN(compares_another, 1, 64)
