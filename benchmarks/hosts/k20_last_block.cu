#include "host.cuh"

int main() {
    constexpr int blocks = 16;
    for (int n : {1, 300, 5000, 100000}) {
        const float* x = host::numbers<float>(n);
        float* partial = host::room<float>(blocks);
        int* arrived = host::upload(std::vector<int>{0});
        float* out = host::room<float>(1);
        host::finish(kata_grid_sum(n, blocks, x, partial, arrived, out, nullptr));
        host::show(out, 1);
    }
}
