// RoIAlign backward on a GPU: many threads add to one pixel.

#include <cuda_runtime.h>

constexpr int THREADS = 128;

// Given: along one side, a point reads two pixels, with these weights.
struct Side {
    int pixel[2];
    float weight[2];
};

// Given: what point k of `points` between `first` and `last` reads, of `pixels` pixels. False if it is
// more than one pixel outside: then it reads nothing, and `side` does not change.
__device__ bool reads(float first, float last, int points, int k, int pixels, Side& side) {
    float at = first - 0.5f + (last - first) * (k + 0.5f) / points;
    if (at < -1 || at > pixels) return false;
    at = fminf(fmaxf(at, 0.0f), pixels - 1.0f);
    side.pixel[0] = static_cast<int>(at);
    side.pixel[1] = min(side.pixel[0] + 1, pixels - 1);
    side.weight[1] = at - side.pixel[0];
    side.weight[0] = 1 - side.weight[1];
    return true;
}

// Given: enough blocks for one thread per element, at most 64.
static int blocks_for(int n) { return min((n + THREADS - 1) / THREADS, 64); }

// Adds to grad_maps [images, channels, height, width] what the n elements of grad [boxes, channels,
// bins_y, bins_x] hand back. rois is [boxes, 5]: image, x1, y1, x2, y2, in pixels after multiplying by
// `scale`. A bin has two points along each side; the four points share its gradient equally. Any grid
// works, and a point takes at most 4 atomics. n, and every index, fits in an int.
__global__ void spread(int n, int channels, int height, int width, int bins_y, int bins_x, float scale, const float* grad,
                       const float* rois, float* grad_maps) {
    const int step = blockDim.x * gridDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        const int bin_x = i % bins_x, bin_y = i / bins_x % bins_y, plane = i / (bins_x * bins_y);
        const float* roi = rois + plane / channels * 5;
        const int image = static_cast<int>(roi[0]);
        float* map = grad_maps + (image * channels + plane % channels) * height * width;
        for (int point = 0; point < 4; ++point) {
            Side x, y;
            if (!reads(roi[1] * scale, roi[3] * scale, 2 * bins_x, 2 * bin_x + point % 2, width, x)) continue;
            if (!reads(roi[2] * scale, roi[4] * scale, 2 * bins_y, 2 * bin_y + point / 2, height, y)) continue;
            for (int k = 0; k < 4; ++k) {
                const float weight = y.weight[k / 2] * x.weight[k % 2];
                atomicAdd(&map[y.pixel[k / 2] * width + x.pixel[k % 2]], grad[i] / 4 * weight);
            }
        }
    }
}

// One launch on the stream, after grad_maps (`bytes` bytes) is set to 0 there: at first its contents are
// arbitrary. n may be 0. Return cudaGetLastError().
extern "C" cudaError_t kata_spread(int n, int channels, int height, int width, int bins_y, int bins_x, float scale, size_t bytes,
                                   const float* grad, const float* rois, float* grad_maps, cudaStream_t stream) {
    cudaMemsetAsync(grad_maps, 0, bytes, stream);
    if (n > 0) {
        spread<<<blocks_for(n), THREADS, 0, stream>>>(n, channels, height, width, bins_y, bins_x, scale, grad, rois, grad_maps);
    }
    return cudaGetLastError();
}
