// Copies that run on their own, and barriers that count; a line that says WRONG is the one to be
// named.

#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include "run.cuh"

namespace cg = cooperative_groups;
using Barrier = cuda::barrier<cuda::thread_scope_block>;

__global__ void arrives_and_waits(int n, const float* x, float* y) {
    __shared__ Barrier barrier;
    __shared__ float all[64];
    if (threadIdx.x == 0) init(&barrier, blockDim.x);
    __syncthreads();
    all[threadIdx.x] = x[threadIdx.x];
    Barrier::arrival_token token = barrier.arrive();
    const float own = 2.0f * x[threadIdx.x];
    barrier.wait(std::move(token));
    y[threadIdx.x] = own + all[63 - threadIdx.x];
    barrier.arrive_and_wait();
}
RUN(arrives_and_waits, 1, 64)

__global__ void copies_to_barrier(int n, const float* x, float* y) {
    __shared__ Barrier barrier;
    __shared__ float all[64];
    auto block = cg::this_thread_block();
    if (block.thread_rank() == 0) init(&barrier, block.size());
    block.sync();
    cuda::memcpy_async(block, all, x, sizeof(float) * 64, barrier);
    barrier.arrive_and_wait();
    y[threadIdx.x] = all[63 - threadIdx.x];
}
RUN(copies_to_barrier, 1, 64)

__global__ void group_copies(int n, const float* x, float* y) {
    __shared__ float all[64];
    auto block = cg::this_thread_block();
    cg::memcpy_async(block, all, x, sizeof(float) * 64);
    cg::wait(block);
    y[threadIdx.x] = all[63 - threadIdx.x];
}
RUN(group_copies, 1, 64)

__global__ void primitives(int n, const float* x, float* y) {
    __shared__ float two[2][64];
    __pipeline_memcpy_async(&two[0][threadIdx.x], &x[threadIdx.x], sizeof(float));
    __pipeline_commit();
    __pipeline_memcpy_async(&two[1][threadIdx.x], &x[63 - threadIdx.x], sizeof(float));
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    float v = two[0][63 - threadIdx.x];
    __pipeline_wait_prior(0);
    __syncthreads();
    y[threadIdx.x] = v + two[1][threadIdx.x];
}
RUN(primitives, 1, 64)

// Two stages: while one is computed with, the next is on its way.
__global__ void two_stages(int n, const float* x, float* y) {
    __shared__ float stage[2][16];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    float sum = 0.0f;
    pipe.producer_acquire();
    cuda::memcpy_async(block, stage[0], x, sizeof(float) * 16, pipe);
    pipe.producer_commit();
    for (int k = 0; k < 4; ++k) {
        if (k + 1 < 4) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, stage[(k + 1) % 2], x + 16 * (k + 1), sizeof(float) * 16, pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        sum += stage[k % 2][15 - threadIdx.x];
        pipe.consumer_release();
    }
    for (int k = 0; k < 4; ++k) y[16 * k + threadIdx.x] = sum;
}
RUN(two_stages, 1, 16)

__global__ void own_pipeline(int n, const float* x, float* y) {
    __shared__ float all[64];
    auto pipe = cuda::make_pipeline();
    pipe.producer_acquire();
    cuda::memcpy_async(&all[threadIdx.x], &x[threadIdx.x], cuda::aligned_size_t<4>(sizeof(float)), pipe);
    pipe.producer_commit();
    pipe.consumer_wait();
    __syncthreads();
    y[threadIdx.x] = all[63 - threadIdx.x];
    pipe.consumer_release();
}
RUN(own_pipeline, 1, 64)

// A thread's own pipeline needs no release.
__global__ void never_released(int n, const float* x, float* y) {
    __shared__ float all[64];
    auto pipe = cuda::make_pipeline();
    const int i = threadIdx.x;
    float sum = 0.0f;
    for (int k = 0; k < 3; ++k) {
        pipe.producer_acquire();
        cuda::memcpy_async(&all[i], &x[63 - i], sizeof(float), pipe);
        pipe.producer_commit();
        pipe.consumer_wait();
        __syncthreads();
        sum += all[63 - i];
        __syncthreads();
    }
    y[i] = sum;
}
RUN(never_released, 1, 64)

__global__ void reads_before_the_wait(int n, const float* x, float* y) {
    __shared__ float all[64];
    __pipeline_memcpy_async(&all[threadIdx.x], &x[threadIdx.x], sizeof(float));
    __pipeline_commit();
    y[threadIdx.x] = all[threadIdx.x];  // WRONG
    __pipeline_wait_prior(0);
}
RUN(reads_before_the_wait, 1, 64)

// The batch that was committed last is the one that is left on its way.
__global__ void waits_for_too_few(int n, const float* x, float* y) {
    __shared__ float two[2][64];
    for (int k = 0; k < 2; ++k) {
        __pipeline_memcpy_async(&two[k][threadIdx.x], &x[threadIdx.x], sizeof(float));
        __pipeline_commit();
    }
    __pipeline_wait_prior(1);
    y[threadIdx.x] = two[0][threadIdx.x] + two[1][threadIdx.x];  // WRONG
}
RUN(waits_for_too_few, 1, 64)

// The wait is for the thread's own copies: the others' need a barrier too.
__global__ void wait_is_no_barrier(int n, const float* x, float* y) {
    __shared__ float all[64];
    __pipeline_memcpy_async(&all[threadIdx.x], &x[threadIdx.x], sizeof(float));
    __pipeline_commit();
    __pipeline_wait_prior(0);
    y[threadIdx.x] = all[63 - threadIdx.x];  // WRONG
}
RUN(wait_is_no_barrier, 1, 64)

__global__ void reads_before_the_barrier(int n, const float* x, float* y) {
    __shared__ Barrier barrier;
    __shared__ float all[64];
    auto block = cg::this_thread_block();
    if (block.thread_rank() == 0) init(&barrier, block.size());
    block.sync();
    cuda::memcpy_async(block, all, x, sizeof(float) * 64, barrier);
    auto token = barrier.arrive();
    y[threadIdx.x] = all[63 - threadIdx.x];  // WRONG
    barrier.wait(std::move(token));
}
RUN(reads_before_the_barrier, 1, 64)

__global__ void arrives_only(int n, const float* x, float* y) {
    __shared__ Barrier barrier;
    __shared__ float all[64];
    if (threadIdx.x == 0) init(&barrier, blockDim.x);
    __syncthreads();
    all[threadIdx.x] = x[threadIdx.x];
    auto token = barrier.arrive();
    y[threadIdx.x] = all[63 - threadIdx.x];  // WRONG
    barrier.wait(std::move(token));
}
RUN(arrives_only, 1, 64)

__global__ void expects_too_many(int n, const float* x, float* y) {
    __shared__ Barrier barrier;
    if (threadIdx.x == 0) init(&barrier, blockDim.x + 1);
    __syncthreads();
    y[threadIdx.x] = x[threadIdx.x];
    barrier.arrive_and_wait();  // WRONG
}
RUN(expects_too_many, 1, 64)

__global__ void never_initialised(int n, const float* x, float* y) {
    __shared__ Barrier barrier;
    barrier.arrive_and_wait();  // WRONG
    y[threadIdx.x] = x[threadIdx.x];
}
RUN(never_initialised, 1, 64)

__global__ void released_too_early(int n, const float* x, float* y) {
    __shared__ float stage[16];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 1> state;
    auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    for (int k = 0; k < 4; ++k) {
        pipe.producer_acquire();
        cuda::memcpy_async(block, stage, x + 16 * k, sizeof(float) * 16, pipe);
        pipe.producer_commit();
        pipe.consumer_wait();
        pipe.consumer_release();
        y[16 * k + threadIdx.x] = stage[15 - threadIdx.x];  // WRONG
    }
}
RUN(released_too_early, 1, 16)
