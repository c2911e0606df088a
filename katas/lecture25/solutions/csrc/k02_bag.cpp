// tier: small
//
// Sum rows of a table bag by bag, in threads.
#include <ATen/Dispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros.h>
#include <torch/library.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

using at::Tensor;

namespace {

// ---- given: do not change ----------------------------------------------------------------

constexpr int64_t SUM = 0, MEAN = 1, MAX = 2;
// The smallest number of bags that is worth a thread.
constexpr int64_t GRAIN = 4;

std::vector<int64_t> chunks;
// In a test, the number of the only chunk that is run; -1 for all chunks.
int64_t only = -1;

// Splits begin to end into at most three chunks, and calls f(first, last) for each in its own thread, as
// at::parallel_for does within PyTorch. In a library that is compiled without OpenMP, like this one,
// at::parallel_for would call f once.
template <class F>
void parallel_for(int64_t begin, int64_t end, int64_t grain, const F& f) {
  const int64_t count = std::min<int64_t>(3, (end - begin + grain - 1) / grain);
  const int64_t size = count > 0 ? (end - begin + count - 1) / count : 1;
  std::atomic<int64_t> waiting{0};
  std::vector<std::thread> team;
  for (int64_t first = begin; first < end; first += size) {
    ++waiting;
    chunks.insert(chunks.end(), {first, std::min(first + size, end)});
  }
  for (int64_t first = begin; first < end; first += size) {
    team.emplace_back([&, first] {
      // All start at once.
      for (--waiting; waiting > 0;) std::this_thread::yield();
      if (only < 0 || first == begin + only * size) f(first, std::min(first + size, end));
    });
  }
  for (auto& thread : team) thread.join();
}

// Refuses tensors with dtypes or dims other than those named at bag_cpu, offsets that do not begin at 0
// or that decrease, and ids that are not rows of the table.
void check(const Tensor& table, const Tensor& ids, const Tensor& offsets, int64_t mode);

// ---- the exercise ------------------------------------------------------------------------

// Returns [bags, width] in the dtype of the table [rows, width], which is float32 or float64. ids [n] and
// offsets [bags] are int64. Bag b holds the ids from offsets[b] up to the next offset; the last bag
// holds the rest. An empty bag gives 0 in every mode; there may be no ids, and no bags. `check` comes
// first.
Tensor bag_cpu(const Tensor& table, const Tensor& ids, const Tensor& offsets, int64_t mode) {
  check(table, ids, offsets, mode);
  const int64_t bags = offsets.size(0), width = table.size(1);
  const Tensor result = at::zeros({bags, width}, table.options());
  AT_DISPATCH_FLOATING_TYPES(table.scalar_type(), "bag", [&] {
    const auto t = table.accessor<const scalar_t, 2>();
    const auto i = ids.accessor<const int64_t, 1>();
    const auto o = offsets.accessor<const int64_t, 1>();
    auto r = result.accessor<scalar_t, 2>();
    parallel_for(0, bags, GRAIN, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        const int64_t first = o[b], last = b + 1 < bags ? o[b + 1] : i.size(0);
        for (int64_t k = first; k < last; ++k) {
          for (int64_t c = 0; c < width; ++c) {
            const scalar_t x = t[i[k]][c];
            r[b][c] = k == first ? x : mode == MAX ? std::max(r[b][c], x) : r[b][c] + x;
          }
        }
        for (int64_t c = 0; c < width && mode == MEAN && last > first; ++c) {
          r[b][c] /= last - first;
        }
      }
    });
  });
  return result;
}

// ---- given: do not change ----------------------------------------------------------------

void check(const Tensor& table, const Tensor& ids, const Tensor& offsets, int64_t mode) {
  const auto dtype = table.scalar_type();
  TORCH_CHECK_TYPE(dtype == at::kFloat || dtype == at::kDouble, "bag: expected a table of float32 or float64, got ", dtype);
  TORCH_CHECK_TYPE(ids.scalar_type() == at::kLong && offsets.scalar_type() == at::kLong, "bag: expected ids and offsets of int64");
  TORCH_CHECK_VALUE(table.dim() == 2 && ids.dim() == 1 && offsets.dim() == 1, "bag: expected table [rows, width], ids [n], offsets [bags]");
  TORCH_CHECK_VALUE(mode >= SUM && mode <= MAX, "bag: expected mode 0 (sum), 1 (mean) or 2 (max), got ", mode);
  const auto i = ids.accessor<const int64_t, 1>();
  const auto o = offsets.accessor<const int64_t, 1>();
  for (int64_t k = 0; k < i.size(0); ++k) {
    TORCH_CHECK_INDEX(i[k] >= 0 && i[k] < table.size(0), "bag: id ", i[k], " of a table with ", table.size(0), " rows");
  }
  TORCH_CHECK_VALUE(o.size(0) ? o[0] == 0 : i.size(0) == 0, "bag: the first bag begins at 0");
  for (int64_t b = 0; b < o.size(0); ++b) {
    TORCH_CHECK_VALUE((b == 0 || o[b - 1] <= o[b]) && o[b] <= i.size(0), "bag: offsets increase up to the number of ids");
  }
}

// The chunks that parallel_for has made since this was last called: first, last, first, last, ...
std::vector<int64_t> chunks_made() {
  std::vector<int64_t> found;
  found.swap(chunks);
  return found;
}

void run_only(int64_t chunk) {
  only = chunk;
}

} // namespace

TORCH_LIBRARY(lecture25_k02, m) {
  m.def("bag(Tensor table, Tensor ids, Tensor offsets, int mode) -> Tensor");
  m.def("chunks() -> int[]", &chunks_made);
  m.def("run_only(int chunk) -> ()", &run_only);
}

TORCH_LIBRARY_IMPL(lecture25_k02, CPU, m) {
  m.impl("bag", &bag_cpu);
}
