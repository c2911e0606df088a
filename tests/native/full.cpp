// tier: full
#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

namespace {

at::Tensor twice_cpu(const at::Tensor& self) {
  return self.mul(2);
}

struct Twice : public torch::autograd::Function<Twice> {
  static at::Tensor forward(torch::autograd::AutogradContext* ctx, const at::Tensor& self) {
    at::AutoDispatchBelowADInplaceOrView below;
    static auto op = c10::Dispatcher::singleton()
                         .findSchemaOrThrow("lecture01_k01::twice", "")
                         .typed<at::Tensor(const at::Tensor&)>();
    ctx->saved_data["size"] = self.dim();
    return op.call(self);
  }

  static torch::autograd::variable_list backward(
      torch::autograd::AutogradContext* ctx,
      const torch::autograd::variable_list& grads) {
    TORCH_CHECK(ctx->saved_data["size"].toInt() == grads[0].dim());
    return {grads[0].mul(2)};
  }
};

at::Tensor twice_autograd(const at::Tensor& self) {
  return Twice::apply(self);
}

}  // namespace

TORCH_LIBRARY(lecture01_k01, m) {
  m.def("twice(Tensor self) -> Tensor");
}

TORCH_LIBRARY_IMPL(lecture01_k01, CPU, m) {
  m.impl("twice", &twice_cpu);
}

TORCH_LIBRARY_IMPL(lecture01_k01, Autograd, m) {
  m.impl("twice", &twice_autograd);
}
