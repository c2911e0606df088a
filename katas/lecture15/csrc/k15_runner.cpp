// tier: small
//
// Run a .pte without Python, with kernels of your own.
//
// A .pte names the kernels that it calls, and contains none. Nor does ExecuTorch's runtime, 0.4 MB:
// all kernels together are another 10 MB. This model, relu(x * x * x), needs two, for float32:
//
//     main.cpp --> answer --> Module::forward --> aten::mul.out, twice --> aten::relu.out
//
// 1. The kernels. The file was made for up to 4 rows, and `out` has 4 until you resize it. A NaN is
//    still a NaN after torch.relu.
// 2. answer: load the file, run it, copy the result out. There are no exceptions: a call that may fail
//    returns a Result, with ok() and error().
// 3. Register each under the name that the file asks for.
//    EXECUTORCH_LIBRARY(aten, "neg.out", neg_out); would do it for neg.
//
// About 20 lines. Run the tests before step 3 as well, and read what is missing.
// Afterwards read aten/src/ATen/core/boxing/impl/make_boxed_from_unboxed_functor.h (in site-packages
// under torch/include) next to ExecuTorch's file of the same name, which you included.
//
// Real life differs: an app is linked with a library of the kernels on a list (k07).
//
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <executorch/extension/kernel_util/make_boxed_from_unboxed_functor.h>
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>

namespace {

using executorch::aten::Tensor;
using executorch::extension::from_blob;
using executorch::extension::Module;
using executorch::runtime::KernelRuntimeContext;
using torch::executor::resize_tensor;

// ---- given: do not change ----------------------------------------------------------------

// Thrown by what is not written yet.
struct NotImplementedError {
  const char* what;
};

// ---- the exercise ------------------------------------------------------------------------

// Write a * b into out, which gets the sizes of a. Both have the same sizes, and are contiguous.
// Useful: resize_tensor(out, sizes), numel(), const_data_ptr<float>(), mutable_data_ptr<float>().
Tensor& mul_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out) {
  // TODO: resize, and loop.
  throw NotImplementedError{"mul_out"};
}

// Write relu(x) into out, which gets the sizes of x.
Tensor& relu_out(KernelRuntimeContext& context, const Tensor& x, Tensor& out) {
  // TODO: what is a NaN greater than?
  throw NotImplementedError{"relu_out"};
}

// TODO: register both.

// Run `forward` of the file at `path` with `rows` rows of 3 numbers, and put the result into `y`.
//
// Returns 0, or the number of the error that ExecuTorch returns: static_cast<int>(error()).
// from_blob(pointer, {rows, 3}) makes a tensor over your memory; forward takes it and returns a list of
// values, of which at(0).toTensor() is the first.
int answer(const char* path, std::vector<float>& x, int rows, std::vector<float>& y) {
  // TODO: Module, from_blob, forward, and a copy.
  throw NotImplementedError{"answer"};
}

// ---- given: do not change ----------------------------------------------------------------

// Calls the kernels for the middle three of five numbers, and returns all five of each output.
std::vector<float> alone() {
  std::vector<float> a{9, -1, 0.5, 3, 9}, b{9, 4, 5, 6, 9}, product(5, 7), positive(5, 7);
  const auto middle = [](std::vector<float>& all) { return from_blob(all.data() + 1, {1, 3}); };
  const auto x = middle(a), y = middle(b), first = middle(product), second = middle(positive);
  KernelRuntimeContext context;
  mul_out(context, *x, *y, *first);
  relu_out(context, *x, *second);
  product.insert(product.end(), positive.begin(), positive.end());
  return product;
}

} // namespace

// FILE ROWS NUMBERS...: prints the answer, one number per line, or the error. Without arguments: calls
// `alone`.
int main(int count, char** words) {
  std::vector<float> x, y;
  for (int i = 3; i < count; ++i) {
    x.push_back(std::strtof(words[i], nullptr));
  }
  try {
    if (count == 1) {
      y = alone();
    } else if (const int error = answer(words[1], x, std::atoi(words[2]), y)) {
      std::printf("error 0x%x\n", static_cast<unsigned>(error));
      return 0;
    }
  } catch (const NotImplementedError& missing) {
    std::printf("not written: %s\n", missing.what);
    return 0;
  }
  for (const float number : y) {
    std::printf("%.9g\n", number);
  }
}
