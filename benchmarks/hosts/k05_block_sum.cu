#include "host.cuh"

int main() {
    for (int n : {1, 2, 100, 257, 1000, 5000}) {
        float* out = host::room<float>(1);
        host::finish(kata_block_sum(n, 8, host::numbers<float>(n), host::room<float>(8), out, nullptr));
        host::show(out, 1);
    }
}
