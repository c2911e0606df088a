#include "host.cuh"

int main() {
    constexpr int bins = 64;
    for (int n : {1, 300, 5000}) {
        std::vector<int> values(n);
        for (int i = 0; i < n; ++i) values[i] = i * 7919 % bins;
        int* counts = host::room<int>(bins);
        host::finish(kata_histogram(n, bins, host::upload(values), counts, nullptr));
        host::show(counts, bins);
    }
}
