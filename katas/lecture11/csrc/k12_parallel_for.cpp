// tier: iter
//
// Rebuild at::parallel_for, which shares a loop among threads.
//
// at::parallel_for in an extension may run in one thread: it is a template in a header. Compiled
// without -fopenmp, as in this library, it is a plain call of f(begin, end). The version in
// libtorch_cpu.so has threads:
//
//   0 to 10, grain 3, 4 threads     f(0, 3)   f(3, 6)   f(6, 9)   f(9, 10)
//   0 to 10, grain 4, 4 threads     f(0, 4)   f(4, 8)   f(8, 10)
//   0 to  9, grain 4, 4 threads     f(0, 3)   f(3, 6)   f(6, 9)
//
// The grain, roughly the smallest range worth a thread, limits the number of chunks. Their size
// follows, rounded up, and may be less than a grain.
//
// 1. Alone: make a single call if the range is at most one grain, has one element, or if we are
//    already inside a shared chunk. Make no call for an empty range.
// 2. Shared: make at most at::get_num_threads() chunks, run by team.
// 3. Exceptions: let the other chunks run to their end, then rethrow the exception of the lowest
//    chunk.
//
// Begin on paper: 0 to 10, grain 1, 6 threads. What is left for the sixth thread?
// Afterwards compare Parallel-inl.h and ParallelOpenMP.h in torch/include/ATen. Without OpenMP, the
// threads are in aten/src/ATen/ParallelNative.cpp.
//
// Real life differs: OpenMP reuses its threads, and PyTorch rethrows the first exception.
//
#include <ATen/Parallel.h>
#include <ATen/TensorIterator.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>
#include <torch/library.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

using Body = std::function<void(int64_t begin, int64_t end)>;

// ---- given: do not change ----------------------------------------------------------------

namespace {

// Whether this thread is working on a chunk.
thread_local bool inside = false;

// Lives as long as a chunk runs: sets `inside`, and the number that at::get_thread_num() returns.
struct Member {
  explicit Member(int64_t number) : id(static_cast<int>(number)), before(inside) {
    inside = true;
  }
  ~Member() {
    inside = before;
  }
  at::internal::ThreadIdGuard id;
  bool before;
};

// Runs task(0) to task(size - 1), the first in this thread, each other task in a thread of its own,
// and returns when all have returned. An exception that leaves a task terminates the process.
void team(int64_t size, const std::function<void(int64_t number)>& task) {
  std::vector<std::thread> others;
  for (int64_t number = 1; number < size; ++number) {
    others.emplace_back([&task, number]() noexcept { task(number); });
  }
  [&]() noexcept { task(0); }();
  for (auto& other : others) {
    other.join();
  }
}

// ---- the exercise ------------------------------------------------------------------------

// Call f for chunks that together cover begin to end. Within f, at::get_thread_num() returns the
// number of the chunk, starting at 0; for a single call it is 0. A grain of 0 sets no limit.
void parallel_for(int64_t begin, int64_t end, int64_t grain, const Body& f) {
  // TODO: one call, under an at::internal::ThreadIdGuard, or a team with a Member for each chunk.
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: parallel_for");
}

// ---- given: do not change ----------------------------------------------------------------

using Loop = std::function<void(int64_t begin, int64_t end, int64_t grain, const Body& f)>;

// TensorIterator calls at::parallel_for inside libtorch_cpu.so, where it has threads: here over a
// tensor of begin, ..., end - 1, so that the elements identify the chunk.
void pytorchs(int64_t begin, int64_t end, int64_t grain, const Body& f) {
  auto elements = at::empty({std::max<int64_t>(end - begin, 0)}, at::kLong);
  for (int64_t i = begin; i < end; ++i) {
    elements.data_ptr<int64_t>()[i - begin] = i;
  }
  auto iterator = at::TensorIteratorConfig()
                      .set_check_mem_overlap(false)
                      .add_output(elements)
                      .add_const_input(elements)
                      .build();
  iterator.for_each(
      [&](char** data, const int64_t*, int64_t n) {
        const int64_t first = *reinterpret_cast<int64_t*>(data[0]);
        f(first, first + n);
      },
      grain);
}

void headers(int64_t begin, int64_t end, int64_t grain, const Body& f) {
  at::parallel_for(begin, end, grain, f);
}

Loop loop_of(const std::string& who) {
  return who == "yours" ? parallel_for : who == "header" ? headers : pytorchs;
}

at::Tensor table(const std::vector<std::vector<int64_t>>& rows, int64_t columns) {
  auto made = at::empty({static_cast<int64_t>(rows.size()), columns}, at::kLong);
  auto* place = made.data_ptr<int64_t>();
  for (const auto& row : rows) {
    place = std::copy(row.begin(), row.end(), place);
  }
  return made;
}

// A row for each call: begin, end, at::get_thread_num(); and how many threads there were.
std::tuple<at::Tensor, int64_t> chunks(std::string who, int64_t begin, int64_t end, int64_t grain) {
  std::mutex mutex;
  std::vector<std::vector<int64_t>> rows;
  std::map<std::thread::id, int64_t> threads;
  loop_of(who)(begin, end, grain, [&](int64_t first, int64_t last) {
    const std::lock_guard lock(mutex);
    rows.push_back({first, last, at::get_thread_num()});
    ++threads[std::this_thread::get_id()];
  });
  std::sort(rows.begin(), rows.end());
  return {table(rows, 3), static_cast<int64_t>(threads.size())};
}

// A row for each call of the inner loop: begin of the outer chunk, then as above, then the outer
// chunk's at::get_thread_num() after the inner loop.
at::Tensor nested(std::string who, int64_t outer, int64_t outer_grain, int64_t inner, int64_t inner_grain) {
  std::mutex mutex;
  std::vector<std::vector<int64_t>> rows;
  const Loop loop = loop_of(who);
  loop(0, outer, outer_grain, [&](int64_t first, int64_t) {
    std::vector<std::vector<int64_t>> mine;
    loop(0, inner, inner_grain, [&](int64_t begin, int64_t end) {
      const std::lock_guard lock(mutex);
      mine.push_back({first, begin, end, at::get_thread_num()});
    });
    const std::lock_guard lock(mutex);
    for (auto& row : mine) {
      row.push_back(at::get_thread_num());
      rows.push_back(row);
    }
  });
  std::sort(rows.begin(), rows.end());
  return table(rows, 5);
}

std::atomic<int64_t> ran{0};

// Throws in the chunks that begin at one of `places`, the last chunk first; ran() counts the
// elements of the other chunks.
void throwing(std::string who, int64_t end, int64_t grain, std::vector<int64_t> places) {
  ran = 0;
  loop_of(who)(0, end, grain, [&](int64_t first, int64_t last) {
    if (std::count(places.begin(), places.end(), first)) {
      const auto later = std::count_if(places.begin(), places.end(), [&](int64_t place) { return place > first; });
      std::this_thread::sleep_for(std::chrono::milliseconds(10 * later));
      TORCH_CHECK_INDEX(false, "chunk at ", first);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ran += last - first;
  });
}

int64_t ran_elements() {
  return ran;
}

} // namespace

TORCH_LIBRARY(lecture11_k12, m) {
  m.def("chunks(str who, int begin, int end, int grain) -> (Tensor rows, int threads)", &chunks);
  m.def("nested(str who, int outer, int outer_grain, int inner, int inner_grain) -> Tensor", &nested);
  m.def("throwing(str who, int end, int grain, int[] places) -> ()", &throwing);
  m.def("ran() -> int", &ran_elements);
}
