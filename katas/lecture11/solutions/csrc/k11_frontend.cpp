// tier: full
//
// A network of the C++ frontend, trained in C++.
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
    first = register_module("first", torch::nn::Linear(inputs, hidden));
    second = register_module("second", torch::nn::Linear(hidden, outputs));
    gain = register_parameter("gain", at::ones({outputs}));
  }

  // x is (rows, inputs); the result is (rows, outputs).
  Tensor forward(const Tensor& x) {
    return gain * second(at::tanh(first(x)));
  }
};

// Take `steps` steps of SGD on the mean of the squared errors, and return the loss before each
// step. Create a new optimizer for each call.
std::vector<double> train(Net& net, const Tensor& x, const Tensor& y, int64_t steps, double lr, double momentum) {
  torch::optim::SGD optimizer(net.parameters(), torch::optim::SGDOptions(lr).momentum(momentum));
  std::vector<double> losses;
  for (int64_t step = 0; step < steps; ++step) {
    optimizer.zero_grad();
    const Tensor loss = (net.forward(x) - y).square().mean();
    loss.backward();
    optimizer.step();
    losses.push_back(loss.item<double>());
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
