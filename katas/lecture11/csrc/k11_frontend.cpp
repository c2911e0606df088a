// tier: full
//
// Train a network in C++, and read its parameters in Python.
//
// Translate an nn.Module to C++ line by line, and its layers never change, however long it trains.
// In Python, self.first = Linear(4, 8) registers the layer, because nn.Module has a __setattr__. C++
// has no such hook: parameters() does not know about a plain member.
//
//   first = torch::nn::Linear(4, 8);                             a layer
//   first = register_module("first", torch::nn::Linear(4, 8));   a layer that is trained
//
// 1. Net: register two layers and a parameter, in the order of their declaration.
// 2. forward: gain * second(tanh(first(x))).
// 3. train: the usual loop, with torch::optim::SGD.
//
// Begin with this module in Python: gain is declared last, so where does named_parameters() list it?
// And which layer draws its weights first?
// Afterwards open torch/csrc/api/include/torch/nn/module.h, in torch/include in site-packages: what
// does register_module do besides inserting?
//
// The headers below are compiled after each edit. torch/torch.h, which includes all modules,
// optimizers and data loaders, takes about twice as long.
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

  // Register each under the name of its member.
  Net(int64_t inputs, int64_t hidden, int64_t outputs) {
    // TODO: three lines.
    TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: Net");
  }

  // x is (rows, inputs); the result is (rows, outputs).
  Tensor forward(const Tensor& x) {
    // TODO: one line.
    TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: forward");
  }
};

// Take `steps` steps of SGD on the mean of the squared errors, and return the loss before each
// step. Create a new optimizer for each call.
std::vector<double> train(Net& net, const Tensor& x, const Tensor& y, int64_t steps, double lr, double momentum) {
  // TODO: an optimizer with torch::optim::SGDOptions(lr).momentum(...), and a loop.
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: train");
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
