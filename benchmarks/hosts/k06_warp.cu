#include "host.cuh"

int main() {
    constexpr int rows = 3;
    for (int columns : {1, 33, 100, 257, 1000}) {
        const int n = rows * columns;
        float* out = host::room<float>(n);
        host::finish(kata_scan(rows, columns, host::numbers<float>(n), out, nullptr));
        host::show(out, n);
    }
}
