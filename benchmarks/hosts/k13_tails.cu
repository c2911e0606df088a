#include "host.cuh"

int main() {
    constexpr int rows = 3;
    for (int n : {2, 33, 100, 257, 1000, 5001}) {
        float* scaled = host::room<float>(n);
        host::finish(kata_scale(n, 2.0f, host::numbers<float>(n), scaled, nullptr));
        host::show(scaled, n);
        const int* x = host::numbers<int>(rows * n);
        int* sums = host::room<int>(rows);
        host::finish(kata_row_sum(rows, n, x, sums, nullptr));
        host::show(sums, rows);
        int* differences = host::room<int>(n - 1);
        host::finish(kata_differences(n, x, differences, nullptr));
        host::show(differences, n - 1);
    }
}
