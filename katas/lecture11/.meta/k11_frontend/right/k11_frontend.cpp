// tier: full
//
// The parameter first, modules that own their pointers, and losses without a graph.
//
#include <ATen/ATen.h>
#include <torch/library.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/sgd.h>

#include <string>
#include <vector>

using at::Tensor;

// ---- the exercise ------------------------------------------------------------------------

struct Net : torch::nn::Module {
  torch::nn::Linear first{nullptr};  // inputs to hidden
  torch::nn::Linear second{nullptr}; // hidden to outputs
  Tensor gain;                       // a parameter, `outputs` ones

  // The names in Python are those of the members.
  Net(int64_t inputs, int64_t hidden, int64_t outputs) {
    gain = at::ones({outputs});
    gain = register_parameter("gain", gain);
    first = torch::nn::Linear(torch::nn::LinearOptions(inputs, hidden).bias(true));
    second = torch::nn::Linear(hidden, outputs);
    register_module("first", first);
    register_module("second", second);
  }

  // x is (rows, inputs); the result is (rows, outputs).
  Tensor forward(const Tensor& x) {
    return at::mul(second->forward(first->forward(x).tanh()), gain);
  }
};

// Takes `steps` steps of SGD on the mean of the squared errors, and returns the loss of each step,
// as it was before the step. The optimizer lives as long as the call.
std::vector<double> train(Net& net, const Tensor& x, const Tensor& y, int64_t steps, double lr, double momentum) {
  torch::optim::SGD optimizer(net.parameters(), torch::optim::SGDOptions(lr).momentum(momentum));
  std::vector<double> losses;
  for (int64_t step = 0; step < steps; ++step) {
    net.zero_grad();
    const Tensor loss = at::mse_loss(net.forward(x), y);
    loss.backward();
    optimizer.step();
    losses.push_back(loss.detach().to(at::kDouble).item().toDouble());
  }
  return losses;
}

// ---- given: do not change ----------------------------------------------------------------

namespace {

// What Python holds: torch.classes.lecture11_k11.Net(inputs, hidden, outputs).
struct Holder : torch::CustomClassHolder {
  Net net;

  Holder(int64_t inputs, int64_t hidden, int64_t outputs) : net(inputs, hidden, outputs) {}

  void double_() {
    net.to(at::kDouble);
  }
  Tensor forward(const Tensor& x) {
    return net.forward(x);
  }
  std::vector<double> train(const Tensor& x, const Tensor& y, int64_t steps, double lr, double momentum) {
    return ::train(net, x, y, steps, lr, momentum);
  }
  std::vector<std::string> names() {
    return net.named_parameters().keys();
  }
  std::vector<Tensor> parameters() {
    return net.parameters();
  }
};

} // namespace

TORCH_LIBRARY(lecture11_k11, m) {
  m.class_<Holder>("Net")
      .def(torch::init<int64_t, int64_t, int64_t>())
      .def("double", &Holder::double_)
      .def("forward", &Holder::forward)
      .def("train", &Holder::train)
      .def("names", &Holder::names)
      .def("parameters", &Holder::parameters);
}
