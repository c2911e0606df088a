#include "host.cuh"

int main() {
    for (int n : {1, 100, 257, 1000, 5000}) {
        const int* x = host::numbers<int>(n);
        int* smooth = host::room<int>(n);
        host::finish(kata_smooth(n, x, smooth, nullptr));
        host::show(smooth, n);
        int* sums = host::room<int>(n);
        host::finish(kata_scan(n, x, sums, nullptr));
        host::show(sums, n);
        int* total = host::room<int>(1);
        host::finish(kata_sum(n, x, total, nullptr));
        host::show(total, 1);
    }
}
