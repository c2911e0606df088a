// tier: small
//
// Make a C++ object that can be pickled.
//
// Pickling a node of the previous kata fails: "Tried to serialize object ... which does not have a
// __getstate__ method defined!" C++ objects have no __dict__ for pickle to read. Two functions are
// enough, one that takes an object apart and one that rebuilds it: then torch.save works, and so do
// copies for worker processes, without a line of Python.
//
//   node  --state_of-->  ("root", tensor or None, [child, child])  --node_of-->  node
//
// 1. state_of and node_of. Pickle itself visits the objects that it finds in a state.
// 2. path and size, which are operators: m.def, with a schema in which the class is called
//    __torch__.torch.classes.lecture04_k23.Node.
//
// First move: which part of a node is not in its state, and what restores it?
// Afterwards read def_pickle in torch/include/torch/custom_class.h.
//
#include <ATen/core/Tensor.h>
#include <torch/custom_class.h>
#include <torch/library.h>

#include <atomic>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

using at::Tensor;

// ---- given: do not change ----------------------------------------------------------------

// How many nodes exist: created and not yet destroyed. The tests use it to find leaks.
std::atomic<int64_t> alive{0};

struct Counted : torch::CustomClassHolder {
  explicit Counted(std::string name) : name(std::move(name)) {
    ++alive;
  }
  ~Counted() override {
    --alive;
  }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

  const std::string name;
};

int64_t live() {
  return alive;
}

// PyTorch finds a class by its C++ name, and the previous kata has a Node.
namespace travelling {

struct Node : Counted {
  using Counted::Counted;

  std::vector<c10::intrusive_ptr<Node>> children;
  c10::weak_intrusive_ptr<Counted> parent{c10::intrusive_ptr<Counted>()};
  std::optional<Tensor> kept;

  void release_resources() override {
    children.clear();
    kept.reset();
  }
};

} // namespace travelling

using travelling::Node;

using NodePtr = c10::intrusive_ptr<Node>;

std::optional<NodePtr> parent(const NodePtr& self) {
  auto found = c10::static_intrusive_pointer_cast<Node>(self->parent.lock());
  return found ? std::make_optional(found) : std::nullopt;
}

void add(const NodePtr& self, const NodePtr& child) {
  TORCH_CHECK_VALUE(!parent(child), "add: '", child->name, "' has a parent already");
  child->parent = c10::weak_intrusive_ptr<Node>(self);
  self->children.push_back(child);
}

// ---- the exercise ------------------------------------------------------------------------

// The name, the kept tensor, the children.
using State = std::tuple<std::string, std::optional<Tensor>, std::vector<NodePtr>>;

// Returns the state of a node, without changing the node.
State state_of(const NodePtr& self) {
  // TODO
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: state_of");
}

// Returns a new node with this state, the parent of its children. Copies no tensor.
NodePtr node_of(const State& state) {
  // TODO
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: node_of");
}

// The names from the root to a node: "root/branch/leaf".
std::string path(const NodePtr& node) {
  // TODO
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: path");
}

// The number of nodes in a tree, including the one at its top.
int64_t size(const NodePtr& node) {
  // TODO
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: size");
}

TORCH_LIBRARY(lecture04_k23, m) {
  m.def("live() -> int", &live);
  m.class_<Node>("Node")
      .def(torch::init<std::string>())
      .def("name", [](const NodePtr& self) { return self->name; })
      .def("same", [](const NodePtr& self, const NodePtr& other) { return self == other; })
      .def("add", &add)
      .def("children", [](const NodePtr& self) { return self->children; })
      .def("parent", &parent)
      .def("keep", [](const NodePtr& self, std::optional<Tensor> x) { self->kept = std::move(x); })
      .def("kept", [](const NodePtr& self) { return self->kept; })
      .def_pickle(
          [](const NodePtr& self) { return state_of(self); },
          [](State state) { return node_of(state); });
  // TODO: the operators path, which returns str, and size, which returns int. Their schemas can
  // name Node only after the class is registered.
}
